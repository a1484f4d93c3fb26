"""Domain transfer (DAPT): general checkpoint + text of a corpus (+ a share of general text) -> domain checkpoint.

Going on with masked-language modelling on in-domain text (Gururangan et al. 2020), of which general text, `beside`, is
replayed. On the general corpus it is the control: as much further training, without the domain, whose text is `beside`.
Where there is no other text, `beside` is the text itself.
"""

from pathlib import Path
from typing import Unpack

from adaptbert.config.schema.bases import GENERAL
from adaptbert.config.schema.mlm import DomainTransfer
from adaptbert.mlm.arguments import StepArguments
from adaptbert.stage import run_stage


def domain_transfer(
    params: DomainTransfer, *, corpus: str, replicate: str, init: Path, beside: Path, **common: Unpack[StepArguments]
) -> None:
    from adaptbert.mlm.step import Mixed, take_step
    from adaptbert.model.checkpoint import Checkpoint

    texts = list(dict.fromkeys([beside.name, corpus]))
    mixed = Mixed(beside, params.replay_fraction, is_control=corpus == GENERAL)
    take_step("domain_transfer", Checkpoint.load(init), params, texts, int(replicate), mixed, **common)


if __name__ == "__main__":
    run_stage(domain_transfer)
