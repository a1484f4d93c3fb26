"""`adaptbert import`."""

from pathlib import Path
from typing import Annotated

import typer

from adaptbert.commands.errors import user_errors

CHECK = "now run: adaptbert check"


def import_(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="A folder in Hugging Face format, or the name of a model on the hub."),
    ],
    revision: Annotated[
        str | None, typer.Option(help="Of a model on the hub: a branch, a tag or a commit; default: main.")
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the start that it becomes; default: by its own name.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="A folder to write in place of models/init/<start>; no stage reads it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace another checkpoint in that folder.")] = False,
) -> None:
    """Bring in a public checkpoint as a start.

    It is written to models/init/<start> as safetensors, and the start is added to params.yaml and ladder.yaml. Pickled
    weights are read without running code.
    """
    from adaptbert.project.importing.command import import_checkpoint

    with user_errors():
        print(import_checkpoint(source, revision, start=start, to=to, force=force))
    if to is None:
        print(CHECK)
