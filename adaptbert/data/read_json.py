"""Reads JSON as rows or as one document. A repeated key is an error."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from adaptbert.codes import Code
from adaptbert.data.read_text import read_lines, read_text
from adaptbert.data.rows import Problem, Row, SourceFile

_CONVERT = (
    "name its format if it is squad or label_studio; a list becomes lines by pandas.read_json(FILE, dtype=False)"
    '.to_json("NEW.jsonl", orient="records", lines=True, force_ascii=False)'
)
_NO_OBJECT = Problem(Code.BAD_ROW, "not a JSON object")


def document(file: SourceFile) -> Any:
    """A file that is one JSON value, read into memory."""
    try:
        return _parsed(file, read_text(file))
    except json.JSONDecodeError as error:
        remedy = "give the whole file; where each line is an object, the format is jsonl"
        raise file.error(Code.BAD_ROW, f"not JSON ({error.msg})", remedy, error.lineno) from None
    except RecursionError:
        problem = "not JSON that can be read: too deep"
        raise file.error(Code.BAD_ROW, problem, "give the file as it was exported") from None


def records(file: SourceFile) -> Iterator[Row]:
    """JSON lines: an object a line."""
    number = documents = 0
    checked = False
    for number, text, problem in read_lines(file):
        if problem is None and not text.strip():
            continue
        documents += 1
        if problem:
            yield file.row(number, {}, problem)
            continue
        if documents == 1:
            _check_first(file, number, text.strip())
        try:
            content = _parsed(file, text, number)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            yield file.row(number, {}, _NO_OBJECT)
            continue
        if not checked:
            file.check(list(content))
            checked = True
        yield file.row(number, content)
    if not documents:
        raise file.error(Code.EMPTY_FILE, f"0 documents in {number:,} lines", "write one JSON object a line")


def _check_first(file: SourceFile, number: int, text: str) -> None:
    what = "one JSON array" if text.startswith("[") else "an object over several lines" if text == "{" else None
    if what is not None:
        problem = f"{what}; expected one object per line"
        raise file.error(Code.WRONG_FORMAT, problem, _CONVERT, number)


def _parsed(file: SourceFile, text: str, line: int | None = None) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise file.error(Code.COLUMNS, f"key '{twice}' twice", "keep one of the two", line)
        return mapping

    return json.loads(text, object_pairs_hook=unique, strict=False)
