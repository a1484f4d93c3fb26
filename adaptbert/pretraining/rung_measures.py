"""A trained rung on all held-out text; what was measured while it was trained is not measured again."""

from collections.abc import Sequence
from pathlib import Path

from transformers import BertForMaskedLM

from adaptbert.model.checkpoint import Checkpoint
from adaptbert.pretraining.heldout_evaluation import HeldOut, MeasureConfig
from adaptbert.pretraining.metrics.rung_metrics import HeldOutMeasures, RungMeasures

ROW = 128
"""Tokens of a packed row; a longer document makes rows longer. It affects only the speed."""


def measure_rung(rung: Checkpoint, folders: Sequence[Path], config: MeasureConfig, seed: int) -> RungMeasures:
    """In the precision that the rung was trained in.

    Args:
        folders: of the held-out sets.
        seed: of random weights.

    Raises:
        BadData: a set was made with another tokenizer, or is too small for a single mask.
    """
    heldout = HeldOut(folders, config, rung.tokenizer, ROW)
    for name, corpus in heldout.sets.items():
        rung.check_tokenizer(corpus.fingerprint, f"heldout/{name}")
    precision = str((rung.card.params if rung.card else {}).get("precision", "32-true"))
    model = rung.model(BertForMaskedLM, seed)
    measured = heldout.measure(model, precision, known=rung.measured)
    texts = {name: HeldOutMeasures.model_validate(values) for name, values in measured.items()}
    return RungMeasures(rung=rung.name, texts=texts)
