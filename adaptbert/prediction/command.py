"""`adaptbert predict`: a file is read twice, first to see that it can be read, then to be answered.

So what would stop the run stops it before the first forward pass, and the time left is known. From stdin there is one
reading.
"""

import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from adaptbert.collection.readers import encodings
from adaptbert.errors import BadData
from adaptbert.prediction import outputs
from adaptbert.prediction.inputs import STDIN, Input
from adaptbert.prediction.predictor import Predictor
from adaptbert.prediction.request_rows import Asked
from adaptbert.runtime.progress import BAR_SECONDS, CLEAR, LINE_SECONDS

SHOWN = 20
"""Rows that cannot be answered, told one by one."""


def predict(
    model: Path,
    source: Path,
    output: Path,
    *,
    columns: Mapping[str, str],
    kind: str | None = None,
    encoding: str | None = None,
    probabilities: bool = False,
    top: int | None = None,
    precision: str | None = None,
    batch_tokens: int | None = None,
    strict: bool = False,
    bom: bool = False,
) -> int:
    """Answer every row of `source`; see `adaptbert.cli.predict`.

    Returns:
        Rows that could not be answered; they are told on stderr.

    Raises:
        BadData: the model or the file cannot be used, or (`strict`) one of its rows.
        BadParams: options that do not fit.
    """
    outputs.check(output, source, bom=bom)
    predictor = Predictor.load(model, precision, batch_tokens)
    predictor.check_top(top)
    rows = Input(source, predictor.task_type, predictor.reader(columns), kind, encoding)
    faults = _Faults(rows.shown, strict=strict)
    total = None if source == STDIN else sum(1 for _ in faults.passing(rows.rows()))
    asked = rows.rows() if total is not None else faults.passing(rows.rows())
    progress = _Progress(total)
    details = probabilities or top is not None
    written: Counter[str] = Counter()
    with progress.closing(), outputs.opened(output, predictor.target, written, details=details, bom=bom) as write:
        for answer in predictor.answered(asked, probabilities=probabilities, top=top):
            write(answer)
            progress.tell()
    for place, warnings in ((rows.shown, rows.warnings), (output, written)):
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
    """Rows, speed and time left on stderr: a line that is written over in a terminal, elsewhere one every few seconds.

    Args:
        total: rows; None where nobody knows.
    """

    def __init__(self, total: int | None) -> None:
        self._total, self._done, self._bar = total, 0, sys.stderr.isatty()
        self._began = self._told = time.monotonic()

    @contextmanager
    def closing(self) -> Iterator[None]:
        """After this block, however it ends, what is printed begins on a line of its own; at last the sum."""
        try:
            yield
            self._show(self._text(max(1e-9, time.monotonic() - self._began)))
        finally:
            if self._bar:
                print(file=sys.stderr)

    def tell(self) -> None:
        """One more row is done."""
        self._done += 1
        now = time.monotonic()
        if now - self._told > (BAR_SECONDS if self._bar else LINE_SECONDS):
            self._told = now
            self._show(self._text(now - self._began))

    def _text(self, seconds: float) -> str:
        speed = self._done / seconds
        if self._total is None:
            return f"  {self._done:,} rows  {speed:,.0f} rows/s"
        left = int((self._total - self._done) * seconds / max(1, self._done))
        return f"  {self._done:,}/{self._total:,} rows  {speed:,.0f} rows/s  {left // 60}:{left % 60:02d} left"

    def _show(self, text: str) -> None:
        if self._bar:
            sys.stderr.write(CLEAR + text[: shutil.get_terminal_size().columns - 1])
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()
