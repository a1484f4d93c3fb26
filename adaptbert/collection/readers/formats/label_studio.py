"""Exports of Label Studio, JSON or JSON_MIN -> records: choices, ratings and numbers, spans as words with BIO tags.

Both are one list of tasks. In the full export the inputs stand below `data` and what was annotated below `annotations`,
by the name of its control (`from_name`); in the small one all stand side by side. What is to be found is mapped to the
name of its control; where none is mapped, the only one that there is is taken. Of several annotations of a task the
first that was not cancelled is taken, and the rest counted. Relations, and what else has no value, say nothing of the
text and are left out, counted.

Offsets are those of JavaScript, where a character beyond U+FFFF counts twice; each span carries its text, by which
both ways of counting are told apart.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.collection.readers.character_spans import CharacterSpan, tagged
from adaptbert.collection.readers.formats.doccano import labelled
from adaptbert.collection.readers.records import CheckColumns, Problem, Record
from adaptbert.errors import BadData, nearest
from adaptbert.rows.layout import Layout

_VALUES = ("choices", "rating", "number")
_BOOKS = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
"""What the small export says of a task beside its inputs and annotations."""
_SEVERAL = "annotations beyond the first of a task, not read"
_NO_VALUE = "results without a value (relations), not read"


def records(
    document: Any, shown: str, layout: Layout, columns: Mapping[str, str], check: CheckColumns, warnings: Counter[str]
) -> Iterator[Record]:
    """The line of a record is the number of its task.

    Args:
        columns: our fields and what they are called in the file.

    Raises:
        BadData: no control of the name in `columns`; or several, and none is named.
    """
    if not isinstance(document, list) or not document or not all(isinstance(task, Mapping) for task in document):
        raise BadData(Code.COLUMN_MISSING, shown, "not a list of tasks", "export as JSON or JSON-MIN")
    if not layout.outputs:
        yield from _asked(document, check)
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
            yield labelled(Record(number, data), columns[output], _chosen(marks.get(control), layout), layout)


def looks_like(text: str) -> bool:
    """Whether a file may begin so."""
    return text.startswith("[") and ('"annotations"' in text or '"annotation_id"' in text)


class _Task(NamedTuple):
    """What a task says, in both exports.

    Attributes:
        data: the inputs, by name, and its id.
        marks: what was annotated, by the name of the control; in the small export all that it may be.
    """

    data: Mapping[str, Any]
    marks: Mapping[str, Any]
    problem: Problem | None = None


def _asked(document: list[Mapping[str, Any]], check: CheckColumns) -> Iterator[Record]:
    """The inputs alone, whoever annotated them."""
    tasks = [
        {**task["data"], "id": task.get("id")} if isinstance(task.get("data"), Mapping) else task for task in document
    ]
    check(list(dict.fromkeys(name for task in tasks for name in task)))
    for number, task in enumerate(tasks, 1):
        yield Record(number, task)


def _task(task: Mapping[str, Any], inputs: Collection[str], warnings: Counter[str], *, is_tagged: bool) -> _Task:
    if "annotations" not in task:
        others = {name: value for name, value in task.items() if name not in (*inputs, *_BOOKS)}
        return _Task(task, {name: value for name, value in others.items() if isinstance(value, list) or not is_tagged})
    try:
        annotations = [found for found in _mappings(task["annotations"]) if not found.get("was_cancelled")]
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


def _control(tasks: Iterable[_Task], output: str, wanted: str, shown: str) -> str:
    """The control that is read: the one that is named, or the only one where none is."""
    found = list(dict.fromkeys(name for task in tasks for name in task.marks))
    if wanted in found or not found:
        return wanted
    if wanted == output and len(found) == 1:
        return found[0]
    problem = f"no control '{wanted}' for {output}; found {', '.join(found)}{nearest(wanted, found)}"
    raise BadData(Code.COLUMN_MISSING, shown, problem, f"name one of them, e.g. `columns: {{{output}: {found[0]}}}`")


def _mappings(found: Any) -> list[Mapping[str, Any]]:
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise TypeError("not a list of mappings")
    return found


def _chosen(value: Any, layout: Layout) -> Any:
    """What was chosen, as a list where it may be several; nothing chosen is no label."""
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
        found = (
            _span(text, mark) if isinstance(mark, Mapping) else Problem(Code.COLUMN_MISSING, "a span is not a mapping")
        )
        if isinstance(found, Problem):
            return record._replace(problem=found)
        spans.append(found)
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
