"""What the stages pretrain, domain_transfer and task_transfer are all given; apart, because it needs no torch."""

from pathlib import Path
from typing import TypedDict

from adaptbert.config.schema.text import Measure
from adaptbert.runtime.mlflow import Run
from adaptbert.training.resume import Work


class StepArguments(TypedDict):
    """See `adaptbert.mlm.step.take_step`."""

    base: str
    seed: int
    measure: Measure
    text: Path
    heldout: Path
    out: Path
    metrics: Path
    work: Work
    run: Run
