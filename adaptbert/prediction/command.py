"""`adaptbert predict`: reads the file twice, first to validate and count its rows, then to predict.

So an error that stops the run is raised before the first forward pass, and the time left is known. Stdin is read once.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.errors import BadData, BadParams
from adaptbert.prediction import outputs
from adaptbert.prediction.inputs import STDIN, Input
from adaptbert.prediction.predictor import Predictor
from adaptbert.prediction.request_rows import RequestRow
from adaptbert.runtime.progress import StatusLine

SHOWN = 20
"""Rows without an answer that are reported one by one; the others are only counted."""


@dataclass(frozen=True)
class Request:
    """The options of `adaptbert predict`; its help describes them.

    Attributes:
        columns: our name of an input -> its name in the file.
        kind: the format of `source`; None: as its name says.
    """

    model: Path
    source: Path
    output: Path
    columns: Mapping[str, str]
    kind: str | None = None
    encoding: str | None = None
    probabilities: bool = False
    top: int | None = None
    precision: str | None = None
    batch_tokens: int | None = None
    strict: bool = False
    bom: bool = False


def parse_columns(columns: list[str]) -> dict[str, str]:
    """`--columns`: a list of OURS=YOURS -> name of an input: its name in the file."""
    pairs = [pair.partition("=") for pair in columns]
    for ours, _, yours in pairs:
        if not ours or not yours:
            problem = f"'{ours}' is no pair"
            raise BadParams(Code.CONTRADICTION, "--columns", problem, "write OURS=YOURS, e.g. text=content")
    return {ours: yours for ours, _, yours in pairs}


def predict(request: Request) -> int:
    """Answer every row of a file.

    Returns:
        Number of rows that could not be answered; they are reported on stderr.

    Raises:
        BadData: the model or the file cannot be used, or (`strict`) one of its rows.
        BadParams: options that do not fit.
    """
    outputs.check(request.output, request.source, bom=request.bom)
    predictor = Predictor.load(request.model, request.precision, request.batch_tokens)
    predictor.check_top(request.top)
    reader = predictor.reader(request.columns)
    rows = Input(request.source, predictor.task_type, reader, request.kind, request.encoding)
    faults = _Faults(rows.shown, strict=request.strict)
    total = None if request.source == STDIN else sum(1 for _ in faults.passing(rows.rows()))
    pending = rows.rows() if total is not None else faults.passing(rows.rows())
    progress = _Progress(total)
    details = request.probabilities or request.top is not None
    written: Counter[str] = Counter()
    output = outputs.open_output(request.output, predictor.target, written, details=details, bom=request.bom)
    with progress.closing(), output as write:
        for answer in predictor.answered(pending, probabilities=request.probabilities, top=request.top):
            write(answer)
            progress.advance()
    for place, warnings in ((rows.shown, rows.warnings), (request.output, written)):
        for warning, count in sorted(warnings.items()):
            print(f"{place}: {warning} ({count:,})", file=sys.stderr)
    faults.sum_up()
    return faults.count


class _Faults:
    """Reports and counts the rows that cannot be answered, or stops at the first (`strict`).

    Args:
        shown: the name of the file.
        strict: whether one of them ends the run.
    """

    def __init__(self, shown: str, *, strict: bool) -> None:
        self._shown, self._strict, self.count, self._undecodable = shown, strict, 0, 0

    def passing(self, rows: Iterator[RequestRow]) -> Iterator[RequestRow]:
        """The same rows, unchanged."""
        for row in rows:
            if row.problem is not None:
                place, (code, reason) = f"{self._shown}:{row.line}", row.problem
                if self._strict:
                    raise BadData(code, place, reason, "mend the row, or leave out --strict")
                self.count += 1
                self._undecodable += code == Code.ENCODING
                if self.count <= SHOWN:
                    print(f"{code.shown} {place}: {reason}; the row stays without an answer", file=sys.stderr)
            yield row

    def sum_up(self) -> None:
        if self.count > SHOWN:
            print(f"{self._shown}: {self.count:,} rows stay without an answer, see `error`", file=sys.stderr)
        if self._undecodable:
            rows = f"{self._undecodable:,} row{'s' * (self._undecodable > 1)}"
            remedy = "if the file is in another encoding, name it, e.g. --encoding gb18030"
            print(f"{self._shown}: {rows} could not be decoded; {remedy}", file=sys.stderr)


class _Progress:
    """Rows, speed and time left on stderr; at the end the total.

    Args:
        total: number of rows; None where it is unknown.
    """

    def __init__(self, total: int | None) -> None:
        self._total, self._done, self._began = total, 0, time.monotonic()
        self._line = StatusLine(sys.stderr, total)

    @contextmanager
    def closing(self) -> Iterator[None]:
        """After this block, however it ends, what is printed begins on a line of its own."""
        with self._line.closing():
            yield
            self._show()

    def advance(self) -> None:
        """One more row is done."""
        self._done += 1
        if self._line.is_due():
            self._show()

    def _show(self) -> None:
        seconds = max(1e-9, time.monotonic() - self._began)
        rows, speed, left = f"{self._done:,}", f"{self._done / seconds:,.0f} rows/s", ""
        if self._total is not None:
            rest = int((self._total - self._done) * seconds / max(1, self._done))
            rows, left = f"{rows}/{self._total:,}", f"  {rest // 60}:{rest % 60:02d} left"
        self._line.show(self._done, f"{rows} rows  {speed}{left}")
