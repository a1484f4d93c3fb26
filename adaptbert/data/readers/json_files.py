"""Reads JSON as records or as one document. A repeated key is an error."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.data.readers.lines import Line, read_text
from adaptbert.data.readers.records import CheckColumns, Problem, Record
from adaptbert.errors import BadData


def document(path: Path, shown: str, encoding: str | None, warnings: Counter[str]) -> Any:
    """A file that is one JSON value, read into memory."""
    try:
        return json.loads(read_text(path, shown, encoding, warnings), object_pairs_hook=_unique, strict=False)
    except _KeyTwice as error:
        raise BadData(Code.COLUMN_TWICE, shown, f"key '{error}' twice", "keep one of the two") from None
    except json.JSONDecodeError as error:
        place, reason = f"{shown}:{error.lineno}", f"not JSON ({error.msg})"
        raise BadData(Code.BAD_JSON, place, reason, "give the whole file, or format: jsonl") from None
    except RecursionError:
        problem = "not JSON that can be read: too deep"
        raise BadData(Code.BAD_JSON, shown, problem, "give the file as it was exported") from None


class _KeyTwice(Exception):
    pass


def lines(lines: Iterator[Line], shown: str, check: CheckColumns) -> Iterator[Record]:
    """JSON lines: an object a line."""
    number = documents = 0
    checked = False
    pending: Record | None = (
        None  # the last line that is not JSON, until the next line shows that it is not the last of the file
    )
    for number, text, problem in lines:
        if pending:
            yield pending
            pending = None
        if problem:
            documents += 1
            yield Record(number, {}, problem)
            continue
        if not text.strip():
            continue
        if not documents and text.lstrip().startswith("["):
            raise BadData(
                Code.JSON_NOT_IN_LINES,
                f"{shown}:{number}",
                "one JSON array; expected one object per line",
                "write JSON lines, or name the format",
            )
        if not documents and text.strip() == "{":
            reason = "an object over several lines; expected one object per line"
            raise BadData(Code.JSON_NOT_IN_LINES, f"{shown}:{number}", reason, "write JSON lines, or name the format")
        documents += 1
        try:
            content = json.loads(text, object_pairs_hook=_unique, strict=False)
        except _KeyTwice as error:
            remedy = "keep one of the two"
            raise BadData(Code.COLUMN_TWICE, f"{shown}:{number}", f"key '{error}' twice", remedy) from None
        except (ValueError, RecursionError):
            pending = Record(number, {}, Problem(Code.BAD_JSON, "not a JSON object"))
            continue
        if not isinstance(content, dict):
            yield Record(number, {}, Problem(Code.BAD_JSON, "not a JSON object"))
            continue
        if not checked:
            check(list(content))
            checked = True
        yield Record(number, content)
    if pending:
        yield pending._replace(problem=Problem(Code.BAD_JSON, "last line is not a JSON object: file truncated?"))
    if not documents:
        raise BadData(Code.NO_ROWS, shown, f"0 documents in {number:,} lines", "write one JSON object a line")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise _KeyTwice(next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1))
    return mapping
