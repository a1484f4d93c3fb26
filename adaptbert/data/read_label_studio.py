"""Reads exports of Label Studio: one list of tasks, JSON or JSON_MIN, with choices, ratings, numbers or spans.

The full export has the inputs below `data` and the results below `annotations`, by the name of the control
(`from_name`); the small one has all in one mapping. The target is mapped to the name of its control; if it is not
mapped, there must be one control. Of several annotations of a task the one that is marked as the truth is read, else
the first that was not skipped, and the rest counted; so are relations, and other results without a value. Offsets may
be those of JavaScript, where a character beyond U+FFFF counts twice, and may count CR LF once; each span has its text,
which shows what its offsets count.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from adaptbert.codes import Code
from adaptbert.data import read_json
from adaptbert.data.character_spans import annotated
from adaptbert.data.layout import Layout
from adaptbert.data.rows import BadRow, Row, SourceFile
from adaptbert.data.tag_schemes import Span
from adaptbert.errors import nearest

_VALUES = ("choices", "rating", "number")
_METADATA = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
"""Keys of a task in the small export that are neither inputs nor annotations."""
_SEVERAL = "annotations beyond the first of a task, not read"
_NO_VALUE = "results without a value (relations), not read"


def records(file: SourceFile) -> Iterator[Row]:
    """The line of a row is the number of its task.

    Raises:
        BadData: no control of the name in `columns`; or several controls, and none is mapped.
    """
    document = read_json.document(file)
    if not isinstance(document, list) or not document or not all(isinstance(task, Mapping) for task in document):
        raise file.error(Code.COLUMNS, "not a list of tasks", "export as JSON or JSON-MIN")
    tasks = [_task(file, number, task) for number, task in enumerate(document, 1)]
    good = [(row, marks) for row, marks in tasks if row.problem is None]
    output = [file.columns[name] for name in file.layout.outputs]
    control = _control(file, [marks for _, marks in good]) if good and output else ""
    if good:
        file.check(list(dict.fromkeys([*(name for row, _ in good for name in row.values), *output])))
    for row, marks in tasks:
        if row.problem or not output:
            yield row
        else:
            spans = marks.get(control, []) if file.layout.is_tagged else _chosen(marks.get(control), file.layout)
            text = row.values.get(file.columns[file.layout.inputs[0]])
            yield annotated(file, row, spans, partial(_span, _places(text, spans)))


def looks_like(text: str) -> bool:
    """Whether a file of this format may begin so."""
    return text.startswith("[") and ('"annotations"' in text or '"annotation_id"' in text)


def _task(file: SourceFile, number: int, task: Mapping[str, Any]) -> tuple[Row, Mapping[str, Any]]:
    """The inputs of a task of either export with its id, and its results by the name of the control; of the small
    export, all values that may be results."""
    row, is_tagged = partial(file.row, number), file.layout.is_tagged
    if not file.layout.outputs:
        has_data = isinstance(task.get("data"), Mapping)
        return row({**task["data"], "id": task.get("id")} if has_data else task), {}
    if "annotations" not in task:
        known = {*(file.columns[name] for name in file.layout.inputs), *_METADATA}
        others = {name: value for name, value in task.items() if name not in known}
        return row(task), {name: value for name, value in others.items() if isinstance(value, list) or not is_tagged}
    try:
        annotations = [each for each in _mappings(task["annotations"]) if not each.get("was_cancelled")]
        annotations.sort(key=lambda each: not each.get("ground_truth"))
        if not annotations:
            raise BadRow(Code.LEFT_OUT, "a task that is skipped or not annotated")
        (data,) = _mappings([task.get("data")])
        results = _mappings(annotations[0].get("result"))
    except BadRow as bad:
        return row(task, bad.problem), {}
    if len(annotations) > 1:
        file.warnings[_SEVERAL] += len(annotations) - 1
    marks: dict[str, Any] = {}
    for result in results:
        name, value = str(result.get("from_name")), result.get("value")
        if not isinstance(value, Mapping):
            file.warnings[_NO_VALUE] += 1
        elif any(key.endswith("labels") for key in value):  # those of HTML and of pictures have no offsets in a text
            if is_tagged:
                marks.setdefault(name, []).append(value)
        elif not is_tagged and (kind := next((kind for kind in _VALUES if kind in value), None)):
            marks[name] = value[kind]
    return row({**data, "id": task.get("id")}), marks


def _control(file: SourceFile, marks: Iterable[Mapping[str, Any]]) -> str:
    """The control to read: the mapped one, or the only one if none is mapped."""
    (output,) = file.layout.outputs
    mapped, controls = file.columns[output], list(dict.fromkeys(name for each in marks for name in each))
    if mapped in controls or not controls:
        return mapped
    if mapped == output and len(controls) == 1:
        return controls[0]
    problem = f"no control '{mapped}' for {output}; found {', '.join(controls)}{nearest(mapped, controls)}"
    raise file.error(Code.COLUMNS, problem, f"name one of them, e.g. `columns: {{{output}: {controls[0]}}}`")


def _chosen(value: Any, layout: Layout) -> Any:
    """The chosen label; for several labels a list, empty if nothing was chosen."""
    chosen = value.get("choices") if isinstance(value, Mapping) else value
    if layout.output.cell == "texts":
        return [] if chosen is None else [chosen] if isinstance(chosen, str) else chosen
    return chosen


def _mappings(items: Any) -> list[Mapping[str, Any]]:
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise BadRow(Code.COLUMNS, "not a task as Label Studio writes it")
    return items


def _places(text: Any, marks: Any) -> Sequence[int]:
    """Where each offset lies in the text, by the first way of counting by which spans hold the texts that they name."""
    if not isinstance(text, str) or not isinstance(marks, list):
        return ()
    named = [mark for mark in marks if isinstance(mark, Mapping) and mark.get("text") is not None]
    by_code_points = range(len(text) + 1)
    ways = chain([by_code_points], (_counted(text, unit, wide) for unit in (".", "\r\n|.") for wide in (2, 1)))
    return next((places for places in ways if all(_holds(text, places, mark) for mark in named)), by_code_points)


def _counted(text: str, unit: str, wide: int) -> list[int]:
    """Where each unit begins, and the end; characters beyond U+FFFF are `wide` units."""
    begins = [(each.start(), each[0] > "\uffff") for each in re.finditer(unit, text, re.DOTALL)]
    return [place for place, is_wide in begins for _ in range(wide if is_wide else 1)] + [len(text)]


def _holds(text: str, places: Sequence[int], mark: Mapping[str, Any]) -> bool:
    first, end = mark.get("start"), mark.get("end")
    if not isinstance(first, int) or not isinstance(end, int) or not 0 <= first < end < len(places):
        return False
    return _one_end(text[places[first] : places[end]]) == _one_end(str(mark.get("text")))


def _one_end(text: str) -> str:
    return text.replace("\r\n", "\n")


def _span(places: Sequence[int], text: str, mark: Any) -> Span:
    values = mark if isinstance(mark, Mapping) else {}
    first, end, kinds = (values.get(name) for name in ("start", "end", "labels"))
    if not isinstance(first, int) or not isinstance(end, int) or not isinstance(kinds, list) or len(kinds) != 1:
        raise BadRow(Code.COLUMNS, "a span is not of `labels` with offsets in the text, or has not exactly one")
    if not 0 <= first < end < len(places):
        raise BadRow(Code.OFFSETS, "a span lies outside its text, or is empty")
    if values.get("text") is not None and not _holds(text, places, values):
        raise BadRow(Code.OFFSETS, "the text of a span is not at its offset")
    return places[first], places[end], str(kinds[0])
