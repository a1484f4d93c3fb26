"""General pre-training: random weights or a public checkpoint + general text -> the `pretrain` rung, and `scratch`.

`scratch` is the same architecture and tokenizer without weights: the rung of an arm that skips pre-training.
"""

from pathlib import Path

from adaptbert.base.ladder import GENERAL
from adaptbert.base.start import StartConfig
from adaptbert.mlm.heldout_evaluation import MeasureConfig
from adaptbert.mlm.rung_config import RungConfig
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from adaptbert.training.resume import Work


class PretrainParams(RungConfig):
    """The first rung; a public checkpoint usually has a budget of 0, and is taken as it is."""


def pretrain(
    params: PretrainParams,
    *,
    start: str,
    weights: StartConfig,
    seed: int,
    measure: MeasureConfig,
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

    with opened_base(weights, tokenizer, scratch) as base:  # written together with the rung that starts from it
        make_rung(
            "pretrain",
            base,
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


STAGE = Stage(pretrain, blocks=("start",), at={"weights": "ladder.starts.{start}"})

if __name__ == "__main__":
    STAGE.run()
