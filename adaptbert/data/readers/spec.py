"""The registry of file formats: name, contents, reader and recognition of each.

A new format is a file beside this one with its reader, its name in `Format`, and an entry of `FORMATS`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal

from adaptbert.base.task_types import TaskType
from adaptbert.data.layout import Layout
from adaptbert.data.readers import conll, doccano, json_files, label_studio, squad, tables
from adaptbert.data.readers.lines import Line, read_lines
from adaptbert.data.readers.records import CheckColumns, Record

Format = Literal["txt", "csv", "tsv", "jsonl", "parquet", "conll", "squad", "doccano", "label_studio"]


@dataclass(frozen=True)
class ReadRequest:
    """A file, and what to read from it.

    Attributes:
        source: a file; or a stream, of a format that is made of lines.
        shown: the name for messages.
        stem: prefix of the names of parts that the file only numbers, such as documents.
        encoding: of text; None: UTF-8.
        layout: of the rows; its `outputs` are the fields of labels: `label`, `labels`, `value`, `tags`. `predict` asks
            for inputs only, so there are none. It can be of a task type that the format does not have: `check` refuses
            it.
        columns: field -> column in the file (Parquet reads no others). `tokens` has the column of the text where the
            format marks characters; `predict` may have `text`.
        check: called with the columns as soon as they are known.
        warnings: counts of repairs and omissions; added to.
    """

    source: Path | BufferedReader
    shown: str
    stem: str
    encoding: str | None
    layout: Layout
    columns: Mapping[str, str]
    check: CheckColumns
    warnings: Counter[str]

    def lines(self) -> Iterator[Line]:
        return read_lines(self.source, self.shown, self.encoding, self.warnings)

    def path(self) -> Path:
        """The path of a source that is not a stream."""
        assert isinstance(self.source, Path)
        return self.source

    def document(self) -> Any:
        """The one JSON value of the file."""
        return json_files.document(self.path(), self.shown, self.encoding, self.warnings)


@dataclass(frozen=True)
class FormatSpec:
    """One format.

    Attributes:
        read: yields every record of a file, under the names that columns have there. First it calls `check` with
            these names. `Record(line, values, problem)` and `with_labels`, which gives a record its label or labels,
            are in `readers.records`. A row that cannot be read has a `Problem(Code..., reason)`; a file that cannot be
            read raises `adaptbert.errors.BadData`. Formats made of lines read `ReadRequest.lines()`: a line is (number,
            text, problem), the text without its end, blank lines included; that of a line with a problem is
            incomplete. `json_files.lines` makes such lines records of JSON objects.
        suffixes: of the names of its files, without `.gz`; empty: the format must be declared.
        made_of: `lines`, which may be a stream; one `document`, which is read into memory; or typed `columns`, which
            can be read one by one.
        title: its name in messages.
        task_type: the only one whose rows it can have; None: any.
        is_labelled: whether it is for labelled sets only.
        marks_characters: whether spans are character spans, so that the words of the text become the tokens:
            `tagged(text, spans, place)` of `readers.character_spans` gives words and tags, or a problem, for
            `CharacterSpan(first, end, kind)`; the words replace the text. `predict` wants the text itself. Such a
            format has no suffix, because `columns` means something else where it is declared.
        looks_like: whether the beginning of a file looks like this format; its last line may be cut. None: it cannot
            be recognised.
    """

    read: Callable[[ReadRequest], Iterator[Record]]
    suffixes: tuple[str, ...] = ()
    made_of: Literal["lines", "document", "columns"] = "lines"
    title: str = ""
    task_type: TaskType | None = None
    is_labelled: bool = False
    marks_characters: bool = False
    looks_like: Callable[[str], bool] | None = None

    def holds(self, task_type: TaskType) -> bool:
        """Whether it can have rows of the task type."""
        return self.task_type in (None, task_type)


FORMATS: Mapping[Format, FormatSpec] = {
    "txt": FormatSpec(lambda file: tables.txt(file.lines(), file.shown, file.layout, file.check), (".txt",)),
    "csv": FormatSpec(lambda file: tables.separated(file.lines(), file.shown, file.check, tabs=False), (".csv",)),
    "tsv": FormatSpec(lambda file: tables.separated(file.lines(), file.shown, file.check, tabs=True), (".tsv",)),
    "jsonl": FormatSpec(
        lambda file: json_files.lines(file.lines(), file.shown, file.check), (".jsonl", ".ndjson", ".json")
    ),
    "parquet": FormatSpec(
        lambda file: tables.parquet(file.path(), file.shown, list(file.columns.values()), file.check),
        (".parquet",),
        made_of="columns",
    ),
    "conll": FormatSpec(
        lambda file: conll.records(file.lines(), file.shown, file.stem, file.columns, file.check),
        (".conll",),
        title="CoNLL",
        task_type="sequence_labelling",
        is_labelled=True,
        looks_like=conll.looks_like,
    ),
    "squad": FormatSpec(
        lambda file: squad.records(file.document(), file.shown, file.check, file.warnings),
        made_of="document",
        title="SQuAD or CMRC",
        task_type="extractive_answer",
        is_labelled=True,
        looks_like=squad.looks_like,
    ),
    "doccano": FormatSpec(
        lambda file: doccano.records(file.lines(), file.shown, file.layout, file.columns, file.check),
        title="doccano",
        is_labelled=True,
        marks_characters=True,
        looks_like=doccano.looks_like,
    ),
    "label_studio": FormatSpec(
        lambda file: label_studio.records(
            file.document(), file.shown, file.layout, file.columns, file.check, file.warnings
        ),
        made_of="document",
        title="Label Studio",
        is_labelled=True,
        marks_characters=True,
        looks_like=label_studio.looks_like,
    ),
}

SUFFIXES: Mapping[str, Format] = {suffix: name for name, spec in FORMATS.items() for suffix in spec.suffixes}


def format_of(path: Path, declared: Format | None = None) -> Format | None:
    """The declared format; otherwise by the name without `.gz`."""
    return declared or SUFFIXES.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def known_suffixes() -> str:
    """For messages."""
    return ", ".join(suffix.removeprefix(".") for suffix in SUFFIXES)
