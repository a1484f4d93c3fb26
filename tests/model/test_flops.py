"""Costs are counted from shapes; here they are held against what torch counts while it runs."""

from pathlib import Path
from typing import Any

import pytest
from torch.utils.flop_counter import FlopCounterMode

from adaptbert.model.flops import training_flop
from adaptbert.tasks.seed_run import flop_of
from tests.support import tiny, tiny_params
from tests.support.short_runs import made, masked_batches, masked_lm


def counted(module: Any, batch: Any) -> float:
    """By torch, in one step; padding is computed as well, but is no part of the cost of the text."""
    with FlopCounterMode(display=False) as counter:
        module.training_step(batch, 0).backward()
    return counter.get_total_flops() * batch.counts["tokens"] / batch.rows.documents.size


def test_masked_lm(tmp_path: Path) -> None:
    text = tiny.corpus(tmp_path / "domain", "domain", 200)
    batch, module = masked_batches(text, 2000)(0), masked_lm(10)
    tokens, chosen = batch.counts["tokens"], batch.counts["chosen"]
    assert 0.9 < tokens / batch.rows.documents.size < 1
    assert training_flop(module.model.config, tokens, 64, chosen, chosen) == pytest.approx(
        counted(module, batch), rel=0.05
    )


def test_fine_tuning() -> None:
    module, batches = made()
    flop = flop_of(tiny_params.cell(), module.model.config, batches(0).counts)
    assert flop == pytest.approx(counted(module, batches(0)), rel=0.05)
