"""Domain transfer (DAPT): general checkpoint + text of a corpus (+ a share of general text) -> domain checkpoint.

Going on with masked-language modelling on in-domain text (Gururangan et al. 2020). On the general corpus it is the
control: as much further training, without the domain. Where there is no general text, `replay` is the text itself, and
nothing is replayed.
"""

from pathlib import Path
from typing import Unpack

from adaptbert.config.schema.mlm import DomainTransfer
from adaptbert.mlm.arguments import StepArguments
from adaptbert.runtime.stage import Stage


def domain_transfer(
    params: DomainTransfer, *, corpus: str, replicate: str, init: Path, replay: Path, **common: Unpack[StepArguments]
) -> None:
    """Train the checkpoint of a corpus from the one before."""
    from adaptbert.mlm.step import take_step
    from adaptbert.model.checkpoint import Checkpoint

    texts, share = list(dict.fromkeys([replay.name, corpus])), params.replay_fraction
    take_step("domain_transfer", Checkpoint.load(init), params, texts, int(replicate), (replay, share), **common)


STAGE = Stage(domain_transfer)

if __name__ == "__main__":
    STAGE.run()
