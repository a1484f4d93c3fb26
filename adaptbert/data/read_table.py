"""Reads tables: CSV, TSV and Parquet. Nothing is converted: `NA` and `007` stay text; blanks around cells of labelled
rows and around names of columns are left out.

csv: a header, commas, quotes doubled inside quotes. tsv: a header, tabs, no quoting. parquet: the columns that are
read. What parts the columns follows from the format (adaptbert.data.formats); the key `separator` is of labels.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.data.fields import NO_HEADER, column_names, is_sentence
from adaptbert.data.read_text import MAX_LINE, check_kind, read_lines
from adaptbert.data.rows import Problem, Row, SourceFile
from adaptbert.errors import BadData

_BATCH = 4096
_LOOKED_AT = 100
"""Rows by which a missing header is noticed."""
_REPEATED = "headers that stand again below the first, as where files were joined, not read"
_QUOTED = "TSV files with cells in quotes, which stay as they are (written by Excel or pandas? then save them as CSV)"
_NUMBER = re.compile(r"[-+]?\d*\.?\d+")


def separated(file: SourceFile, delimiter: str) -> Iterator[Row]:
    """CSV, or TSV."""
    records = _records(file, delimiter)
    _, written, problem = next(records)
    names, first = [name.strip(" ") for name in written], list(islice(records, _LOOKED_AT))
    if problem:
        raise file.error(problem.code, f"the header cannot be read: {problem.reason}", problem.remedy, 1)
    _check_header(file, names, [values for _, values, _ in first], delimiter)
    quoted = [cell[0] == cell[-1] == '"' for _, values, _ in first for cell in values if '"' in cell]
    if delimiter == "\t" and 2 * sum(quoted) > len(quoted):
        file.warnings[_QUOTED] += 1
    for line, values, problem in chain(first, records):
        if problem is None and values[1:] == written[1:] and values[0].strip('\ufeff" ') == names[0]:
            file.warnings[_REPEATED] += 1
            continue
        if file.layout.outputs:  # offsets of predictions count the blanks
            values = [value.strip(" ") for value in values]
        if problem is None and len(values) != len(names):
            yield file.row(line, {}, Problem(Code.BAD_ROW, f"expected {len(names)} columns, found {len(values)}"))
        else:
            yield file.row(line, dict(zip(names, values, strict=False)), problem)


def _records(file: SourceFile, delimiter: str) -> Iterator[tuple[int, list[str], Problem | None]]:
    """The first line of each record, its cells and what is wrong with it; at least one record.

    Blank lines and rows of empty cells, as Excel leaves them, are none.
    """
    problems: list[Problem] = []
    csv.field_size_limit(MAX_LINE)
    reader = csv.reader(
        _with_ends(file, problems),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL,
        strict=True,
    )
    begin, is_empty = 1, True
    while True:
        try:
            values = next(reader, None)
        except csv.Error as error:
            raise _csv_error(file, str(error), begin) from None
        if values is None:
            break
        line, begin = begin, reader.line_num + 1
        problem = problems[0] if problems else None
        problems.clear()
        if len(values) == 1 or "".join(values).strip() or problem is not None:
            is_empty = False
            yield line, values, problem
    if is_empty:
        raise file.error(Code.EMPTY_FILE, f"0 documents in {begin - 1:,} lines", "write a header and one record a line")


def _with_ends(file: SourceFile, problems: list[Problem]) -> Iterator[str]:
    """The lines as `csv` expects them; the problems of those that it read last are put into the list."""
    for number, text, problem in read_lines(file):
        if problem and problem.code == Code.TOO_LONG:
            raise file.error(Code.TOO_LONG, problem.reason, "a quote before it may be left open", number)
        if problem:
            problems.append(problem)
        yield text + "\n"


def _csv_error(file: SourceFile, message: str, line: int) -> BadData:
    if "field larger" in message:
        problem = f"field larger than {MAX_LINE:,} characters"
        return file.error(Code.TOO_LONG, problem, "is a quote left open?", line)
    if "unexpected end" in message:
        problem = f"quote opened in line {line} never closes"
        return file.error(Code.WRONG_FORMAT, problem, "close it, or double it", line)
    return file.error(Code.WRONG_FORMAT, f"not CSV ({message})", "double a quote inside a quoted field", line)


def _check_header(file: SourceFile, names: list[str], first: Sequence[list[str]], delimiter: str) -> None:
    """Reject a header that is one of other columns, or is the first row.

    Args:
        first: rows after it.
    """
    if names[0].startswith("{"):
        raise file.error(Code.WRONG_FORMAT, "JSON lines, not a table", "name it .jsonl", 1)
    if len(names) == 1 and (other := next((c for c in ";\t," if c != delimiter and c in names[0]), None)):
        name = "tab" if other == "\t" else other
        raise file.error(Code.WRONG_FORMAT, f"one column found; delimiter '{name}'?", "csv has commas, tsv has tabs", 1)
    is_one_cell = not any(names[1:]) and names[0] not in file.columns.values()
    if is_one_cell and len({len(row) for row in first}) == 1 and sum(map(bool, first[0])) > 1:
        line = f"one cell, and {len(first[0])} in each line below it: a title, or the `sep=` of Excel?"
        raise file.error(Code.COLUMNS, line, "take such a line away; in CSV a text with commas needs quotes", 1)
    no_header = file.error(Code.COLUMNS, *NO_HEADER, 1)
    if _is_row(names, first):
        raise no_header
    try:
        _check_columns_differ(names, filter(None, names), f"{file.shown}:1")
        file.check(names)
    except BadData:
        if any(map(is_sentence, names)):
            raise no_header from None
        raise


def _is_row(names: list[str], first: Sequence[list[str]]) -> bool:
    """Whether a column goes on as its name does: with the same value again and again, or numbers below a fraction."""
    if all(name in ("", str(place), str(place - 1)) for place, name in enumerate(names)):
        return False  # numbered, as pandas does
    rows = [row for row in first if len(row) == len(names) and row != names]
    columns = zip(names, zip(*rows, strict=True), strict=False)
    return any(
        name and (values.count(name) > 1 or ("." in name and all(map(_NUMBER.fullmatch, (name, *values)))))
        for name, values in columns
    )


def _check_columns_differ(columns: Sequence[str], read: Iterable[str], place: str) -> None:
    """Reject two columns of one name, where it is read."""
    counts = Counter(columns)
    if (name := next((name for name in read if counts[name] > 1), None)) is not None:
        raise BadData(Code.COLUMNS, place, f"column '{column_names([name])}' twice", "rename one of the two")


def parquet(file: SourceFile) -> Iterator[Row]:
    """Rows of the columns that are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, read = file.path(), list(file.columns.values())
    again = "copy or write the file again"
    try:
        opened = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError):
        with path.open("rb") as raw:
            check_kind(file, raw.read(100), "Parquet")
        problem_of_file = "Parquet footer missing: file truncated, or of another format?"
        raise file.error(Code.DAMAGED_FILE, problem_of_file, f"{again}, or name it after its format") from None
    with opened:
        _check_columns_differ(opened.schema_arrow.names, read, file.shown)
        file.check(opened.schema_arrow.names)
        row = 0
        try:
            for batch in opened.iter_batches(_BATCH, columns=read):
                for values in batch.to_pylist():
                    row += 1
                    yield file.row(row, values)
        except (pa.ArrowException, OSError, ValueError) as error:
            problem_of_file = f"damaged after row {row:,} ({type(error).__name__})"
            raise file.error(Code.DAMAGED_FILE, problem_of_file, again) from None
        if row == 0:
            raise file.error(Code.NOTHING_LEFT, "0 documents in the file", "fill it or take it away")


def parquet_columns(path: Path) -> list[str]:
    """Columns of a file; none of a damaged one, whose error is raised when its rows are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowInvalid, OSError):
        return []
