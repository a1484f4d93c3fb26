"""`adaptbert add-task`."""

import sys
from typing import Annotated

import typer

from adaptbert.commands.errors import user_errors
from adaptbert.config.schema.task_types import TARGETS_OF
from adaptbert.data.readers.spec import FORMATS

# The options, each with its help.
_Encoding = Annotated[str | None, typer.Option(help="Encoding of text, e.g. gb18030; default: UTF-8.")]
_Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="One to three files; which is train, dev and test by name, or train=FILE."),
]
_TaskName = Annotated[str | None, typer.Option(help="Name of the task; default: by its files.")]
_Shape = Annotated[str | None, typer.Option(metavar="TYPE", help=f"Task type: {', '.join(TARGETS_OF)}.")]
_Target = Annotated[str | None, typer.Option(help="What is predicted: class, labels, number, answer, spans or tags.")]
_Separator = Annotated[str | None, typer.Option(help="What parts several labels in one text, e.g. ';'.")]
_TaskColumns = Annotated[
    list[str] | None, typer.Option(metavar="OURS=YOURS", help="Column of a field in the files; repeatable.")
]
_TaskFormat = Annotated[str | None, typer.Option("--format", help=f"Format of the files: {', '.join(FORMATS)}.")]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]


def add_task(
    files: _Files,
    name: _TaskName = None,
    columns: _TaskColumns = None,
    shape: _Shape = None,
    target: _Target = None,
    kind: _TaskFormat = None,
    encoding: _Encoding = None,
    separator: _Separator = None,
    yes: _Yes = False,
) -> None:
    """Add a labelled set as a task.

    The command looks at its files, shows what it concludes, and writes a block into params.yaml. Without --yes it asks
    first, and writes nothing where there is no terminal to ask on. What is not clear is an error that names the option.
    """
    from adaptbert.config.recipe import PARAMS
    from adaptbert.project.tasks.adding import prepare
    from adaptbert.project.tasks.task_inference import said

    with user_errors():
        task = prepare(files, name, said(columns or [], shape, target, kind, encoding, separator), PARAMS)
        print(task)
        if not yes and not sys.stdin.isatty():
            print("nothing written: --yes writes it")
            raise typer.Exit(1)
        if not yes and not typer.confirm(f"write this into {PARAMS}?", default=True):
            print("nothing was written")
            raise typer.Exit(1)
        print("\n".join(task.write()))
    print("now run: dvc repro")
