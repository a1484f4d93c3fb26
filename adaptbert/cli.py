"""The command line: choose a preset, import a checkpoint, check params.yaml and files, check the machine, predict.

    adaptbert use weibo --data ~/text    write params.yaml from a preset, copy your files into data/own
    adaptbert use --data ~/text          copy your files, and leave params.yaml unchanged
    adaptbert import MODEL               bring a public checkpoint into models/init
    adaptbert check                      validate params.yaml and the files that it names
    adaptbert doctor                     check versions, disk space, device, environment
    adaptbert predict MODEL INPUT        predict on new data with a fine-tuned checkpoint

All commands but the last run in the project folder. `dvc repro` or Prefect run the stages.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from adaptbert.base.full_disk import full_disk
from adaptbert.collection.readers.formats.spec import FORMATS
from adaptbert.errors import BAD_DATA, IO_ERROR, UserError, raise_all
from adaptbert.runtime.garbage import collect_seldom
from adaptbert.runtime.redaction import redacted

if TYPE_CHECKING:
    from adaptbert.prediction.command import Request
    from adaptbert.project.own_data import CopySummary

BROKEN_PIPE = 128 + 13  # exit code of a program that SIGPIPE ends

IN_PLACE = (
    "warning: params.yaml contains paths of this machine, so no other clone can run it; without --in-place the files "
    "are copied into data/own, where DVC shares them"
)
CHECK = "now run: adaptbert check"
CHECK_NAMES = "now correct the names of files and columns in params.yaml, and run: adaptbert check"

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


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
    """Measure which steps of domain adaptation improve BERT on your task."""
    collect_seldom()
    # The stages lie in the project's folder, where `python -m` finds them but an installed command does not.
    sys.path.insert(0, str(Path.cwd()))


@app.command()
def use(
    preset: Annotated[
        str | None,
        typer.Argument(
            metavar="[PRESET]",
            help="demo, smoke, weibo, biomed or gpu-base; without it, only copy the files of --data.",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with your files, copied into data/own and tracked by DVC.")
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Copy nothing: params.yaml contains the paths of the files of --data.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite params.yaml or files in data/own even if they exist nowhere else."),
    ] = False,
) -> None:
    """Write params.yaml from a preset.

    With --data, your files are copied into the project first. Without a preset, only the files are copied.
    """
    from adaptbert.project import own_data, presets

    with _user_errors():
        if data is not None:
            own_data.check_folder(data)
        if preset is not None:
            _use_preset(preset, data, in_place=in_place, force=force)
        else:
            summary = own_data.bring(presets.alone(data, in_place=in_place), force=force)
            own_data.record(summary.files)
            _print_summary(summary)
            print("params.yaml is unchanged")
    print(CHECK if data is None else CHECK_NAMES)


def _use_preset(name: str, data: Path | None, *, in_place: bool, force: bool) -> None:
    from adaptbert.project import named_files, own_data, presets
    from adaptbert.runtime.params import params_file as params
    from adaptbert.runtime.stage import PARAMS, check_all

    text = presets.text(name, data, in_place=in_place)
    if not force:
        presets.check_replaceable(PARAMS, None if in_place else data)
    summary = None if data is None or in_place else own_data.bring(data, force=force)
    with presets.replaced(PARAMS, text):
        document = params.read(PARAMS)
        check_all(document, PARAMS)
        if summary is not None:
            own_data.record(summary.files)
    print(f"{PARAMS} is now the preset '{name}'")
    if summary is not None:
        _print_summary(summary)
    if in_place:
        print(IN_PLACE)
    for error in named_files.check(document, PARAMS):
        print(f"still missing: {error}")
    if summary is not None and (unnamed := named_files.unnamed(document, summary.files)):
        print(f"not named in {PARAMS}: {', '.join(map(str, unnamed))}")


def _print_summary(summary: "CopySummary") -> None:
    from adaptbert.project import own_data

    print(summary)
    if records := own_data.staged(summary.files):
        print(f"DVC put {records} records ({own_data.OWN}/*.dvc) into git's index, for your next commit")


@app.command("import")
def import_(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="A folder in Hugging Face format, or the name of a model on the hub."),
    ],
    revision: Annotated[
        str | None, typer.Option(help="Of a model on the hub: a branch, a tag or a commit; default: main.")
    ] = None,
    to: Annotated[Path, typer.Option(help="The folder to write.")] = Path("models/init"),
    force: Annotated[bool, typer.Option("--force", help="Replace another checkpoint in that folder.")] = False,
) -> None:
    """Bring a public checkpoint into the project.

    It is written to models/init as safetensors. Pickled weights are read without running code.
    """
    from adaptbert.project.importing.command import INIT, import_checkpoint

    with _user_errors():
        print(import_checkpoint(source, revision, to, force=force))
    if to == INIT:
        print(CHECK)


@app.command()
def check() -> None:
    """Check params.yaml and the files that it names.

    All errors are reported together. The exit code is 78 if params.yaml is invalid, 65 if a file is. First, the
    command repairs partial files that a killed DVC left.
    """
    from adaptbert.project import dvc_files, named_files, section_rules
    from adaptbert.project.first_rows import check as first_rows
    from adaptbert.runtime.params import params_file as params
    from adaptbert.runtime.params import sound_parts
    from adaptbert.runtime.stage import PARAMS, rule_errors, value_errors, without_consequences

    with _user_errors():
        for line in dvc_files.mend():
            print(line)
        document = params.read(PARAMS)
        values = value_errors(document, PARAMS)
        errors = [*values, *rule_errors(document, PARAMS, values)]
        readable = sound_parts.for_files(document, values, PARAMS)
        missing = named_files.check(readable, PARAMS)
        seen = first_rows.check(readable, PARAMS, named_files.unusable(readable))
        for notice in [*([] if errors else section_rules.notices(document, PARAMS)), *seen.notices]:
            print(f"notice: {notice}")
        for key in seen.unopened:
            print(f"not checked, because it would take long: {key}")
        raise_all([*without_consequences(errors, PARAMS), *missing, *seen.errors])
    files = "the first rows of the files that it names are valid"
    if seen.notices:
        files = "the files that it names are readable, but see the notices above"
    print(f"{PARAMS}: {len(params.flatten(document))} values, all valid; {files}")


@app.command()
def doctor() -> None:
    """Check whether this machine can run the recipe.

    Checks versions, disk space, device and environment. The exit code is 1 if a check fails.
    """
    from rich.console import Console
    from rich.table import Table

    from adaptbert.project.doctor import Verdict, examine

    findings = list(examine())
    table = Table("", "what", "found", "remedy")
    for finding in findings:
        table.add_row(finding.verdict.value, finding.what, finding.observed, finding.remedy)
    Console().print(table)
    fails, warnings = (sum(each.verdict is verdict for each in findings) for verdict in (Verdict.FAIL, Verdict.WARN))
    if fails or warnings:
        print(f"FAIL {fails}, warn {warnings} of {len(findings)}: the last column says what to do")
    else:
        print(f"{len(findings)} checks passed: this machine can run the recipe")
    if fails:
        raise typer.Exit(1)


# The options of `predict`, each with its help.
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A fine-tuned checkpoint: models/finetune/<task>-<arm>.")]
_Source = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        help=f"{', '.join(FORMATS)}; text also .gz; - for stdin.",
    ),
]
_Output = Annotated[
    Path, typer.Option("-o", "--output", help="A file .jsonl, .csv or .parquet; - for JSON lines to stdout.")
]
_Columns = Annotated[
    list[str] | None, typer.Option(metavar="OURS=YOURS", help="Column of an input in the file; repeatable.")
]
_Kind = Annotated[str | None, typer.Option("--format", help="Format of INPUT, if its name does not show it.")]
_Encoding = Annotated[str | None, typer.Option(help="Encoding of text, e.g. gb18030; default: UTF-8.")]
_Probabilities = Annotated[
    bool,
    typer.Option(
        "--probabilities",
        help="Add the probabilities of all classes; for answers, offsets and the no-answer score.",
    ),
]
_Top = Annotated[int | None, typer.Option(help="Add the probabilities of that many classes, the highest first.")]
_Precision = Annotated[str | None, typer.Option(help="auto, bf16-mixed or 32-true; default: that of evaluation.")]
_BatchTokens = Annotated[
    int | None,
    typer.Option(help="Tokens per forward pass; default: batches as in evaluation, with bit-identical results."),
]
_Strict = Annotated[bool, typer.Option("--strict", help="Write nothing if a row cannot be predicted.")]
_Bom = Annotated[bool, typer.Option("--bom", help="Start a .csv with a byte-order mark, for Excel.")]


@app.command()
def predict(
    model: _Model,
    source: _Source,
    output: _Output = Path("-"),
    columns: _Columns = None,
    kind: _Kind = None,
    encoding: _Encoding = None,
    probabilities: _Probabilities = False,
    top: _Top = None,
    precision: _Precision = None,
    batch_tokens: _BatchTokens = None,
    strict: _Strict = False,
    bom: _Bom = False,
) -> None:
    """Predict on the rows of a file.

    The exit code is 65 if some rows could not be predicted.
    """
    from adaptbert.prediction.command import Request, parse_columns

    with _user_errors():
        request = Request(
            model,
            source,
            output,
            columns=parse_columns(columns or []),
            kind=kind,
            encoding=encoding,
            probabilities=probabilities,
            top=top,
            precision=precision,
            batch_tokens=batch_tokens,
            strict=strict,
            bom=bom,
        )
        if _answer(request):
            raise typer.Exit(BAD_DATA)


def _answer(request: "Request") -> int:
    """Run the command; returns the number of rows without an answer. A closed pipe ends the program silently."""
    from adaptbert.prediction import command

    try:
        return command.predict(request)
    except BrokenPipeError:  # the reader, e.g. `head`, has ended; the final flush of Python must not fail as well
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except OSError as error:
        if full_disk(error):
            raise
        print(f"error: {error.filename or request.output}: {error.strerror}", file=sys.stderr)
        raise typer.Exit(IO_ERROR) from None


@contextmanager
def _user_errors() -> Iterator[None]:
    """Prints the message of a user's error and exits with its code, without a traceback."""
    try:
        yield
    except UserError as error:
        _fail(error)
    except OSError as error:
        if full := full_disk(error):
            _fail(full)
        raise


def _fail(error: UserError) -> NoReturn:
    print(redacted(f"error: {error}"), file=sys.stderr)
    raise typer.Exit(error.exit_code) from None


if __name__ == "__main__":
    app()
