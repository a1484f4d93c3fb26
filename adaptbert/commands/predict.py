"""`adaptbert predict`."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptbert.commands.errors import user_errors
from adaptbert.core.files import full_disk
from adaptbert.data.readers.spec import FORMATS
from adaptbert.errors import BAD_DATA, IO_ERROR

if TYPE_CHECKING:
    from adaptbert.prediction.command import Request

BROKEN_PIPE = 128 + 13  # exit code of a program that SIGPIPE ends

# The options of `predict`, each with its help.
_Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A fine-tuned checkpoint: models/finetune/<task>-<arm>-<base>-<replicate>; the last if the arm has any.",
    ),
]
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

    with user_errors():
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
