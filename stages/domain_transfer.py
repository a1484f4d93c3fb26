"""Domain transfer (DAPT): general checkpoint + text of a corpus (+ a share of general text) -> domain checkpoint.

Going on with masked-language modelling on in-domain text (Gururangan et al. 2020). On the general corpus it is the
control: as much further training, without the domain.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from adaptbert.base.ladder import GENERAL
from adaptbert.base.plan import seed_of_draw
from adaptbert.mlm.heldout_evaluation import MeasureConfig
from adaptbert.mlm.rung_config import RungConfig
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from adaptbert.training.resume import Work


class DomainTransferParams(RungConfig):
    """The second rung."""

    replay_fraction: Annotated[float, Field(ge=0, lt=1)]
    """Share of general text among the tokens, against forgetting."""


def domain_transfer(
    params: DomainTransferParams,
    *,
    corpus: str,
    start: str,
    draw: str,
    seed: int,
    measure: MeasureConfig,
    init: Path,
    text: Path,
    replay: Path,
    heldout: Path,
    out: Path,
    metrics: Path,
    work: Work,
    run: Run,
) -> None:
    """Train the rung of a corpus from the rung below."""
    from adaptbert.mlm.rung import make_rung
    from adaptbert.model.checkpoint import Checkpoint

    make_rung(
        "domain_transfer",
        Checkpoint.load(init),
        params,
        seed=seed_of_draw(seed, int(draw)),
        measure=measure,
        text=text,
        replay=(replay, params.replay_fraction),
        heldout=[heldout / name for name in dict.fromkeys([GENERAL, corpus])],
        out=out,
        metrics=metrics,
        work=work,
        run=run,
    )


STAGE = Stage(domain_transfer, blocks=("start", "corpus"))

if __name__ == "__main__":
    STAGE.run()
