"""Reads exports of Label Studio, JSON or JSON_MIN: choices, ratings and numbers, spans as words with BIO tags.

Both are one list of tasks. The full export has the inputs below `data` and the results below `annotations`, by the name
of the control (`from_name`); the small one has all in one mapping. The target is mapped to the name of its control; if
it is not mapped, there must be one control. Of several annotations of a task the first that was not cancelled is read,
and the rest counted. Relations, and other results without a value, are skipped and counted.

Offsets are those of JavaScript, where a character beyond U+FFFF counts twice; each span has its text, which shows the
unit of its offsets.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.data.layout import Layout
from adaptbert.data.readers.character_spans import CharacterSpan, tagged
from adaptbert.data.readers.records import CheckColumns, Problem, Record, with_labels
from adaptbert.errors import BadData, nearest

_VALUES = ("choices", "rating", "number")
_METADATA = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
"""Keys of a task in the small export that are neither inputs nor annotations."""
_SEVERAL = "annotations beyond the first of a task, not read"
_NO_VALUE = "results without a value (relations), not read"


def records(
    document: Any, shown: str, layout: Layout, columns: Mapping[str, str], check: CheckColumns, warnings: Counter[str]
) -> Iterator[Record]:
    """The line of a record is the number of its task.

    Args:
        columns: field -> column in the file.

    Raises:
        BadData: no control of the name in `columns`; or several controls, and none is mapped.
    """
    if not isinstance(document, list) or not document or not all(isinstance(task, Mapping) for task in document):
        raise BadData(Code.COLUMN_MISSING, shown, "not a list of tasks", "export as JSON or JSON-MIN")
    if not layout.outputs:
        yield from _inputs_only(document, check)
        return
    (output,) = layout.outputs
    is_tagged = layout.is_tagged
    inputs = {columns[name] for name in layout.inputs}
    tasks = [_task(task, inputs, warnings, is_tagged=is_tagged) for task in document]
    control = columns[output]
    if good := [task for task in tasks if task.problem is None]:
        control = _control(good, output, control, shown)
        check(list(dict.fromkeys([*(name for task in good for name in task.data), columns[output]])))
    for number, (data, marks, problem) in enumerate(tasks, 1):
        if problem is not None:
            yield Record(number, data, problem)
        elif is_tagged:
            yield _spans(Record(number, data), marks.get(control, []), shown, columns)
        else:
            yield with_labels(Record(number, data), columns[output], _chosen(marks.get(control), layout), layout)


def looks_like(text: str) -> bool:
    """Whether a file of this format may begin so."""
    return text.startswith("[") and ('"annotations"' in text or '"annotation_id"' in text)


class _Task(NamedTuple):
    """One task of either export.

    Attributes:
        data: the inputs, by name, and its id.
        marks: results by the name of the control; in the small export, all values that may be results.
    """

    data: Mapping[str, Any]
    marks: Mapping[str, Any]
    problem: Problem | None = None


def _inputs_only(document: list[Mapping[str, Any]], check: CheckColumns) -> Iterator[Record]:
    """The inputs without annotations."""
    tasks = [
        {**task["data"], "id": task.get("id")} if isinstance(task.get("data"), Mapping) else task for task in document
    ]
    check(list(dict.fromkeys(name for task in tasks for name in task)))
    for number, task in enumerate(tasks, 1):
        yield Record(number, task)


def _task(task: Mapping[str, Any], inputs: Collection[str], warnings: Counter[str], *, is_tagged: bool) -> _Task:
    if "annotations" not in task:
        others = {name: value for name, value in task.items() if name not in (*inputs, *_METADATA)}
        return _Task(task, {name: value for name, value in others.items() if isinstance(value, list) or not is_tagged})
    try:
        annotations = [
            annotation for annotation in _mappings(task["annotations"]) if not annotation.get("was_cancelled")
        ]
        if not annotations:
            return _Task(task, {}, Problem(Code.LABEL_MISSING, "the task is not annotated"))
        (data,) = _mappings([task.get("data")])
        results = _mappings(annotations[0].get("result"))
    except TypeError:
        return _Task(task, {}, Problem(Code.COLUMN_MISSING, "not a task as Label Studio writes it"))
    if len(annotations) > 1:
        warnings[_SEVERAL] += len(annotations) - 1
    chosen: dict[str, Any] = {}
    spans: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        name, value = str(result.get("from_name")), result.get("value")
        if not isinstance(value, Mapping):
            warnings[_NO_VALUE] += 1
            continue
        kind = next((kind for kind in _VALUES if kind in value), None)
        if "labels" in value:
            spans.setdefault(name, []).append(value)
        elif kind is not None:
            chosen[name] = value[kind]
    return _Task({**data, "id": task.get("id")}, spans if is_tagged else chosen)


def _control(tasks: Iterable[_Task], output: str, mapped: str, shown: str) -> str:
    """The control to read: the mapped one, or the only one if none is mapped."""
    controls = list(dict.fromkeys(name for task in tasks for name in task.marks))
    if mapped in controls or not controls:
        return mapped
    if mapped == output and len(controls) == 1:
        return controls[0]
    problem = f"no control '{mapped}' for {output}; found {', '.join(controls)}{nearest(mapped, controls)}"
    raise BadData(Code.COLUMN_MISSING, shown, problem, f"name one of them, e.g. `columns: {{{output}: {controls[0]}}}`")


def _mappings(items: Any) -> list[Mapping[str, Any]]:
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise TypeError("not a list of mappings")
    return items


def _chosen(value: Any, layout: Layout) -> Any:
    """The chosen label; for the multi-label target a list, empty if nothing was chosen."""
    chosen = value.get("choices") if isinstance(value, Mapping) else value
    if layout.output.cell == "texts":
        return [] if chosen is None else [chosen] if isinstance(chosen, str) else chosen
    return chosen


def _spans(record: Record, marks: Any, shown: str, columns: Mapping[str, str]) -> Record:
    text = record.values.get(columns["tokens"])
    if not isinstance(text, str) or not isinstance(marks, list):
        return record._replace(problem=Problem(Code.COLUMN_MISSING, "no text, or no list of spans"))
    spans: list[CharacterSpan] = []
    for mark in marks:
        span = (
            _span(text, mark) if isinstance(mark, Mapping) else Problem(Code.COLUMN_MISSING, "a span is not a mapping")
        )
        if isinstance(span, Problem):
            return record._replace(problem=span)
        spans.append(span)
    row = tagged(text, spans, f"{shown}[{record.line}]")
    if isinstance(row, Problem):
        return record._replace(problem=row)
    return record._replace(values={**record.values, columns["tokens"]: row[0], columns["tags"]: row[1]})


def _span(text: str, mark: Mapping[str, Any]) -> CharacterSpan | Problem:
    first, end, kinds, shown = mark.get("start"), mark.get("end"), mark.get("labels"), mark.get("text")
    if not isinstance(first, int) or not isinstance(end, int) or not isinstance(kinds, list) or len(kinds) != 1:
        return Problem(Code.COLUMN_MISSING, "a span has no offsets, or not exactly one label")
    if not 0 <= first < end:
        return Problem(Code.OFFSET_OUTSIDE_TEXT, "a span lies outside its text, or is empty")
    if shown is not None and text[first:end] != shown:
        units = text.encode("utf-16-le")
        before, inside = units[: 2 * first], units[2 * first : 2 * end]
        if inside.decode("utf-16-le", "replace") != shown:
            return Problem(Code.ANSWER_NOT_AT_OFFSET, "the text of a span is not at its offset")
        first = len(before.decode("utf-16-le"))
        end = first + len(str(shown))
    return CharacterSpan(first, end, str(kinds[0]))
