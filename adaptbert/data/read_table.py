"""Reads tables: CSV, TSV and Parquet. Nothing is converted: `NA` and `007` stay text; blanks around cells of labelled
rows and around names of columns are left out.

csv: a header, commas, quotes doubled inside quotes. tsv: a header, tabs; cells in quotes where its beginning shows that
a program wrote them so. parquet: the columns that are read. What parts the columns follows from the format
(adaptbert.data.formats), or from the header, as in CSV by Excel in other countries; the key `separator` is of labels.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.data.fields import NO_HEADER, column_names, is_sentence
from adaptbert.data.label_names import ANSWER
from adaptbert.data.read_text import MAX_LINE, Line, check_kind, read_lines
from adaptbert.data.rows import Problem, Row, SourceFile
from adaptbert.errors import BadData

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 64
"""Rows of Parquet that are in memory together: they may be one long value, which is in the file once."""
_MOST_UNPACKED, _MOST_TIMES = 100_000_000, 1000
"""Bytes that a Parquet file may unpack to, and so many for each of its own: text is packed to a tenth."""
_LOOKED_AT = 100
"""Rows by which a missing header is noticed."""
_BEGINNING = 1_000_000
"""Characters by which quotes and another delimiter are noticed."""
_DELIMITERS = ";\t,"
_WRITTEN = r'(?:"[^"]*+(?:""[^"]*+)*+"|[^"\t\n]*+)'
_CELL, _RECORD = re.compile(rf"({_WRITTEN})[\t\n]"), re.compile(rf"(?:{_WRITTEN}\t)*+{_WRITTEN}\n")
"""A cell with its end, and a row, of a TSV by a program that quotes: there a cell with a quote in it is in quotes."""
_PROOF = re.compile(r'""|[\t\n]')
"""What has to be in quotes."""
_REPEATED = "headers that stand again below the first, as where files were joined, not read"
_QUOTED = "TSV files with cells in quotes, which stay as they are (written by Excel or pandas? then save them as CSV)"
_WIDTH = "give each row all columns; a cell with a line break in it needs quotes, best in CSV"
_NUMBER = re.compile(r"[-+]?\d*\.?\d+")


def separated(file: SourceFile, delimiter: str) -> Iterator[Row]:
    """CSV, or TSV."""
    csv.field_size_limit(MAX_LINE)
    lines = read_lines(file)
    beginning, is_cut = _beginning(lines)
    if (found := _delimiter(beginning, delimiter, is_cut=is_cut)) != delimiter:
        file.warnings[f"files whose columns are parted by {found!r}"] += 1
        delimiter = found
    is_quoted = delimiter != "\t" or _is_quoted("".join(f"{line.text}\n" for line in beginning), is_cut=is_cut)
    records = _records(file, chain(beginning, lines), delimiter, is_quoted=is_quoted)
    _, written, problem = next(records)
    names, first = [name.strip(" ") for name in written], list(islice(records, _LOOKED_AT))
    if problem:
        raise file.error(problem.code, f"the header cannot be read: {problem.reason}", problem.remedy, 1)
    _check_header(file, names, [values for _, values, _ in first], delimiter)
    quoted = [cell[0] == cell[-1] == '"' for _, values, _ in first for cell in values if '"' in cell]
    if not is_quoted and 2 * sum(quoted) > len(quoted):
        file.warnings[_QUOTED] += 1
    for line, values, problem in chain(first, records):
        if problem is None and values[1:] == written[1:] and values[0].strip('\ufeff" ') == names[0]:
            file.warnings[_REPEATED] += 1
            continue
        if file.layout.outputs:  # offsets of predictions count the blanks
            values = [value.strip(" ") for value in values]
        if problem is None and len(values) != len(names):
            reason = f"expected {len(names)} columns, found {len(values)}"
            yield file.row(line, {}, Problem(Code.BAD_ROW, reason, _WIDTH))
        else:
            yield file.row(line, dict(zip(names, values, strict=False)), problem)


def _beginning(lines: Iterator[Line]) -> tuple[list[Line], bool]:
    """The first lines, and whether there are more."""
    first, characters = list[Line](), 0
    while characters <= _BEGINNING and (line := next(lines, None)) is not None:
        first.append(line)
        characters += len(line.text) + 1
    return first, characters > _BEGINNING


def _delimiter(lines: Sequence[Line], usual: str, *, is_cut: bool) -> str:
    """What parts the columns: the only sign that parts the header, where more than two thirds of the rows then have its
    columns; the others are bad rows."""
    every = {sign: _widths(lines, sign, is_cut=is_cut) for sign in _DELIMITERS}
    parted = [(sign, widths) for sign, widths in every.items() if widths[0] > 1]
    if len(parted) != 1:
        return usual
    sign, widths = parted[0]
    return sign if 3 * widths.count(widths[0]) > 2 * len(widths) else usual


def _widths(lines: Sequence[Line], sign: str, *, is_cut: bool) -> list[int]:
    """Cells of the header, and of the rows that are looked at, as a sign parts them; not of a last row that is cut."""
    rows = csv.reader((f"{line.text}\n" for line in lines), delimiter=sign)
    with suppress(csv.Error):
        whole = pairwise(chain(rows, [] if is_cut else [[]]))
        return [len(row) for row, _ in islice(whole, _LOOKED_AT + 1) if any(row)] or [0]
    return [0]


def _is_quoted(text: str, *, is_cut: bool) -> bool:
    """Whether the beginning of a TSV is by a program that quotes cells: every quote is where it puts one, some are
    needed, every row has the columns of the header, and no two lines of a row have them by themselves."""
    end = width = 0
    is_proven = False

    def are_rows(lines: str) -> bool:
        return sum(line.count("\t") + 1 == width for line in lines.split("\n")) > 1

    while '"' in text and (record := _RECORD.match(text, end)):
        cells, in_header = _CELL.findall(record[0]), not end
        end, width = record.end(), width or len(cells)
        is_proven |= any(cell[:1] == '"' and (in_header or _PROOF.search(cell[1:-1])) for cell in cells)
        if are_rows(record[0]) or (any(map(str.strip, cells)) and len(cells) != width):
            return False
    rest = text[end:]
    return is_proven and (not rest or (is_cut and not are_rows(rest)))


def _records(
    file: SourceFile, lines: Iterable[Line], delimiter: str, *, is_quoted: bool
) -> Iterator[tuple[int, list[str], Problem | None]]:
    """The first line of each record, its cells and what is wrong with it; at least one record.

    Blank lines and rows of empty cells, as Excel leaves them, are none.
    """
    problems: list[Problem] = []
    reader = csv.reader(
        _with_ends(file, lines, problems),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE,
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


def _with_ends(file: SourceFile, lines: Iterable[Line], problems: list[Problem]) -> Iterator[str]:
    """The lines as `csv` expects them; the problems of those that it read last are put into the list."""
    for number, text, problem in lines:
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
    problem = f"quotes that are not CSV ({message})"
    return file.error(Code.WRONG_FORMAT, problem, "double a quote inside a quoted field", line)


def _check_header(file: SourceFile, names: list[str], first: Sequence[list[str]], delimiter: str) -> None:
    """Reject a header that is one of other columns, or is the first row.

    Args:
        first: rows after it.
    """
    if names[0].startswith("{"):
        raise file.error(Code.WRONG_FORMAT, "JSON lines, not a table", "name it .jsonl", 1)
    if len(names) == 1 and (other := next((sign for sign in _DELIMITERS if sign in names[0]), None)):
        name = "tab" if other == "\t" else other
        remedy = f"give each row the columns that '{name}' gives the header, or write commas (tsv: tabs) in place of it"
        raise file.error(Code.WRONG_FORMAT, f"one column found; delimiter '{name}'?", remedy, 1)
    is_one_cell = not any(names[1:]) and names[0] not in file.columns.values()
    if is_one_cell and len({len(row) for row in first}) == 1 and sum(map(bool, first[0])) > 1:
        line = f"one cell, and {len(first[0])} in each line below it: a title, or the `sep=` of Excel?"
        raise file.error(Code.COLUMNS, line, "take such a line away; in CSV a text with commas needs quotes", 1)
    named = "; where it has one, name the column of its text" if file.of_command else ""
    no_header = file.error(Code.COLUMNS, NO_HEADER[0], f"{NO_HEADER[1]}{named}", 1)
    known = {name.lower() for name in file.columns.values()}
    if _is_row(names, first) and known.isdisjoint(map(str.lower, names)):  # a column may be called after a value
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

    path, again = file.source, "copy or write the file again"
    assert isinstance(path, Path), "a stream is made of lines"
    try:
        opened = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError):
        with path.open("rb") as raw:
            check_kind(file, raw.read(100), "Parquet")
        problem_of_file = "Parquet footer missing: file truncated, or of another format?"
        raise file.error(Code.DAMAGED_FILE, problem_of_file, f"{again}, or name it after its format") from None
    with opened:
        names, asked = opened.schema_arrow.names, {*file.columns.values()}
        asked |= {ANSWER} if file.layout.outputs else set()
        read = [name for name in names if name in asked or not file.columns]
        _check_columns_differ(names, read, file.shown)
        file.check(names)
        packed, groups = path.stat().st_size, map(opened.metadata.row_group, range(opened.num_row_groups))
        row, unpacked = 0, sum(group.total_byte_size for group in groups)
        most = max(_MOST_UNPACKED, _MOST_TIMES * packed)
        try:
            batches = opened.iter_batches(_BATCH, columns=read)
            while unpacked <= most and (batch := next(batches, None)) is not None:
                for cells in zip(*(_cells(file, batch, name) for name in read), strict=True):
                    row, values = row + 1, dict(zip(read, cells, strict=True))
                    yield file.row(row, values)
                    unpacked += sum(len(str(value)) for value in values.values())
        except (pa.ArrowException, OSError, ValueError) as error:
            problem_of_file = f"damaged after row {row:,} ({type(error).__name__})"
            raise file.error(Code.DAMAGED_FILE, problem_of_file, again) from None
        if unpacked > most:
            problem_of_file = f"more than {most:,} characters of text in {packed:,} bytes"
            raise file.error(Code.TOO_LONG, problem_of_file, "take out rows that repeat a text")
        if row == 0:
            raise file.error(Code.NOTHING_LEFT, "0 documents in the file", "fill it or take it away")


def _cells(file: SourceFile, batch: "pa.RecordBatch", column: str) -> list[Any]:
    try:
        return list(batch.column(column).to_pylist())
    except OverflowError:  # a database may write a time without an end as the last that it knows
        problem = f"column '{column_names([column])}' has a time before the year 1 or after 9999"
        raise file.error(Code.COLUMNS, problem, "write it as text, or take the column out") from None
