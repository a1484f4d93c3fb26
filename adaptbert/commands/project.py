"""`adaptbert use`, `download`, `import`, `add-task` and `doctor`: what is done once, before anything is trained."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from adaptbert.commands.errors import user_errors
from adaptbert.commands.predict import pairs
from adaptbert.config.schema.sources import Format, Scheme
from adaptbert.config.schema.task_types import TaskName


def use(
    preset: Annotated[
        str,
        typer.Argument(
            metavar="PRESET", help="zh-public, en-public, tapt-only, gpu-base, weibo, biomed, demo or smoke."
        ),
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite params.yaml even if it exists nowhere else.")
    ] = False,
) -> None:
    """Write params.yaml from a preset.

    plan.json is written with it. The files that the preset names and that are missing are listed.
    """
    from adaptbert.project import presets

    with user_errors():
        for line in presets.use(preset, force=force):
            print(line, flush=True)
    print("now run: adaptbert check")


def download(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of a data set on the Hugging Face hub, e.g. org/name.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where its files are written, e.g. data/own/name.")],
    revision: Annotated[str | None, typer.Option(help="A branch, a tag or a commit; default: main.")] = None,
    config: Annotated[str | None, typer.Option(help="Of a data set that has several configurations.")] = None,
) -> None:
    """Download a data set of the hub.

    Each split is a file. DVC tracks a folder in data/own; the commit and the lines that name the files in params.yaml
    are printed.
    """
    from adaptbert.data.download import download as fetch
    from adaptbert.project import own_data

    with user_errors():
        lines = fetch(name, revision, config, out)
        if out.is_relative_to(own_data.OWN):
            own_data.record([out])
        print(*lines, sep="\n")


def import_(
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help="In Hugging Face format, as of `hf download`.")],
    base: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the base that it becomes; default: that of the folder.")
    ] = None,
) -> None:
    """Bring in a public checkpoint as a base.

    It is written to models/init/<base> as safetensors. Pickled weights are read without running code. The lines that
    make it a base of params.yaml are printed.
    """
    from adaptbert.project.importing import import_checkpoint

    with user_errors():
        print(*import_checkpoint(source, base), sep="\n")


def add_task(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="One to three files; which is train, dev and test by name, or train=FILE."),
    ],
    name: Annotated[str | None, typer.Option(help="Name of the task; default: by its files.")] = None,
    columns: Annotated[
        list[str] | None, typer.Option(metavar="OURS=YOURS", help="Column of a field in the files; repeatable.")
    ] = None,
    type: Annotated[TaskName | None, typer.Option(help="Task type; default: by its labels.")] = None,
    format: Annotated[Format | None, typer.Option(help="Format of the files; default: by what they hold.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of text, e.g. gb18030; default: UTF-8.")] = None,
    separator: Annotated[str | None, typer.Option(help="What parts several labels in one text, e.g. ';'.")] = None,
    tag_scheme: Annotated[
        Literal[Scheme, "none"] | None, typer.Option(help="How tags mark spans; none: they are no spans.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
) -> None:
    """Add a labelled set as a task.

    Its files lie in the project. The command looks at them, shows what it concludes, and writes a block into
    params.yaml. Without --yes it asks first, and writes nothing where there is no terminal to ask on. What is not clear
    is an error that names the option.
    """
    from adaptbert.config.recipe import PARAMS
    from adaptbert.project.add_task import prepare
    from adaptbert.project.task_inference import said

    with user_errors():
        options = {"type": type, "format": format, "encoding": encoding}
        given = said(pairs(columns or []), **options, separator=separator, tag_scheme=tag_scheme)
        task = prepare(files, name, given, PARAMS)
        print(task.shown)
        if not yes and not sys.stdin.isatty():
            print("nothing written: --yes writes it")
            raise typer.Exit(1)
        if not yes and not typer.confirm(f"write this into {PARAMS}?", default=True):
            print("nothing was written")
            raise typer.Exit(1)
        print("\n".join(task.write()))
    print("now run: dvc repro")


def doctor() -> None:
    """Check if this machine can run the recipe.

    Checks disk space, device, precision and where MLflow writes to. The exit code is 1 if a check fails.
    """
    from rich.console import Console
    from rich.table import Table

    from adaptbert.project.doctor import examine

    findings = list(examine())
    table = Table("", "what", "found", "remedy")
    for finding in findings:
        table.add_row(*finding)
    Console().print(table)
    fails, warnings = (sum(each.verdict == verdict for each in findings) for verdict in ("FAIL", "warn"))
    if fails or warnings:
        print(f"FAIL {fails}, warn {warnings} of {len(findings)}: the last column says what to do")
    else:
        print(f"{len(findings)} checks passed: this machine can run the recipe")
    if fails:
        raise typer.Exit(1)
