"""General pre-training: random weights or a public checkpoint + general text -> the `pretrain` rung, and `scratch`.

`scratch` is the same architecture and tokenizer without weights: the rung of an arm that skips pre-training.
"""

from pathlib import Path

from adaptbert.config.schema.bases import GENERAL, Base
from adaptbert.config.schema.mlm import Pretrain
from adaptbert.config.schema.text import Measure
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.stage import Stage
from adaptbert.training.resume import Work


def pretrain(
    params: Pretrain,
    *,
    base: str,
    weights: Base,
    seed: int,
    measure: Measure,
    tokenizer: Path,
    text: Path,
    heldout: Path,
    scratch: Path,
    out: Path,
    metrics: Path,
    work: Work,
    run: Run,
) -> None:
    """Train the general rung of a start, or use a public checkpoint without training."""
    from adaptbert.mlm.rung import make_rung, opened_base

    with opened_base(weights, tokenizer, scratch) as first:  # written together with the rung that starts from it
        make_rung(
            "pretrain",
            first,
            params,
            seed=seed,
            measure=measure,
            text=text,
            heldout=[heldout / GENERAL],
            out=out,
            metrics=metrics,
            work=work,
            run=run,
        )


STAGE = Stage(pretrain)

if __name__ == "__main__":
    STAGE.run()
