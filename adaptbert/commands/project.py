"""`adaptbert new`, `download`, `import` and `add-task`, which are done before anything is trained, and `upgrade`."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from adaptbert.commands.params import plan
from adaptbert.commands.predict import pairs
from adaptbert.config.recipe import PARAMS
from adaptbert.config.schema.bases import DOMAIN, GENERAL
from adaptbert.config.schema.sources import Format, Scheme
from adaptbert.config.schema.task_types import TaskName
from adaptbert.data.preview import Said
from adaptbert.project import dvc_files, own_data, template
from adaptbert.project.task_inference import consistent
from adaptbert.runtime import signals
from adaptbert.runtime.libraries import as_one_of_them, check_proxies, quieten


def download(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set on the Hugging Face hub, e.g. org/name.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where its files are written, e.g. data/own/name.")],
    revision: Annotated[str | None, typer.Option(help="A branch, a tag or a commit; default: main.")] = None,
    config: Annotated[str | None, typer.Option(help="Its configuration, where it has several.")] = None,
) -> None:
    """Download a data set of the hub.

    Each split is a file. DVC tracks a folder in data/own; the commit and the lines that name the files in params.yaml
    are printed.
    """
    from adaptbert.data.download import download as fetch

    check_proxies()
    lines = fetch(name, revision, config, out)
    if out.is_relative_to(own_data.OWN):
        dvc_files.record([out])
    print(*lines, sep="\n")


def import_(
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder in Hugging Face format (`hf download`).")],
    base: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the base that it becomes; default: that of the folder.")
    ] = None,
) -> None:
    """Bring in a public checkpoint as a base.

    It is written to models/init/<base> as safetensors. Pickled weights are read without running code. The lines that
    make it a base of params.yaml are printed.
    """
    from adaptbert.project.importing import import_checkpoint

    print(*import_checkpoint(source, base), sep="\n")


# The labelled files, and what a user says of them.
Train = Annotated[
    Path, typer.Option(metavar="FILE", help="Labelled rows, e.g. CSV, JSON lines, Parquet, CoNLL or SQuAD.")
]
Dev = Annotated[Path | None, typer.Option(metavar="FILE", help="Default: a tenth of the training rows.")]
Test = Annotated[Path | None, typer.Option(metavar="FILE", help="Default: a fifth of the training rows.")]
Columns = Annotated[
    list[str] | None, typer.Option(metavar="OURS=YOURS", help="Column of a field in the labelled files; repeatable.")
]
Type = Annotated[TaskName | None, typer.Option(help="Task type; default: by its labels.")]
OfFiles = Annotated[Format | None, typer.Option(help="Format of the labelled files; default: by what they hold.")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of the files that are not UTF-8, e.g. gb18030.")]
Separator = Annotated[str | None, typer.Option(help="Separator of several labels in one text, e.g. ';'.")]
TagScheme = Annotated[
    Literal[Scheme, "none"] | None, typer.Option(help="How tags mark spans; none: they are no spans.")
]
Name = Annotated[str | None, typer.Option(help="Name of the task; default: by its files.")]


def new(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The project: . is this one; a new or empty folder becomes one.")
    ],
    train: Train,
    dev: Dev = None,
    test: Test = None,
    text: Annotated[Path | None, typer.Option(metavar="FILE", help="Unlabelled text of your domain.")] = None,
    general: Annotated[Path | None, typer.Option(metavar="FILE", help="Unlabelled text of other kinds.")] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A public checkpoint: its folder, or its name on the hub; default: random weights."
        ),
    ] = None,
    text_column: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of --text; else by name.")] = None,
    general_column: Annotated[str | None, typer.Option(metavar="COLUMN", help="The same of --general.")] = None,
    name: Name = None,
    columns: Columns = None,
    type: Type = None,
    format: OfFiles = None,
    encoding: Encoding = None,
    separator: Separator = None,
    tag_scheme: TagScheme = None,
    minutes: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="M",
            help="Lower budgets, then base, arms and labels, until `make recipe` takes so long here.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite params.yaml even if it exists nowhere else.")
    ] = False,
) -> None:
    """Make a project of your own text and labels.

    The command looks at the files, shows what it concludes, copies those that lie elsewhere into data/own, and writes
    params.yaml and plan.json. What is not clear is an error that names the option. A new project is a repository of git
    and DVC, with the stages and all that runs them.
    """
    as_one_of_them()
    quieten()
    from adaptbert.project.new_project import create

    corpora = {GENERAL: (general, general_column), DOMAIN: (text, text_column)}
    texts = {corpus: (path, column) for corpus, (path, column) in corpora.items() if path}
    signals.raise_at_once()  # what is written in part goes with it
    if base and not Path(base).exists():
        check_proxies()
    labelled = consistent(Said(pairs(columns), type, format, encoding, separator, tag_scheme))
    splits = _given(train=train, dev=dev, test=test)
    for line in create(directory, texts, splits, labelled, base=base, name=name, minutes=minutes, force=force):
        print(line, flush=True)


def add_task(
    train: Train,
    dev: Dev = None,
    test: Test = None,
    name: Name = None,
    columns: Columns = None,
    type: Type = None,
    format: OfFiles = None,
    encoding: Encoding = None,
    separator: Separator = None,
    tag_scheme: TagScheme = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
) -> None:
    """Add a labelled set as a task.

    The command looks at the files, shows what it concludes, copies those that lie elsewhere into data/own, and writes a
    block into params.yaml. Without --yes it asks first, and writes nothing where there is no terminal to ask on. What
    is not clear is an error that names the option.
    """
    from adaptbert.project.add_task import add
    from adaptbert.project.template import interpreter

    signals.raise_at_once()
    labelled = consistent(Said(pairs(columns), type, format, encoding, separator, tag_scheme))
    steps = add(_given(train=train, dev=dev, test=test), name, labelled)
    print(next(steps))
    if not yes and not sys.stdin.isatty():
        print("nothing written: --yes writes it")
        raise typer.Exit(1)
    if not yes and not typer.confirm(f"write this into {PARAMS}?", default=True):
        print("nothing was written")
        raise typer.Exit(1)
    print(*steps, sep="\n")
    print(f"now run: make recipe{interpreter(Path())}")


def _given(**files: Path | None) -> dict[str, Path]:
    return {split: path for split, path in files.items() if path}


def upgrade() -> None:
    """Take over a newer adaptbert.

    Run it after `pip install --upgrade adaptbert`. Files of the project that nobody edited become those of the
    installed version; an edited one stays, and the command shows how the newer differs. The version in pyproject.toml
    follows. Then the command does
    what `adaptbert plan --price` does: which stages would run again, and how long they take.
    """
    for line in template.upgrade():
        print(line)
    plan(price=True)
