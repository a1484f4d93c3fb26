"""`adaptbert price`."""

import sys
from typing import Annotated

import typer

from adaptbert.commands.errors import user_errors


def price(
    steps: Annotated[int, typer.Option(min=10, max=10_000, help="Optimizer steps that are timed.")] = 50,
) -> None:
    """Say what each step would cost.

    The command prints tokens, operations and minutes of what DVC would train, at the speed measured here. Run it after
    `dvc repro tokenize`. It trains for some steps and writes nothing.
    """
    from rich.console import Console

    from adaptbert.project.price import prices, table
    from adaptbert.runtime import signals
    from adaptbert.runtime.stage import quieten

    quieten()
    signals.raise_at_once()
    with user_errors():
        try:
            priced = prices(steps)
        except signals.Interrupted as interrupted:
            print(f"{interrupted}; nothing was written", file=sys.stderr)
            raise typer.Exit(interrupted.exit_code) from None
    Console(width=10_000).print(table(priced), highlight=False)  # no name is cut: a terminal wraps the line
    print(
        "Minutes are those of one device and of optimizer steps alone, at the speed measured here: start-up, "
        "evaluation and saving come on top, early stopping ends sooner, other work on this machine makes it slower."
    )
