"""`adaptbert download`."""

from pathlib import Path
from typing import Annotated

import typer

from adaptbert.commands.errors import user_errors


def download(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of a data set on the Hugging Face hub, e.g. org/name.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where its files are written, e.g. data/own/name.")],
    revision: Annotated[str | None, typer.Option(help="A branch, a tag or a commit; default: main.")] = None,
    config: Annotated[str | None, typer.Option(help="Of a data set that has several configurations.")] = None,
) -> None:
    """Download a data set of the hub as Parquet files.

    Each split is a file. The commit is remembered beside them, DVC tracks the folder, and the lines that name the
    files in params.yaml are printed.
    """
    from adaptbert.data.download import download as fetch
    from adaptbert.data.download import lines
    from adaptbert.project import own_data

    with user_errors():
        fetch(name, revision, config, out)
        if out.is_relative_to(own_data.OWN):
            own_data.record([out])
        print(*lines(out), sep="\n")
