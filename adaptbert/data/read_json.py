"""Reads JSON as rows or as one document. A repeated key is an error."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from shlex import quote
from typing import Any

from adaptbert.codes import Code
from adaptbert.data.fields import word_count
from adaptbert.data.read_text import read_lines, read_text
from adaptbert.data.rows import Problem, Row, SourceFile

_CONVERT = (
    "name its format if it is squad or label_studio; a list or columns become lines by "
    'pandas.read_json(FILE, dtype=False).to_json("NEW.jsonl", orient="records", lines=True, force_ascii=False)'
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
    lines = (line for line in read_lines(file) if line.problem or line.text.strip())
    first = list(islice(lines, 2))
    if not first:
        raise file.error(Code.EMPTY_FILE, "0 documents: only blank lines", "write one JSON object a line")
    checked = False
    for number, text, problem in chain(first, lines):
        if problem:
            yield file.row(number, {}, problem)
            continue
        if number == first[0].number:
            _check_first(file, number, text.strip())
        try:
            content = _parsed(file, text, number)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            yield file.row(number, {}, _NO_OBJECT)
            continue
        if len(first) == 1 and (shape := _in_place_of_rows(content, file.columns)):
            raise file.error(Code.WRONG_FORMAT, *shape)
        if not checked:
            file.check(list(content))
            checked = True
        yield file.row(number, content)


def _in_place_of_rows(content: Mapping[str, Any], columns: Mapping[str, str]) -> tuple[str, str] | None:
    """What a file of one object holds in place of a row with any of the columns, and how to make rows of it."""
    tokens = content.get(columns.get("tokens", "tokens"))
    is_tagged = isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)
    if is_tagged or any(isinstance(content.get(name), str) for name in columns.values()):
        return None
    for key, value in content.items():
        items = value if isinstance(value, list) else []
        are_pairs = all(isinstance(item, list) and [*map(type, item)] == [str, str] for item in items)
        if items and (are_pairs or all(isinstance(item, dict) for item in items)):
            rows = f".[{json.dumps(key, ensure_ascii=False)}][]{' | {text: .[0], label: .[1]}' if are_pairs else ''}"
            remedy = f"name its format if it is squad; else: jq -c {quote(rows)} FILE > NEW.jsonl"
            return f"its rows lie below '{key}'{', as pairs' if are_pairs else ''}", remedy
    lists = [[*value.values()] if isinstance(value, dict) else value for value in content.values()]
    are_lists = all(isinstance(column, list) for column in lists)
    if are_lists and any(isinstance(cell, str) and word_count(cell) >= 3 for cell in chain(*lists)):
        return "one object of columns; expected one object per line", _CONVERT
    return None


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
