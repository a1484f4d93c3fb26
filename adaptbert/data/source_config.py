"""What the keys of a corpus or a task mean for its files, and which of them a kind of row has."""

from collections.abc import Iterator

from adaptbert.config.schema.section import Contradiction
from adaptbert.config.schema.sources import Source, Task
from adaptbert.config.schema.task_types import TARGETS
from adaptbert.data.fields import pattern_problem
from adaptbert.data.formats import FORMATS
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.read_text import OTHER_ENCODING, encoding_problem

_OF_SOME_TARGETS = dict.fromkeys(key for target in TARGETS.values() for key in target.takes)
"""Keys that belong to some targets, in the order of their messages."""


def has_character_marks(source: Source) -> bool:
    """Whether the format marks characters of a text."""
    return source.format is not None and FORMATS[source.format].marks_characters


def names(source: Source, layout: Layout) -> dict[str, str]:
    """Field -> column of the file, for mapped fields; in formats that mark characters, `tokens` has the column of
    `text`."""
    columns = dict(source.columns or {})
    is_marked = layout.is_tagged and has_character_marks(source)
    return {"tokens": columns.pop("text", "text"), **columns} if is_marked else columns


def layout_of(source: Source) -> Layout:
    """The columns of a row."""
    return Layout(source.spec.task_type, source.target) if isinstance(source, Task) else CORPUS


def contradictions(source: Source) -> Iterator[Contradiction]:
    """Fields that a row of this kind does not have, and keys that do not apply to it or to where it comes from."""
    layout = layout_of(source)
    if source.encoding is not None and (problem := encoding_problem(source.encoding)):
        yield Contradiction(problem, OTHER_ENCODING)
    if problem := pattern_problem(source.replace):
        yield Contradiction(problem, "mend the regular expression")
    yield from _fields(source, layout)
    if isinstance(source, Task):
        yield from _of_target(source, layout)
        yield from _splits(source)


def _fields(source: Source, layout: Layout) -> Iterator[Contradiction]:
    is_marked = layout.is_tagged and has_character_marks(source)
    fields = ("text", *layout.outputs) if is_marked else layout.fields
    known = ("id", *(() if layout.is_corpus else ("group",)), *fields)
    for name in source.columns or {}:
        if name not in known:
            remedy = f"`columns` maps a field to a column of the file; fields are {', '.join(known)}"
            kind = layout.task_type or "corpus"
            yield Contradiction(f"columns: '{name}' is not a field of a {kind}", remedy)
    if source.replace is not None and layout.rows.aligned:
        problem = f"shape '{layout.task_type}' takes no 'replace': {layout.rows.aligned} must stay aligned"
        yield Contradiction(problem, "leave it out")
    if layout.is_corpus and source.format is not None and FORMATS[source.format].is_labelled:
        *most, last = (name for name, spec in FORMATS.items() if not spec.is_labelled)
        yield Contradiction(f"format '{source.format}' is for labelled sets", f"write {', '.join(most)} or {last}")


def _of_target(task: Task, layout: Layout) -> Iterator[Contradiction]:
    target, marks = layout.output, has_character_marks(task)
    for key in _OF_SOME_TARGETS:
        value = task.span_scheme if key == "tag_scheme" else getattr(task, key)
        if value is not None and key not in target.takes:
            yield Contradiction(f"type '{task.type}' takes no '{key}'", "leave it out")
        if value is None and key in target.needs and not (key == "tag_scheme" and marks):
            yield Contradiction(f"type '{task.type}' needs '{key}'", "add it")
    if marks and task.tag_scheme not in (None, "bio"):
        problem = f"format '{task.format}' marks characters: tag_scheme is bio, not {task.tag_scheme}"
        yield Contradiction(problem, "leave tag_scheme out")


def _splits(task: Task) -> Iterator[Contradiction]:
    """DVC needs a path for every split; that of train means that the split is cut off it."""
    cut = task.split.shares() if task.split is not None else {}
    for name in ("dev", "test"):
        same = getattr(task, name) == task.train
        if same and name not in cut:
            yield Contradiction(f"train and {name} name the same file", f"`split: {{{name}: 0.1}}` cuts it")
        if not same and name in cut:
            yield Contradiction(f"split.{name} cuts {name} off train, but {name} names a file of its own")
    if task.dev == task.test != task.train:
        yield Contradiction("dev and test name the same file", "give each a file of its own")
