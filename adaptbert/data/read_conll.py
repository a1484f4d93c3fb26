"""Reads CoNLL columns: one row a sentence.

A token a line, its columns separated by tabs or by spaces, as in the first line of the file; tabs behind the last one
are none, and a token may be a blank where a tab or one space follows it. A blank line ends a sentence; a document
begins with a line -DOCSTART-, `# newdoc` or `#begin document (`. Lines `#...` above a sentence are comments where they
have other columns than its tokens, or a lone `#` first as every sentence has: `#` may be a token. The token is the
first column, or the second where the first numbers them as in CoNLL-U, and the tag the last (2 columns: token and tag;
4: CoNLL-2003's part of speech and chunk between them); of the ten of CoNLL-U it has to be mapped. A column of the
mapping is a number counted from 1; where tags are not read, one column suffices. `document` names the document by file
and number; it is the group of its sentences.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise, takewhile
from typing import Any

from adaptbert.codes import Code
from adaptbert.data.read_text import Line, read_lines
from adaptbert.data.rows import Problem, Row, SourceFile

BREAK = "-DOCSTART-"
_DOCUMENT = (BREAK, "# newdoc", "#begin document (")
"""What a document begins with."""
_HASH, _LONE_HASH = "#", ("# ", "#\t")
"""What begins a comment, a token as `#tag`, and the token `#`."""
_LINES = 200
"""Lines by which the format is recognised; sentences by which comments and odd blank lines are."""
_FEW = 10
"""Sentences, of which each may be one token."""
_ALIKE = 0.75
"""Share of the first lines that must have the most common number of columns to look like this format, and of the first
sentences that must begin with a comment, or number their tokens."""
_NO_TOKEN = re.compile(r"\d+[-.]\d+")
"""The number of a word that is several tokens (`1-2`), or of a token that is not in the text (`5.1`)."""
_SPACES = re.compile(" +")
_ALL_COLUMNS = "give each line as many columns as the first one has"
_OF_CONLL_U = 10
"""Columns, if the first is the number of a token."""
_MAP_ONE = """map one: `columns: {tags: "4"}` (parts of speech), or 5 (of its language), 8 (relations), 10 (MISC)"""


@dataclass(frozen=True)
class _Dialect:
    """How a file is written, as its first sentences show it.

    Attributes:
        tabs: whether they part the columns, and not spaces.
        width: columns of a token.
        begins_with_comments: whether every sentence begins with a lone `#`, which may else be a token.
        is_numbered: whether the first column numbers the tokens, as in CoNLL-U.
    """

    tabs: bool = False
    width: int = 1
    begins_with_comments: bool = False
    is_numbered: bool = False

    @classmethod
    def of(cls, first: list[list[Line]]) -> "_Dialect":
        """The dialect of these runs of lines, from which heads of documents are left out."""
        lines = [line for run in first for line in run]
        line = next((line.text for is_hash in (_is_hash, _is_lone) for line in lines if not is_hash(line)), "")
        tabs = "\t" in line
        width, bare = (len(_cells(text, tabs=tabs)) for text in (line, line.rstrip(" \t")))
        tokens = (each.text.rstrip(" \t") for each in lines if not _is_hash(each))
        if tabs and bare > 1 and all(len(_cells(text, tabs=tabs)) <= bare for text in tokens):
            width = bare  # a tab stands behind the last column
        dialect = cls(tabs, width, len(first) > 1 and _most(_is_lone(run[0]) for run in first))
        numbers = [[dialect.cells(line)[0] for line in dialect.without_comments(run)] for run in first]
        of_tokens = [[number for number in run if not _NO_TOKEN.fullmatch(number)] for run in numbers]
        counted = (run == [str(number + 1) for number in range(len(run))] for run in of_tokens)
        is_numbered = dialect.width > 2 and any(len(run) > 1 for run in of_tokens) and _most(counted)
        return replace(dialect, is_numbered=is_numbered)

    @property
    def is_conll_u(self) -> bool:
        """Whether no column is the tags unless it is mapped."""
        return self.is_numbered and self.width == _OF_CONLL_U

    def cells(self, line: Line) -> list[str]:
        cells = _cells(line.text, tabs=self.tabs)
        if self.tabs:
            return cells[: self.width] + [cell for cell in cells[self.width :] if cell]
        is_blank = line.text.startswith("  ") and len(line.text.rstrip(" ").split(" ")) == self.width + 1
        return [" ", *cells] if is_blank and len(cells) == self.width - 1 else cells

    def misfit(self, line: Line) -> Problem:
        """What is wrong with a line of other columns."""
        theirs, ours = ("blanks", "tabs") if self.tabs else ("tabs", "blanks")
        if len(line.text.split(None if self.tabs else "\t")) == self.width:
            reason = f"columns parted by {theirs}, and those of the first line by {ours}"
            return Problem(Code.BAD_ROW, reason, f"part the columns of every line by {ours}")
        return Problem(Code.BAD_ROW, f"expected {self.width} columns, found {len(self.cells(line))}", _ALL_COLUMNS)

    def without_comments(self, run: list[Line]) -> list[Line]:
        """The run from its first token on; what stands above a comment is one."""
        above = list(takewhile(_is_hash, run))
        others = [number for number, line in enumerate(above, 1) if len(self.cells(line)) != self.width]
        return run[max([int(self.begins_with_comments and any(map(_is_lone, above[:1]))), *others]) :]

    def tokens(self, run: list[Line]) -> list[Line]:
        """Lines without words that are several tokens, or that are not in the text."""
        lines = self.without_comments(run)
        return [line for line in lines if not (self.is_numbered and _NO_TOKEN.fullmatch(self.cells(line)[0]))]


def records(file: SourceFile) -> Iterator[Row]:
    """A sentence with an invalid line is one row with a problem. Documents are numbered from 1 in every file."""
    runs = _sentences(read_lines(file))
    first = list(islice(runs, _LINES))
    _check_gaps(file, first)
    bodies = [run[1:] if run[0].text.startswith(BREAK) else run for run in first]
    dialect = _Dialect.of([body for body in bodies if body])
    sentences = document = left_out = 0
    for run in chain(first, runs):
        document += any(line.text.startswith(_DOCUMENT) and line.problem is None for line in run)
        if run[0].text.startswith(BREAK) and run[0].problem is None:
            run = run[1:]
        sentence = dialect.tokens(run)
        left_out += len(run) - len(sentence)
        if not sentence:
            continue
        if not sentences:
            _check(file, dialect, sentence[0].number)
        sentences += 1
        rows = [dialect.cells(line) for line in sentence]
        problem = next((line.problem for line in sentence if line.problem), None)
        odd = next((line for line, row in zip(sentence, rows, strict=True) if len(row) != dialect.width), None)
        problem = problem or (dialect.misfit(odd) if odd is not None else None)
        values: dict[str, Any] = {"document": f"{file.stem}-{document}"}
        if problem is None:
            columns = [list(column) for column in zip(*rows, strict=True)]
            values |= {str(place): column for place, column in enumerate(columns, 1)}
            values |= {"tokens": columns[dialect.is_numbered]}
            values |= {} if dialect.is_conll_u else {"tags": columns[-1]}
        yield file.row(sentence[0].number, values, problem)._replace(group=values["document"] if document else None)
    if left_out:
        file.warnings["lines of comments and of words in several tokens, not read"] += left_out
    if not sentences:
        remedy = "write a token and its tag a line, and a blank line after a sentence"
        raise file.error(Code.EMPTY_FILE, "0 sentences", remedy)


def looks_like(text: str) -> bool:
    """Whether a file of this format may begin so: blank lines, and lines of mostly the same number of columns."""
    if text.startswith(("[", "{")):
        return False
    lines = [line.strip() for line in text.splitlines()[:_LINES] if not line.startswith((BREAK, _HASH))]
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


def _check_gaps(file: SourceFile, runs: list[list[Line]]) -> None:
    """Reject a file with a blank line after every line: each token would be a sentence."""
    gaps = {after[0].number - before[-1].number for before, after in pairwise(runs)}
    if len(gaps) > 1 and len(runs) > _FEW and all(len(run) == 1 for run in runs):
        problem, remedy = "a blank line after every line", "write one only where a sentence ends"
        raise file.error(Code.BAD_ROW, problem, remedy, runs[0][0].number)


def _cells(text: str, *, tabs: bool) -> list[str]:
    return text.rstrip(" ").split("\t") if tabs else _SPACES.split(text.strip(" "))


def _most(cases: Iterable[bool]) -> bool:
    every = list(cases)
    return sum(every) > _ALIKE * len(every)


def _is_hash(line: Line) -> bool:
    return line.text.startswith(_HASH)


def _is_lone(line: Line) -> bool:
    return line.text.startswith(_LONE_HASH)


def _check(file: SourceFile, dialect: _Dialect, line: int) -> None:
    if dialect.width < 2 and "tags" in file.columns:
        problem = "one column found, a token and its tag expected"
        raise file.error(Code.BAD_ROW, problem, "put a tab or a space between token and tag", line)
    if dialect.is_conll_u and file.columns.get("tags") == "tags":
        raise file.error(Code.COLUMNS, "CoNLL-U has several columns of tags", _MAP_ONE, line)
    names = ["document", "tokens"] if dialect.is_conll_u else ["document", "tokens", "tags"]
    known = [*(str(place + 1) for place in range(dialect.width)), *names]
    mapped = list(file.columns.values())
    file.check(mapped if set(mapped) <= set(known) else known)  # columns that are not read are no warning
