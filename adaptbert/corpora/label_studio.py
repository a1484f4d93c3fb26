"""Exports of Label Studio, JSON or JSON_MIN -> records: choices, ratings and numbers, spans as words with BIO tags.

Both are one list of tasks. In the full export the inputs stand below `data` and what was annotated below `annotations`,
by the name of its control (`from_name`); in the small one all stand side by side. Columns of the mapping are these
names. Of several annotations of a task the first that was not cancelled is taken, and the rest counted. Relations, and
what else has no value, say nothing of the text and are left out, counted.

Offsets are those of JavaScript, where a character beyond U+FFFF counts twice; each span carries its text, by which
both ways of counting are told apart.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from adaptbert.corpora.character_spans import CharacterSpan, tagged
from adaptbert.corpora.doccano import labelled
from adaptbert.corpora.rows import Problem, Record
from adaptbert.errors import BadData
from adaptbert.layout import Layout

_VALUES = ("choices", "rating", "number")
_SEVERAL = "annotations beyond the first of a task, not read"
_NO_VALUE = "results without a value (relations), not read"


def records(
    document: Any, shown: str, layout: Layout, columns: Mapping[str, str], warnings: Counter[str]
) -> Iterator[Record]:
    """The line of a record is the number of its task.

    Args:
        columns: our fields and what they are called in the file.
    """
    if not isinstance(document, list) or not document or not all(isinstance(task, Mapping) for task in document):
        raise BadData(56, shown, "not a list of tasks", "export as JSON or JSON-MIN")
    (output,) = layout.outputs
    for number, task in enumerate(document, 1):
        record = Record(number, task)
        try:
            values = _flat(task, warnings) if "annotations" in task else dict(task)
        except TypeError:
            yield record._replace(problem=Problem(56, "not a task as Label Studio writes it"))
            continue
        if values is None:
            yield record._replace(problem=Problem(62, "the task is not annotated"))
        elif layout.shape == "sequence_labelling":
            yield _spans(Record(number, values), shown, columns)
        else:
            marks = _chosen(values.get(columns[output]), layout)
            yield labelled(Record(number, values), columns[output], marks, layout)


def _flat(task: Mapping[str, Any], warnings: Counter[str]) -> dict[str, Any] | None:
    """A task of the full export as the small one would write it; None where nobody annotated it.

    Raises:
        TypeError: it is of another form.
    """
    annotations = [found for found in _mappings(task["annotations"]) if not found.get("was_cancelled")]
    if not annotations:
        return None
    if len(annotations) > 1:
        warnings[_SEVERAL] += len(annotations) - 1
    (data,) = _mappings([task.get("data")])
    chosen: dict[str, Any] = {}
    spans: dict[str, list[Mapping[str, Any]]] = {}
    for result in _mappings(annotations[0].get("result")):
        name, value = str(result.get("from_name")), result.get("value")
        if not isinstance(value, Mapping):
            warnings[_NO_VALUE] += 1
            continue
        kind = next((kind for kind in _VALUES if kind in value), None)
        if "labels" in value:
            spans.setdefault(name, []).append(value)
        elif kind is not None:
            chosen[name] = value[kind]
    return {**data, **chosen, **spans, "id": task.get("id")}


def _mappings(found: Any) -> list[Mapping[str, Any]]:
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise TypeError("not a list of mappings")
    return found


def _chosen(value: Any, layout: Layout) -> Any:
    """What was chosen, as a list where it may be several; nothing chosen is no label."""
    chosen = value.get("choices") if isinstance(value, Mapping) else value
    if layout.target == "labels":
        return [] if chosen is None else [chosen] if isinstance(chosen, str) else chosen
    return chosen


def _spans(record: Record, shown: str, columns: Mapping[str, str]) -> Record:
    values = record.values
    text = values.get(columns["tokens"], values.get("text"))
    marks = values.get(columns["tags"], values.get("label", []))
    if not isinstance(text, str) or not isinstance(marks, list):
        return record._replace(problem=Problem(56, "no text, or no list of spans"))
    spans: list[CharacterSpan] = []
    for mark in marks:
        found = _span(text, mark) if isinstance(mark, Mapping) else Problem(56, "a span is not a mapping")
        if isinstance(found, Problem):
            return record._replace(problem=found)
        spans.append(found)
    row = tagged(text, spans, f"{shown}[{record.line}]")
    if isinstance(row, Problem):
        return record._replace(problem=row)
    return record._replace(values={**values, columns["tokens"]: row[0], columns["tags"]: row[1]})


def _span(text: str, mark: Mapping[str, Any]) -> CharacterSpan | Problem:
    first, end, kinds, shown = mark.get("start"), mark.get("end"), mark.get("labels"), mark.get("text")
    if not isinstance(first, int) or not isinstance(end, int) or not isinstance(kinds, list) or len(kinds) != 1:
        return Problem(56, "a span has no offsets, or not exactly one label")
    if not 0 <= first < end:
        return Problem(83, "a span lies outside its text, or is empty")
    if shown is not None and text[first:end] != shown:
        units = text.encode("utf-16-le")
        before, inside = units[: 2 * first], units[2 * first : 2 * end]
        if inside.decode("utf-16-le", "replace") != shown:
            return Problem(81, "the text of a span is not at its offset")
        first = len(before.decode("utf-16-le"))
        end = first + len(str(shown))
    return CharacterSpan(first, end, str(kinds[0]))
