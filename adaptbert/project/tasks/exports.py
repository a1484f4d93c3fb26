"""Exports of labelling tools, whose labels lie inside of other values: doccano and Label Studio."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from adaptbert.base.task_types import Target, TaskType
from adaptbert.codes import Code
from adaptbert.errors import BadData
from adaptbert.project.tasks.sight import Sight

TOOLS = ("doccano", "label_studio")
_OF_KIND: Mapping[str, tuple[TaskType, Target]] = {
    "labels": ("sequence_labelling", "spans"),
    "choices": ("single_sentence", "class"),
    "taxonomy": ("single_sentence", "labels"),
    "rating": ("single_sentence", "number"),
    "number": ("single_sentence", "number"),
}
"""What a control of Label Studio writes -> task type and target."""
_METADATA = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")


class Exported:
    """What an export holds.

    Attributes:
        shape, target: of the task.
        columns: field -> name in the file, where they differ.
        shown: what was seen, for the user.
        first: the first row.
    """

    def __init__(self, sight: Sight, columns: Mapping[str, str], target: Target | None) -> None:
        self._sight, self._columns = sight, columns
        if sight.format == "doccano":
            self.shape: TaskType = "sequence_labelling"
            self.target: Target = "spans"
            self.columns = dict(columns)
            kinds = Counter(kind for row in sight.rows for kind in _span_types(row))
            self.shown = f"character spans: {', '.join(f'{name} ({count:,})' for name, count in kinds.most_common(6))}"
            self.first: Mapping[str, Any] = sight.rows[0]
            return
        controls = _controls(sight)
        control = self._control(controls)
        kind, most = controls[control]
        self.shape, self.target = _OF_KIND[kind]
        if kind == "choices" and most > 1:
            self.target = "labels"
        if target is not None:
            self.target = target
        text = self._text()
        output = {"spans": "tags", "labels": "labels", "number": "value"}.get(self.target, "label")
        self.columns = {**({"text": text} if text != "text" else {}), output: control}
        self.shown = f"control '{control}' ({kind})"
        self.first = {"text": _data(sight.rows[0]).get(text), control: "..."}

    def _control(self, controls: Mapping[str, tuple[str, int]]) -> str:
        named = next(
            (self._columns[name] for name in ("label", "labels", "value", "tags") if name in self._columns), None
        )
        if named in controls:
            return str(named)
        if not controls:
            raise BadData(Code.SPLIT_WITHOUT_LABELS, self._sight.path, "no task is annotated", "annotate some first")
        if named is None and len(controls) == 1:
            return next(iter(controls))
        problem = f"{'no control ' + repr(named) if named else 'several controls'}: {', '.join(controls)}"
        remedy = f"name the one to learn: --columns label={next(iter(controls))}"
        raise BadData(Code.UNCLEAR_FILE, self._sight.path, problem, remedy)

    def _text(self) -> str:
        """The input, by the user or as the only text."""
        if "text" in self._columns:
            return self._columns["text"]
        data = _data(self._sight.rows[0])
        texts = [name for name, value in data.items() if isinstance(value, str) and name not in _METADATA]
        if "text" in texts or len(texts) == 1:
            return "text" if "text" in texts else texts[0]
        problem = f"which of {', '.join(data)} is the text?"
        raise BadData(Code.UNCLEAR_FILE, self._sight.path, problem, "name it: --columns text=NAME")


def _span_types(row: Mapping[str, Any]) -> Iterator[str]:
    marks: list[Any] = next((row[key] for key in ("label", "labels", "entities") if isinstance(row.get(key), list)), [])
    for mark in marks:
        yield str(mark.get("label") if isinstance(mark, Mapping) else mark[-1])


def _data(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """The inputs of a task; in JSON-MIN they stand beside its results."""
    data = task.get("data")
    if isinstance(data, Mapping):
        return data
    return {name: value for name, value in task.items() if not isinstance(value, list | Mapping)}


def _controls(sight: Sight) -> dict[str, tuple[str, int]]:
    """Name of a control -> its kind, and the most choices of a task."""
    controls: dict[str, tuple[str, int]] = {}
    for task in sight.rows:
        for name, kind, count in _results(task):
            controls[name] = (kind, max(count, controls.get(name, (kind, 0))[1]))
    return controls


def _results(task: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    annotations = task.get("annotations")
    if not isinstance(annotations, list):
        yield from _results_of_min(task)
        return
    for annotation in annotations:
        for result in annotation.get("result", []) if isinstance(annotation, Mapping) else []:
            value = result.get("value") if isinstance(result, Mapping) else None
            if not isinstance(value, Mapping):
                continue
            kind = next((each for each in _OF_KIND if each in value), None)
            if kind is not None:
                yield str(result.get("from_name")), kind, len(value[kind]) if kind == "choices" else 1


def _results_of_min(task: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Lists of spans and mappings of choices are results; a single choice or number looks like an input."""
    for name, value in task.items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping) and "start" in value[0]:
            yield name, "labels", 1
        elif isinstance(value, Mapping) and isinstance(value.get("choices"), list):
            yield name, "choices", len(value["choices"])
        elif name not in (*_METADATA, "text") and isinstance(value, str) and len(value) < 40:
            yield name, "choices", 1
        elif name not in _METADATA and isinstance(value, int | float):
            yield name, "number", 1
