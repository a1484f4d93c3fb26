"""Measuring: a checkpoint + all held-out text -> its measures on each, with the same masks for every checkpoint.

A checkpoint is measured on its own text while it is trained; this is on all text, and a stage of its own, so that
another task or corpus trains no checkpoint again.
"""

from pathlib import Path

from adaptbert.config.schema.text import Measure
from adaptbert.core.files import write_json
from adaptbert.runtime.mlflow import Run
from adaptbert.stage import run_stage


def measure(
    params: Measure,
    *,
    checkpoint: str,
    base: str,
    replicate: str,
    seed: int,
    init: Path,
    heldout: Path,
    metrics: Path,
    run: Run,
) -> None:
    from adaptbert.mlm.heldout_evaluation import measure_checkpoint
    from adaptbert.model.checkpoint import Checkpoint

    measures = measure_checkpoint(Checkpoint.load(init), heldout, params, seed)
    write_json(metrics, measures.as_json())
    bits = {name: values.bits_per_char for name, values in measures.texts.items()}
    run.log_metrics({f"{name}/bits_per_char": value for name, value in bits.items()})
    print(f"{checkpoint}: bits per character: {', '.join(f'{name} {value:.3f}' for name, value in bits.items())}")


if __name__ == "__main__":
    run_stage(measure)
