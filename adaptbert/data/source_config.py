"""What the keys of a corpus or a task mean for its files, and which of them a kind of row has."""

from collections.abc import Iterator

from adaptbert.config.schema.section import Contradiction, contradiction
from adaptbert.config.schema.sources import Source, Task
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.readers import encodings, replacing
from adaptbert.data.readers.fields import Labelling
from adaptbert.data.readers.spec import FORMATS

NOT_OF = {"installed_docs": ("columns", "encoding", "format", "replace"), "hub": ("columns", "encoding", "format")}
"""Source -> keys that it does not take."""
DEMONSTRATIONS = (("single_sentence", "class"), ("sequence_labelling", "spans"))
"""Shapes and targets of the sets that are made from a list of installed packages."""
OF_SOME_TARGETS = ("tag_scheme", "repair_tags", "no_answer", "range", "positive", "separator", "labels", "map_labels")
"""Keys that belong to some targets; `TargetSpec.takes` says to which."""


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
    return Layout(source.shape, source.target) if isinstance(source, Task) else CORPUS


def labelling_of(task: Task) -> Labelling:
    """How labels stand in the files."""
    return Labelling(task.separator, task.map_labels or {}, task.labels)


def contradictions(source: Source) -> Iterator[Contradiction]:
    """Fields that a row of this kind does not have, and keys that do not apply to it or to where it comes from."""
    layout = layout_of(source)
    for key in NOT_OF.get(source.source, ()):
        if getattr(source, key) is not None:
            is_elsewhere = key == "columns" and source.source == "hub"
            remedy = "name them in the YAML file at `path`" if is_elsewhere else "leave it out"
            yield contradiction(f"source '{source.source}' takes no '{key}'", remedy)
    if source.encoding is not None and (problem := encodings.problem(source.encoding)):
        yield contradiction(problem, encodings.remedy())
    if problem := replacing.problem(source.replace):
        yield contradiction(problem, "mend the regular expression")
    yield from _fields(source, layout)
    if isinstance(source, Task):
        yield from _of_target(source, layout)
        yield from _demonstration(source) if source.source == "installed_docs" else _splits(source)


def _fields(source: Source, layout: Layout) -> Iterator[Contradiction]:
    is_marked = layout.is_tagged and has_character_marks(source)
    fields = ("text", *layout.outputs) if is_marked else layout.fields
    known = ("id", *(() if layout.is_corpus else ("group",)), *fields)
    for name in source.columns or {}:
        if name not in known:
            remedy = f"`columns` maps a field to a column of the file; fields are {', '.join(known)}"
            yield contradiction(f"columns: '{name}' is not a field of a {layout.name}", remedy)
    if source.replace is not None and layout.aligned:
        problem = f"shape '{layout.name}' takes no 'replace': {layout.aligned} must stay aligned"
        yield contradiction(problem, "leave it out")
    if layout.is_corpus and source.format is not None and FORMATS[source.format].is_labelled:
        *most, last = (name for name, spec in FORMATS.items() if not spec.is_labelled)
        yield contradiction(f"format '{source.format}' is for labelled sets", f"write {', '.join(most)} or {last}")


def _of_target(task: Task, layout: Layout) -> Iterator[Contradiction]:
    target, marks = layout.output, has_character_marks(task)
    for key in OF_SOME_TARGETS:
        value = task.span_scheme if key == "tag_scheme" else getattr(task, key)
        if value is not None and key not in target.takes:
            yield contradiction(f"type '{task.type}' takes no '{key}'", "leave it out")
        if value is None and key in target.needs and not (key == "tag_scheme" and marks):
            yield contradiction(f"type '{task.type}' needs '{key}'", "add it")
    if marks and task.tag_scheme not in (None, "bio"):
        problem = f"format '{task.format}' marks characters: tag_scheme is bio, not {task.tag_scheme}"
        yield contradiction(problem, "leave tag_scheme out")


def _demonstration(task: Task) -> Iterator[Contradiction]:
    source = f"source '{task.source}'"
    if not task.train == task.dev == task.test:
        yield contradiction(f"{source} makes its splits from one list", "name it for train, dev and test")
    if (task.shape, task.target) not in DEMONSTRATIONS:
        problem = f"{source} has no set of type '{task.type}'"
        yield contradiction(problem, "it has text-classification, and token-classification with spans")
    if task.rows is None:
        yield contradiction(f"{source} needs 'rows'", "add {train: ..., dev: ..., test: ...}")
    for key in ("labels", "map_labels", "split"):
        if getattr(task, key) is not None:
            yield contradiction(f"{source} has {key} of its own", f"leave '{key}' out")


def _splits(task: Task) -> Iterator[Contradiction]:
    """DVC needs a path for every split; that of train means that the split is cut off it."""
    if task.rows is not None:
        yield contradiction(f"source '{task.source}' takes no 'rows'", "see `labels` of finetune for fewer rows")
    if task.source != "files":
        return
    cut = task.split.shares() if task.split is not None else {}
    for name in ("dev", "test"):
        same = getattr(task, name) == task.train
        if same and name not in cut:
            yield contradiction(f"train and {name} name the same file", f"`split: {{{name}: 0.1}}` cuts it")
        if not same and name in cut:
            yield contradiction(f"split.{name} cuts {name} off train, but {name} names a file of its own")
    if task.dev == task.test != task.train:
        yield contradiction("dev and test name the same file", "give each a file of its own")
