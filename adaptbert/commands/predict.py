"""`adaptbert predict`: reads the file twice, first to validate and count its rows, then to predict.

So an error that stops the run is raised before the first forward pass, and the time left is known. Stdin is read once.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Format
from adaptbert.core.files import full_disk
from adaptbert.data.formats import FORMATS
from adaptbert.data.rows import Row
from adaptbert.errors import BAD_DATA, IO_ERROR, BadParams

BROKEN_PIPE = 128 + 13
"""Exit code of a program that SIGPIPE ends."""
SHOWN = 20
"""Rows without an answer that are reported one by one; the others are only counted. So many answers that are all the
same are hardly chance."""


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A fine-tuned checkpoint: models/finetune/<task>-<arm>-<base>-<replicate>; the last if the arm has "
            "any. Or a linear model: models/linear/<task>.",
        ),
    ],
    source: Annotated[Path, typer.Argument(metavar="INPUT", help=f"{', '.join(FORMATS)}; text also .gz; - for stdin.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="A file .jsonl, .csv or .parquet; - for JSON lines to stdout.")
    ] = Path("-"),
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OURS=YOURS", help="Column of an input in the file, by default that of the task; repeatable."
        ),
    ] = None,
    kind: Annotated[Format | None, typer.Option("--format", help="Format of INPUT, if its name shows none.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of text, e.g. gb18030; default: UTF-8.")] = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Add the probabilities of all classes; for answers, offsets and the no-answer score.",
        ),
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Write the columns of INPUT as well; one that is called as ours: input_NAME.")
    ] = False,
    linear: Annotated[
        bool, typer.Option("--linear", help="Answer by the linear model of its task: models/linear/<task>.")
    ] = False,
    precision: Annotated[
        str | None, typer.Option(help="auto, bf16-mixed or 32-true; default: that of evaluation.")
    ] = None,
) -> None:
    """Predict on the rows of a file.

    The exit code is 65 if some rows could not be predicted.
    """
    from adaptbert.prediction import outputs
    from adaptbert.prediction.inputs import STDIN, Input, Reader
    from adaptbert.prediction.predictor import Predictor

    with _ended(output):
        mapped = pairs(columns)
        outputs.check(output, source)
        predictor = Predictor.load(_linear_model(model) if linear else model, precision)
        if keep and source == STDIN and output.suffix in (".csv", ".parquet"):
            problem = "stdin is read once, and a table has all columns at once"
            raise BadParams(Code.CONTRADICTION, "--keep", problem, "read a file, or write .jsonl")
        task = predictor.task
        ours = outputs.columns(task.target, details=probabilities).names if keep else None
        rows = Input(source, Reader(task, mapped), kind, encoding, ours)
        faults = Counter[Code]()
        total = None if source == STDIN else sum(1 for _ in _passing(rows.rows(), rows.shown, faults))
        pending = _passing(rows.rows(), rows.shown, faults) if total is None else rows.rows()
        written: Counter[str] = Counter()
        seen: list[dict[str, Any]] = []
        count, alike = 0, True
        with (
            _progress(total) as advance,
            outputs.open_output(output, task.target, written, rows.kept_fields(), details=probabilities) as write,
        ):
            for batch in predictor.answered(pending, probabilities=probabilities):
                for answer in batch:
                    write(answer)
                answered = [answer for answer in batch if "error" not in answer]
                seen, count = [*seen[:1], *answered], count + len(answered)
                alike = alike and predictor.are_alike(seen)
                advance(len(batch))
        if alike and count >= SHOWN:
            said = f"gives all {count:,} rows the same answer, and may know no other; card.json has its scores"
            print(f"{model}: {said}", file=sys.stderr)
        for place, warnings in ((rows.shown, rows.warnings), (output, written)):
            for warning, count in sorted(warnings.items()):
                print(f"{place}: {warning} ({count:,})", file=sys.stderr)
        _sum_up(rows.shown, faults)
        if faults:
            raise typer.Exit(BAD_DATA)


def _linear_model(checkpoint: Path) -> Path:
    """The linear model of the task that a checkpoint was fine-tuned on, which lies near it; a linear model itself."""
    from adaptbert.model.checkpoint_files import CARD, read_card

    card = read_card(checkpoint / CARD)
    return checkpoint.resolve().parents[1] / "linear" / card.task.name if card and card.task else checkpoint


def pairs(columns: list[str] | None) -> dict[str, str]:
    """`--columns`: a list of OURS=YOURS -> our name: its name in the file."""
    mapped: dict[str, str] = {}
    for pair in columns or ():
        ours, _, yours = pair.partition("=")
        if not ours or not yours or mapped.setdefault(ours, yours) != yours:
            problem = f"'{ours}' twice" if ours and yours else f"'{pair}' is no pair"
            remedy = "write --columns OURS=YOURS once for each, e.g. text=content"
            raise BadParams(Code.CONTRADICTION, "--columns", problem, remedy)
    return mapped


@contextmanager
def _ended(output: Path) -> Iterator[None]:
    """A closed pipe ends the program silently, another error of the system with one line."""
    try:
        yield
    except BrokenPipeError:  # the reader, e.g. `head`, has ended; the final flush of Python must not fail as well
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except OSError as error:
        if full_disk(error) or isinstance(error, PermissionError):
            raise
        print(f"error: {error.filename or output}: {error.strerror}", file=sys.stderr)
        raise typer.Exit(IO_ERROR) from None


def _passing(rows: Iterator[Row], shown: str, faults: Counter[Code]) -> Iterator[Row]:
    """The same rows, unchanged; those that cannot be answered are reported and counted."""
    for row in rows:
        if row.problem is not None:
            code, reason, _ = row.problem
            faults[code] += 1
            if faults.total() <= SHOWN:
                print(f"{code.shown} {shown}:{row.line}: {reason}; the row stays without an answer", file=sys.stderr)
        yield row


def _sum_up(shown: str, faults: Counter[Code]) -> None:
    """Tells of the rows that were not reported one by one, and of a remedy."""
    if faults.total() > SHOWN:
        print(f"{shown}: {faults.total():,} rows stay without an answer, see `error`", file=sys.stderr)
    if undecodable := faults[Code.ENCODING]:
        rows = f"{undecodable:,} row{'s' * (undecodable > 1)}"
        remedy = "if the file is in another encoding, name it, e.g. --encoding gb18030"
        print(f"{shown}: {rows} could not be decoded; {remedy}", file=sys.stderr)


@contextmanager
def _progress(total: int | None) -> Iterator[Callable[[int], None]]:
    """A function that counts rows; rows, speed, and time left where there is a total, are on stderr, at the end all."""
    from adaptbert.runtime.progress import StatusLine

    line, began, done = StatusLine(sys.stderr, total), time.monotonic(), 0

    def show() -> None:
        seconds = max(1e-9, time.monotonic() - began)
        rows, speed, left = f"{done:,}", f"{done / seconds:,.{int(done < 10 * seconds)}f} rows/s", ""
        if total is not None:
            rest = int((total - done) * seconds / max(1, done))
            rows, left = f"{rows}/{total:,}", f"  {rest // 60}:{rest % 60:02d} left"
        line.show(done, f"{rows} rows  {speed}{left}")

    def advance(rows: int) -> None:
        nonlocal done
        done += rows
        if line.is_due() and done != total:
            show()

    with line.closing():
        yield advance
        show()
