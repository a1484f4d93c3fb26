"""`adaptbert forecast`."""

import sys
from typing import Annotated

import typer

from adaptbert.commands.errors import user_errors


def forecast(
    start: Annotated[str | None, typer.Option(help="A start of params.yaml; default: the only one.")] = None,
    steps: Annotated[int, typer.Option(min=10, max=10_000, help="Optimizer steps of each trial.")] = 50,
    again: Annotated[
        bool, typer.Option("--again", help="Overwrite a forecast that was made before its outcome.")
    ] = False,
) -> None:
    """Say what each step would cost.

    The command also says where the facts point. Run it after `dvc repro tokenize`, before the ladder is trained. It
    trains for some steps, writes forecasts/<start>.json, and changes nothing else. Commit the file: the report sets it
    beside the outcome.
    """
    from rich.console import Console

    from adaptbert.project.forecast.making import forecast as make
    from adaptbert.project.forecast.table import show
    from adaptbert.runtime import signals
    from adaptbert.runtime.stage import quieten

    quieten()
    signals.raise_at_once()
    with user_errors():
        try:
            made = make(start, steps, again=again)
        except signals.Interrupted as interrupted:
            print(f"{interrupted}; nothing was written", file=sys.stderr)
            raise typer.Exit(interrupted.exit_code) from None
    show(made, Console())
