"""The command line: begin with own data, import a checkpoint, check params.yaml and files, check the machine, predict.

    adaptbert new DIR --train FILE       make a project of own text and labels
    adaptbert import FOLDER              bring a public checkpoint into the project as a base
    adaptbert download NAME --out FOLDER  fetch a data set of the hub as files
    adaptbert add-task --train FILE      add a labelled set as a task
    adaptbert bases [NAME...]            look at bases on the texts of the project, before any training
    adaptbert plan                       write plan.json, print what would be trained and what it would cost
    adaptbert check                      validate params.yaml and the files that it names
    adaptbert doctor                     open what a recipe opens; check disk space, device, precision
    adaptbert predict MODEL INPUT        predict on new data with a fine-tuned checkpoint
    adaptbert promote TASK [N]           register a release in MLflow, and make it the champion
    adaptbert release TASK               write the model that the comparison supports, with its evidence
    adaptbert upgrade                    bring the project to the version of adaptbert that is installed

All but `new`, `download`, `doctor` and `predict` run in the project folder. `dvc repro` or Prefect run the stages.
"""

import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from adaptbert.commands.bases import bases
from adaptbert.commands.doctor import doctor
from adaptbert.commands.params import check, plan
from adaptbert.commands.predict import predict
from adaptbert.commands.project import add_task, download, import_, new, upgrade
from adaptbert.commands.promote import promote
from adaptbert.commands.release import release
from adaptbert.runtime.libraries import collect_seldom, prepare_process
from adaptbert.runtime.redaction import guard_streams
from adaptbert.runtime.user_errors import user_errors


class Commands(TyperGroup):
    """The commands, of which an error of the user ends each with one message, and a signal those that take it."""

    def invoke(self, ctx: Any) -> Any:
        """Calls the command that was named."""
        with user_errors():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Commands, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)


def _version(is_requested: bool) -> None:
    if is_requested:
        print(f"adaptbert {metadata.version('adaptbert')}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Measure which steps of domain adaptation improve an encoder on your task."""
    prepare_process()
    collect_seldom()
    guard_streams()
    # The stages lie in the project's folder, where `python -m` finds them but an installed command does not.
    sys.path.insert(0, str(Path.cwd()))


app.command()(new)
app.command("import")(import_)
app.command()(download)
app.command()(bases)
app.command()(plan)
app.command("add-task")(add_task)
app.command()(check)
app.command()(doctor)
app.command()(predict)
app.command()(promote)
app.command()(release)
app.command()(upgrade)

if __name__ == "__main__":
    app()
