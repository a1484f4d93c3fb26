"""Reads doccano's JSON lines: labels of texts, and character spans as words with BIO tags.

`{"id": 1, "text": ..., "label": ["good"]}` or `"label": [[0, 5, "PER"]]`; the key may also be `labels`, or `entities`
with {start_offset, end_offset, label}, as in newer exports and those with relations.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from adaptbert.codes import Code
from adaptbert.data.layout import Layout
from adaptbert.data.readers import json_files
from adaptbert.data.readers.character_spans import CharacterSpan, tagged
from adaptbert.data.readers.lines import Line
from adaptbert.data.readers.records import CheckColumns, Problem, Record, with_labels

KEYS = ("label", "labels", "entities")


def records(
    lines: Iterator[Line], shown: str, layout: Layout, columns: Mapping[str, str], check: CheckColumns
) -> Iterator[Record]:
    """Each line under the names of the mapping.

    Args:
        columns: field -> column in the file; an output that is not mapped is read from one of KEYS.
    """
    if not layout.outputs:
        yield from json_files.lines(lines, shown, check)
        return
    (output,) = layout.outputs
    column = columns[output]
    keys = (column, *KEYS) if column == output else (column,)

    def check_renamed(names: list[str]) -> None:
        marks = next((key for key in keys if key in names), column)
        check([column if name == marks else name for name in names])

    for record in json_files.lines(lines, shown, check_renamed):
        if record.problem:
            yield record
            continue
        values = dict(record.values)
        marks = next((values[key] for key in keys if key in values), None)
        if not layout.is_tagged:
            yield with_labels(record, column, marks, layout)
            continue
        text = values.get(columns["tokens"])
        spans = _spans(marks)
        if not isinstance(text, str) or spans is None:
            yield record._replace(
                problem=Problem(Code.COLUMN_MISSING, "no text, or no spans of the form [first, end, label]")
            )
            continue
        row = tagged(text, spans, f"{shown}:{record.line}")
        if isinstance(row, Problem):
            yield record._replace(problem=row)
        else:
            yield record._replace(values=values | {columns["tokens"]: row[0], column: row[1]})


def looks_like(text: str) -> bool:
    """Whether a file of this format may begin so: texts with labels or spans in lists."""
    try:
        first = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "text" in first and any(isinstance(first.get(key), list) for key in KEYS)


def _spans(marks: Any) -> list[CharacterSpan] | None:
    """None where `marks` are not spans."""
    if not isinstance(marks, list):
        return None
    spans = []
    for mark in marks:
        if isinstance(mark, Mapping):
            first, end, kind = mark.get("start_offset"), mark.get("end_offset"), mark.get("label")
        elif isinstance(mark, list) and len(mark) == 3:
            first, end, kind = mark
        else:
            return None
        if not isinstance(first, int) or not isinstance(end, int) or not isinstance(kind, str) or not kind:
            return None
        spans.append(CharacterSpan(first, end, kind))
    return spans
