"""Reads exports of doccano: JSON lines, `{"id": 1, "text": ..., "label": ["good"]}` or `"label": [[0, 5, "PER"]]`.

The key may also be `labels`, or `entities` with {start_offset, end_offset, label}, as in newer exports and those with
relations. Spans of Prodigy, {start, end, label}, are read where their column is mapped.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from adaptbert.codes import Code
from adaptbert.data import read_json
from adaptbert.data.character_spans import annotated
from adaptbert.data.rows import BadRow, Row, SourceFile
from adaptbert.data.tag_schemes import Span

_KEYS = ("label", "labels", "entities")


def records(file: SourceFile) -> Iterator[Row]:
    """Each line under the names of the mapping; an output that is not mapped is read from one of several keys."""
    if not file.layout.outputs:
        yield from read_json.records(file)
        return
    (output,) = file.layout.outputs
    column = file.columns[output]
    keys = (column, *_KEYS) if column == output else (column,)

    def check_renamed(names: list[str]) -> None:
        marks = next((key for key in keys if key in names), column)
        file.check([column if name == marks else name for name in names])

    for row in read_json.records(replace(file, check=check_renamed)):
        marks = next((row.values[key] for key in keys if key in row.values), None)
        yield row if row.problem else annotated(file, row, marks, _span)


def looks_like(text: str) -> bool:
    """Whether a file of this format may begin so: texts with labels or spans in lists."""
    try:
        first = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "text" in first and any(isinstance(first.get(key), list) for key in _KEYS)


def _span(text: str, mark: Any) -> Span:
    if isinstance(mark, Mapping):
        mark = [*(mark.get(f"{end}_offset", mark.get(end)) for end in ("start", "end")), mark.get("label")]
    match mark:
        case [int(first), int(end), str(kind)] if kind:
            return first, end, kind
    raise BadRow(Code.COLUMNS, "a span is not of the form [first, end, label]")
