"""Domain transfer (DAPT): general checkpoint + text of a corpus (+ a share of general text) -> domain checkpoint.

Going on with masked-language modelling on in-domain text (Gururangan et al. 2020). On the general corpus it is the
control: as much further training, without the domain.
"""

from pathlib import Path

from adaptbert.config.plan import seed_of_replicate
from adaptbert.config.schema.bases import GENERAL
from adaptbert.config.schema.mlm import DomainTransfer
from adaptbert.config.schema.text import Measure
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
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
    from adaptbert.mlm.rung import RungRun, train_rung
    from adaptbert.mlm.rung_outputs import keep_rung
    from adaptbert.model.checkpoint import Checkpoint
    from adaptbert.text.token_store import TokenizedCorpus

    seed = seed_of_replicate(seed, int(replicate))
    training = TokenizedCorpus.load(text)
    if text != replay:
        training = training.mixed_with(TokenizedCorpus.load(replay), params.replay_fraction, seed)
    below, name = Checkpoint.load(init), f"domain_transfer/{out.name}"
    texts = [heldout / text for text in dict.fromkeys([GENERAL, corpus])]
    rung = RungRun("domain_transfer", name, below, training, params, measure, seed, texts)
    keep_rung(train_rung(rung, work, run), out, metrics, work, run)


STAGE = Stage(domain_transfer)

if __name__ == "__main__":
    STAGE.run()
