"""Domain transfer (DAPT): general checkpoint + text of a corpus (+ a share of general text) -> domain checkpoint.

Going on with masked-language modelling on in-domain text (Gururangan et al. 2020). On the general corpus it is the
control: as much further training, without the domain.
"""

from pathlib import Path

from adaptbert.config.plan import seed_of_replicate
from adaptbert.config.schema.bases import GENERAL
from adaptbert.config.schema.mlm import DomainTransfer
from adaptbert.config.schema.text import Measure
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.stage import Stage
from adaptbert.training.resume import Work


def domain_transfer(
    params: DomainTransfer,
    *,
    corpus: str,
    base: str,
    replicate: str,
    seed: int,
    measure: Measure,
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
        seed=seed_of_replicate(seed, int(replicate)),
        measure=measure,
        text=text,
        replay=(replay, params.replay_fraction),
        heldout=[heldout / name for name in dict.fromkeys([GENERAL, corpus])],
        out=out,
        metrics=metrics,
        work=work,
        run=run,
    )


STAGE = Stage(domain_transfer)

if __name__ == "__main__":
    STAGE.run()
