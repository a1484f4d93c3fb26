"""Reads JSON as rows or as one document. A repeated key is an error."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from adaptbert.codes import Code
from adaptbert.data.readers.lines import read_lines, read_text
from adaptbert.data.readers.records import Problem, Row, SourceFile
from adaptbert.errors import BadData

_NO_OBJECT = Problem(Code.BAD_ROW, "not a JSON object")


def document(file: SourceFile) -> Any:
    """A file that is one JSON value, read into memory."""
    try:
        return _parsed(read_text(file))
    except _KeyTwice as twice:
        raise _twice(file, twice) from None
    except json.JSONDecodeError as error:
        remedy = "give the whole file, or format: jsonl"
        raise file.error(Code.BAD_ROW, f"not JSON ({error.msg})", remedy, error.lineno) from None
    except RecursionError:
        problem = "not JSON that can be read: too deep"
        raise file.error(Code.BAD_ROW, problem, "give the file as it was exported") from None


def lines(file: SourceFile) -> Iterator[Row]:
    """JSON lines: an object a line."""
    number = documents = 0
    checked = False
    pending: Row | None = None  # a line that is not JSON, until the next line shows that it is not cut
    for number, text, problem in read_lines(file):
        if pending:
            yield pending
            pending = None
        if problem is None and not text.strip():
            continue
        if not documents and problem is None:
            _check_first(file, number, text.strip())
        documents += 1
        if problem:
            yield file.row(number, {}, problem)
            continue
        try:
            content = _parsed(text)
        except _KeyTwice as twice:
            raise _twice(file, twice, number) from None
        except (ValueError, RecursionError):
            pending = file.row(number, {}, _NO_OBJECT)
            continue
        if not isinstance(content, dict):
            yield file.row(number, {}, _NO_OBJECT)
            continue
        if not checked:
            file.check(list(content))
            checked = True
        yield file.row(number, content)
    if pending:
        yield pending._replace(problem=Problem(Code.BAD_ROW, "last line is not a JSON object: file truncated?"))
    if not documents:
        raise file.error(Code.EMPTY_FILE, f"0 documents in {number:,} lines", "write one JSON object a line")


def _check_first(file: SourceFile, number: int, text: str) -> None:
    what = "one JSON array" if text.startswith("[") else "an object over several lines" if text == "{" else None
    if what is not None:
        problem = f"{what}; expected one object per line"
        raise file.error(Code.WRONG_FORMAT, problem, "write JSON lines, or name the format", number)


class _KeyTwice(Exception):
    pass


def _twice(file: SourceFile, twice: _KeyTwice, line: int | None = None) -> BadData:
    return file.error(Code.COLUMNS, f"key '{twice}' twice", "keep one of the two", line)


def _parsed(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique, strict=False)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise _KeyTwice(next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1))
    return mapping
