"""The metrics of a rung: what three stages write is what compare reads."""

import json

from adaptbert.base.files import read_json
from adaptbert.pretraining.metrics.rung_metrics import RungMetrics
from adaptbert.training.document_stream import BudgetConfig
from tests.support.rungs import DOMAIN, GENERAL, Ladder


def test_what_a_stage_writes_is_read_whole(ladder: Ladder) -> None:
    """With a sentence objective, and with no step at all."""
    ladder.domain_transfer(sentence_objective="sop")
    ladder.domain_transfer("general", budget=BudgetConfig(steps=0))
    for rung in (DOMAIN, GENERAL):
        path = ladder.root / f"metrics/{rung}.json"
        metrics = RungMetrics.read(path)
        assert json.dumps(metrics.as_json()) == json.dumps(read_json(path))
        assert (metrics.sentence is not None) == (rung == DOMAIN) == bool(metrics.masking.measures)
        assert metrics.random_head is None
