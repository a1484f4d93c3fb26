"""`adaptbert import`."""

from typing import Annotated

import typer

from adaptbert.commands.errors import user_errors


def import_(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="A folder in Hugging Face format, or the name of a model on the hub."),
    ],
    revision: Annotated[
        str | None, typer.Option(help="Of a model on the hub: a branch, a tag or a commit; default: main.")
    ] = None,
    base: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the base that it becomes; default: by its own name.")
    ] = None,
) -> None:
    """Bring in a public checkpoint as a base.

    It is written to models/init/<base> as safetensors. Pickled weights are read without running code. The lines that
    make it a base of params.yaml are printed.
    """
    from adaptbert.project.importing.command import import_checkpoint

    with user_errors():
        print(*import_checkpoint(source, revision, base), sep="\n")
