"""`adaptbert predict`: a file is read twice, first to see that it can be read, then to be answered.

So what would stop the run stops it before the first forward pass, and the time left is known. From stdin there is one
reading.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from adaptbert.collection.readers import encodings
from adaptbert.errors import BadData
from adaptbert.prediction import outputs
from adaptbert.prediction.inputs import STDIN, Input
from adaptbert.prediction.predictor import Predictor
from adaptbert.prediction.request_rows import Asked
from adaptbert.runtime.progress import StatusLine

SHOWN = 20
"""Rows that cannot be answered, told one by one."""


@dataclass(frozen=True)
class Request:
    """What `adaptbert predict` is called with; its help says what each option means.

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


def predict(request: Request) -> int:
    """Answer every row of a file.

    Returns:
        Rows that could not be answered; they are told on stderr.

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
    asked = rows.rows() if total is not None else faults.passing(rows.rows())
    progress = _Progress(total)
    details = request.probabilities or request.top is not None
    written: Counter[str] = Counter()
    output = outputs.opened(request.output, predictor.target, written, details=details, bom=request.bom)
    with progress.closing(), output as write:
        for answer in predictor.answered(asked, probabilities=request.probabilities, top=request.top):
            write(answer)
            progress.tell()
    for place, warnings in ((rows.shown, rows.warnings), (request.output, written)):
        for warning, count in sorted(warnings.items()):
            print(f"{place}: {warning} ({count:,})", file=sys.stderr)
    faults.sum_up()
    return faults.count


class _Faults:
    """Rows that cannot be answered: told, counted, or the end.

    Args:
        shown: the name of the file.
        strict: whether one of them ends the run.
    """

    def __init__(self, shown: str, *, strict: bool) -> None:
        self._shown, self._strict, self.count, self._undecodable = shown, strict, 0, 0

    def passing(self, rows: Iterator[Asked]) -> Iterator[Asked]:
        """The same rows."""
        for row in rows:
            if row.problem is not None:
                place, (code, reason) = f"{self._shown}:{row.line}", row.problem
                if self._strict:
                    raise BadData(code, place, reason, "mend the row, or leave out --strict")
                self.count += 1
                self._undecodable += code in encodings.ERROR_CODES
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
    """Rows, speed and time left on stderr, and at last the sum.

    Args:
        total: rows; None where nobody knows.
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

    def tell(self) -> None:
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
