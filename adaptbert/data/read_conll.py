"""Reads CoNLL columns: one row a sentence.

A token a line, its columns separated by tabs or by spaces, as in the first line of the file; a blank line ends a
sentence, a line that begins with -DOCSTART- a document. The token is the first column and the tag the last (2 columns:
token and tag; 4: CoNLL-2003's part of speech and chunk between them). A column of the mapping is a number counted from
1; where tags are not read, one column suffices. `document` names the document by file and number, and can be mapped as
a group.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from adaptbert.codes import Code
from adaptbert.data.read_text import Line, read_lines
from adaptbert.data.rows import Problem, Row, SourceFile

BREAK = "-DOCSTART-"
_LINES = 200
_ALIKE = 0.75
"""Share of the first lines that must have the most common number of columns to look like this format."""
_SPACES = re.compile(" +")


def records(file: SourceFile) -> Iterator[Row]:
    """A sentence with an invalid line is one row with a problem. Documents are numbered from 1 in every file."""
    width, tabs = 0, False
    sentences = document = 0
    for sentence in _sentences(read_lines(file)):
        if sentence[0].text.startswith(BREAK) and sentence[0].problem is None:
            document += 1
            sentence = sentence[1:]
            if not sentence:
                continue
        if not sentences:
            tabs = "\t" in sentence[0].text
            width = len(_cells(sentence[0].text, tabs=tabs))
            _check(file, width, sentence[0].number)
        sentences += 1
        rows = [_cells(line.text, tabs=tabs) for line in sentence]
        problem = next((line.problem for line in sentence if line.problem), None)
        if problem is None and (odd := next((len(row) for row in rows if len(row) != width), None)):
            problem = Problem(Code.BAD_ROW, f"expected {width} columns, found {odd}")
        values: dict[str, Any] = {"document": f"{file.stem}-{document}"}
        if problem is None:
            columns = [list(column) for column in zip(*rows, strict=True)]
            values |= {str(place): column for place, column in enumerate(columns, 1)}
            values |= {"tokens": columns[0], "tags": columns[-1]}
        yield file.row(sentence[0].number, values, problem)
    if not sentences:
        remedy = "write a token and its tag a line, and a blank line after a sentence"
        raise file.error(Code.EMPTY_FILE, "0 sentences", remedy)


def looks_like(text: str) -> bool:
    """Whether a file of this format may begin so: blank lines, and lines of mostly the same number of columns."""
    if text.startswith(("[", "{")):
        return False
    lines = [line.strip() for line in text.splitlines()[:_LINES] if not line.startswith(BREAK)]
    widths = Counter(len(line.split("\t" if "\t" in line else None)) for line in lines if line)
    (width, count), *_ = widths.most_common(1) or [(0, 0)]
    return width > 1 and count > _ALIKE * widths.total() and "" in lines


def _sentences(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Runs of lines that are not blank; a document begins a new run."""
    run: list[Line] = []
    for line in lines:
        blank = line.problem is None and not line.text.strip()
        if run and (blank or line.text.startswith(BREAK)):
            yield run
            run = []
        if not blank:
            run.append(line)
    if run:
        yield run


def _cells(text: str, *, tabs: bool) -> list[str]:
    return text.split("\t") if tabs else _SPACES.split(text.strip(" "))


def _check(file: SourceFile, width: int, line: int) -> None:
    if width < 2 and "tags" in file.columns:
        problem = "one column found, a token and its tag expected"
        raise file.error(Code.BAD_ROW, problem, "put a tab or a space between token and tag", line)
    known = [*(str(place + 1) for place in range(width)), "document", "tokens", "tags"]
    mapped = list(file.columns.values())
    file.check(mapped if set(mapped) <= set(known) else known)  # columns that are not read are no warning
