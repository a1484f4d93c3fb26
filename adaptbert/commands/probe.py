"""`adaptbert probe`: what the layers of each rung hold before fine-tuning."""

from pathlib import Path
from typing import Annotated

import typer

from adaptbert.commands.errors import user_errors


def probe(
    start: Annotated[str | None, typer.Option(help="A start of params.yaml; default: the only one.")] = None,
    lexicon: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Word pairs of two languages: a word, a tab, its translation.")
    ] = None,
) -> None:
    """Say what the layers of each rung hold.

    For each task with one class a row, linear models are fitted on frozen vectors of every layer and scored on the dev
    split. Each rung is compared with the one below it. With --lexicon the command says how well each layer finds the
    translations of words, and writes reports/lexicon-<start>.csv as well as reports/probes-<start>.csv. It trains and
    changes nothing else.
    """
    from rich.console import Console

    from adaptbert.project.one_start import one_start
    from adaptbert.project.probes.making import probe as measure
    from adaptbert.project.probes.table import show
    from adaptbert.runtime.stage import quieten

    quieten()
    with user_errors():
        probes = measure(one_start(start, "probe"), lexicon)
    show(probes, Console())
