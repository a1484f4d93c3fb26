"""Measuring: a rung + all held-out text -> the measures of its weights on each, with the same masks for every rung.

A rung is measured on its own text while it is trained; this is on all text, and a stage of its own, so that another
task or corpus trains no rung again.
"""

from pathlib import Path

from adaptbert.config.schema.text import Measure
from adaptbert.core.files import write_json
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.stage import Stage


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
    """Measure a rung on all held-out text of its start."""
    from adaptbert.mlm.heldout_evaluation import measure_rung, sets_in
    from adaptbert.model.checkpoint import Checkpoint

    measures = measure_rung(Checkpoint.load(init), sets_in(heldout), params, seed)
    write_json(metrics, measures.as_json())
    run.log_metrics({f"{name}/bits_per_char": values.bits_per_char for name, values in measures.texts.items()})
    bits = ", ".join(f"{name} {values.bits_per_char:.3f}" for name, values in measures.texts.items())
    print(f"{checkpoint}: bits per character: {bits}")


STAGE = Stage(measure)

if __name__ == "__main__":
    STAGE.run()
