"""The command line: choose a recipe, check it, look whether this machine can run it.

    adaptbert use weibo --data ~/text    write params.yaml from a preset, bring your files below data/own
    adaptbert use --data ~/text          bring your files, and leave params.yaml as it is
    adaptbert check                      is every value in params.yaml all right, and every file there?
    adaptbert doctor                     versions, room, device, environment
    adaptbert predict MODEL INPUT        answers of a fine-tuned checkpoint

All but the last runs in the folder of the project. The work itself is started with `dvc repro` or Prefect, not here.
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
from adaptbert.errors import BAD_DATA, IO_ERROR, BadParams, UserError, raise_all
from adaptbert.runtime.garbage import collect_seldom
from adaptbert.runtime.redaction import redacted

if TYPE_CHECKING:
    from adaptbert.prediction.command import Request
    from adaptbert.project.own_data import Brought

BROKEN_PIPE = 128 + 13
"""As a program ends that SIGPIPE ends."""

IN_PLACE = (
    "warning: params.yaml names the files by their place on this machine, so that no other clone can run it; without "
    "--in-place they are copied into data/own, and DVC shares them"
)
CHECK = "now run: adaptbert check"
CHECK_NAMES = (
    "now write the names of your files and columns into params.yaml where it has others, and run: adaptbert check"
)

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


def _version(is_asked: bool) -> None:
    if is_asked:
        print(f"adaptbert {metadata.version('adaptbert')}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Which steps of domain adaptation pay on your text."""
    collect_seldom()
    # The stages lie in the project's folder, where `python -m` finds them but an installed command does not.
    sys.path.insert(0, str(Path.cwd()))


@app.command()
def use(
    preset: Annotated[
        str | None,
        typer.Argument(
            metavar="[PRESET]",
            help="demo, smoke, weibo, biomed or gpu-base; left out: bring the files of --data, write no params.yaml.",
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with your files; copied into data/own, for DVC.")] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Copy nothing: params.yaml names the files of --data where they are.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite params.yaml, or files in data/own, that exist nowhere else.")
    ] = False,
) -> None:
    """Write params.yaml from a preset.

    With --data your files are brought into the project first; without a preset that is all.
    """
    from adaptbert.project import own_data, presets

    with _told():
        if data is not None:
            own_data.check_folder(data)
        if preset is not None:
            _use_preset(preset, data, in_place=in_place, force=force)
        else:
            folder = presets.alone(data, in_place=in_place)
            brought = own_data.bring(folder, force=force)
            own_data.record(brought.files)
            _tell(brought)
            print("params.yaml is as it was")
    print(CHECK if data is None else CHECK_NAMES)


def _use_preset(name: str, data: Path | None, *, in_place: bool, force: bool) -> None:
    from adaptbert.project import named_files, own_data, presets
    from adaptbert.runtime.params import params_file as params
    from adaptbert.runtime.stage import PARAMS, check_all

    text = presets.text(name, data, in_place=in_place)
    if not force:
        presets.check_replaceable(PARAMS, None if in_place else data)
    brought = None if data is None or in_place else own_data.bring(data, force=force)
    with presets.replaced(PARAMS, text):
        document = params.read(PARAMS)
        check_all(document, PARAMS)
        if brought is not None:
            own_data.record(brought.files)
    print(f"{PARAMS} is now the preset '{name}'")
    if brought is not None:
        _tell(brought)
    if in_place:
        print(IN_PLACE)
    for error in named_files.check(document, PARAMS):
        print(f"still missing: {error}")
    if brought is not None and (unnamed := named_files.unnamed(document, brought.files)):
        print(f"not named in {PARAMS}: {', '.join(map(str, unnamed))}")


def _tell(brought: "Brought") -> None:
    from adaptbert.project import own_data

    print(brought)
    if records := own_data.staged(brought.files):
        print(f"DVC put {records} records ({own_data.OWN}/*.dvc) into git's index, for your next commit")


@app.command()
def check() -> None:
    """Check params.yaml and the files that it names.

    All errors are told at once. The exit code is 78 where params.yaml is wrong, 65 where a file is. Before that, what a
    killed DVC left half-written is put right.
    """
    from adaptbert.project import dvc_files, first_rows, named_files, section_rules
    from adaptbert.runtime.params import params_file as params
    from adaptbert.runtime.params import sound_parts
    from adaptbert.runtime.stage import PARAMS, rule_errors, told_once, value_errors

    with _told():
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
            print(f"not opened, for it would take long: {key}")
        raise_all([*told_once(errors, PARAMS), *missing, *seen.errors])
    files = "so are the files that it names, as far as their first rows show"
    if seen.notices:
        files = "the files that it names can be read, but see above"
    print(f"{PARAMS}: {len(params.flatten(document))} values, all right; {files}")


@app.command()
def doctor() -> None:
    """Look whether this machine can run the recipe.

    That is versions, room, device and environment. The exit code is 1 where something would stop it.
    """
    from rich.console import Console
    from rich.table import Table

    from adaptbert.project.doctor import Verdict, examine

    findings = list(examine())
    table = Table("", "what", "found", "remedy")
    for finding in findings:
        table.add_row(finding.verdict.value, finding.what, finding.found, finding.remedy)
    Console().print(table)
    fails, warnings = (sum(each.verdict is verdict for each in findings) for verdict in (Verdict.FAIL, Verdict.WARN))
    if fails or warnings:
        print(f"FAIL {fails}, warn {warnings} of {len(findings)}: the last column says what to do")
    else:
        print(f"{len(findings)} looked at, all well: this machine can run the recipe")
    if fails:
        raise typer.Exit(1)


@app.command()
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A fine-tuned checkpoint: models/finetune/<task>-<arm>.")
    ],
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="txt, csv, tsv, jsonl, parquet, conll, squad, doccano or label_studio; text also .gz; - for stdin.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="A file .jsonl, .csv or .parquet; - for JSON lines to stdout.")
    ] = Path("-"),
    columns: Annotated[
        list[str] | None, typer.Option(metavar="OURS=YOURS", help="What an input is called in the file; repeatable.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--format", help="Of INPUT, where its name does not tell.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of text, e.g. gb18030; left out: UTF-8.")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Of all classes; of an answer its place and the score of none.")
    ] = False,
    top: Annotated[int | None, typer.Option(help="Probabilities of so many classes, the best first.")] = None,
    precision: Annotated[str | None, typer.Option(help="auto, bf16-mixed or 32-true; left out: as evaluated.")] = None,
    batch_tokens: Annotated[
        int | None, typer.Option(help="Tokens of a forward pass; left out: as in evaluation, to the last bit.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Write nothing where a row cannot be answered.")] = False,
    bom: Annotated[bool, typer.Option("--bom", help="Begin a .csv with a byte-order mark, as Excel wants it.")] = False,
) -> None:
    """Answer the rows of a file.

    The exit code is 65 where some of them could not be answered.
    """
    from adaptbert.prediction.command import Request

    with _told():
        unanswered = _answer(
            Request(
                model,
                source,
                output,
                columns=_pairs(columns or []),
                kind=kind,
                encoding=encoding,
                probabilities=probabilities,
                top=top,
                precision=precision,
                batch_tokens=batch_tokens,
                strict=strict,
                bom=bom,
            )
        )
    if unanswered:
        raise typer.Exit(BAD_DATA)


def _pairs(columns: list[str]) -> dict[str, str]:
    """OURS=YOURS -> our name: yours."""
    pairs = [pair.partition("=") for pair in columns]
    for ours, _, yours in pairs:
        if not ours or not yours:
            raise BadParams(111, "--columns", f"'{ours}' is no pair", "write OURS=YOURS, e.g. text=content")
    return {ours: yours for ours, _, yours in pairs}


def _answer(request: "Request") -> int:
    """Rows that could not be answered; a stream that cannot be written to ends the program as it ends others."""
    from adaptbert.prediction import command

    try:
        return command.predict(request)
    except BrokenPipeError:  # who reads has seen enough; Python would complain once more when it flushes at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except OSError as error:
        if full_disk(error):
            raise
        print(f"error: {error.filename or request.output}: {error.strerror}", file=sys.stderr)
        raise typer.Exit(IO_ERROR) from None


@contextmanager
def _told() -> Iterator[None]:
    """A user's error as its message and its exit code, without a traceback."""
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
