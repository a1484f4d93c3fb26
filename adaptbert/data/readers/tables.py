"""Reads lines of text, CSV and TSV.

txt: a document a line; a blank line is skipped in a corpus, and is a row among rows to predict. csv: a header, commas,
quotes doubled inside quotes. tsv: a header, tabs, no quoting. Nothing is converted: `NA` and `007` stay text.
"""

import csv
from collections.abc import Iterator

from adaptbert.codes import Code
from adaptbert.data.readers.encodings import REMEDY
from adaptbert.data.readers.lines import MAX_LINE, read_lines
from adaptbert.data.readers.records import Problem, Row, SourceFile, check_columns_differ
from adaptbert.errors import BadData


def txt(file: SourceFile) -> Iterator[Row]:
    """A text a line."""
    file.check(["text"])
    number = documents = 0
    for number, text, problem in read_lines(file):
        has_text = problem is not None or bool(text.strip())
        documents += has_text
        if has_text or not file.layout.is_corpus:
            yield file.row(number, {"text": text}, problem)
    if not documents:
        raise file.error(Code.EMPTY_FILE, f"0 documents in {number:,} lines", "write one document a line")


def separated(file: SourceFile, delimiter: str) -> Iterator[Row]:
    """CSV, or TSV."""
    problems: list[Problem] = []
    csv.field_size_limit(MAX_LINE)
    reader = csv.reader(
        _with_ends(file, problems),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL,
        strict=True,
    )
    header: list[str] | None = None
    begin = 1
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
        if not values and problem is None:
            continue  # a blank line
        if header is None:
            header = values
            _check_header(file, header, problem, delimiter)
        elif problem is None and len(values) != len(header):
            problem = Problem(Code.BAD_ROW, f"expected {len(header)} columns, found {len(values)}")
            yield file.row(line, {}, problem)
        else:
            yield file.row(line, dict(zip(header, values, strict=False)), problem)
    if header is None:
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
        return file.error(
            Code.WRONG_FORMAT, f"quote opened in line {line} never closes", "close it, or double it", line
        )
    return file.error(Code.WRONG_FORMAT, f"not CSV ({message})", "double a quote inside a quoted field", line)


def _check_header(file: SourceFile, header: list[str], problem: Problem | None, delimiter: str) -> None:
    if problem:
        raise file.error(problem.code, f"the header cannot be read: {problem.reason}", REMEDY, 1)
    check_columns_differ(header, filter(None, header), f"{file.shown}:1")
    if len(header) == 1 and (other := next((c for c in ";\t," if c != delimiter and c in header[0]), None)):
        name = "tab" if other == "\t" else other
        raise file.error(Code.WRONG_FORMAT, f"one column found; delimiter '{name}'?", "csv has commas, tsv has tabs", 1)
    file.check(header)
