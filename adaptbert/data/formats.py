"""The registry of file formats: name, contents, reader and recognition of each.

A new format is a file `read_<format>.py` with its reader, its name in `Format` of the schema, and an entry here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from adaptbert.config.schema.sources import Format
from adaptbert.config.schema.task_types import TaskType
from adaptbert.data import read_conll, read_doccano, read_json, read_label_studio, read_squad, read_table, read_text
from adaptbert.data.rows import Row, SourceFile


@dataclass(frozen=True)
class FormatSpec:
    """One format.

    Attributes:
        read: yields every row of a file, under the names that columns have there, after it has called
            `SourceFile.check` with these. A row that cannot be read has a `Problem`; a file that cannot be read raises
            `BadData`. Helpers: `read_text.read_lines`, `read_json.document`.
        suffixes: of the names of its files, without `.gz`; empty: the format must be declared.
        made_of: `lines`, which may be a stream; one `document`, which is read into memory; or typed `columns`, which
            can be read one by one.
        title: its name in messages.
        task_type: the only one whose rows it can have; None: any.
        is_labelled: whether it is for labelled sets only.
        marks_characters: whether spans are character spans, so that the words of the text become the tokens and
            replace the text. `predict` wants the text itself. Such a format has no suffix, because `columns` means
            something else where it is declared.
        looks_like: whether the beginning of a file looks like this format; its last line may be cut. None: it cannot
            be recognised.
    """

    read: Callable[[SourceFile], Iterator[Row]]
    suffixes: tuple[str, ...] = ()
    made_of: Literal["lines", "document", "columns"] = "lines"
    title: str = ""
    task_type: TaskType | None = None
    is_labelled: bool = False
    marks_characters: bool = False
    looks_like: Callable[[str], bool] | None = None


FORMATS: Mapping[Format, FormatSpec] = {
    "txt": FormatSpec(read_text.records, (".txt",)),
    "csv": FormatSpec(partial(read_table.separated, delimiter=","), (".csv",)),
    "tsv": FormatSpec(partial(read_table.separated, delimiter="\t"), (".tsv",)),
    "jsonl": FormatSpec(read_json.records, (".jsonl", ".ndjson", ".json")),
    "parquet": FormatSpec(read_table.parquet, (".parquet",), made_of="columns"),
    "conll": FormatSpec(
        read_conll.records, (".conll",),
        title="CoNLL", task_type="sequence_labelling", is_labelled=True, looks_like=read_conll.looks_like,
    ),
    "squad": FormatSpec(
        read_squad.records, made_of="document",
        title="SQuAD or CMRC", task_type="extractive_answer", is_labelled=True, looks_like=read_squad.looks_like,
    ),
    "doccano": FormatSpec(
        read_doccano.records,
        title="doccano", is_labelled=True, marks_characters=True, looks_like=read_doccano.looks_like,
    ),
    "label_studio": FormatSpec(
        read_label_studio.records, made_of="document",
        title="Label Studio", is_labelled=True, marks_characters=True, looks_like=read_label_studio.looks_like,
    ),
}  # fmt: skip

SUFFIXES: Mapping[str, Format] = {suffix: name for name, spec in FORMATS.items() for suffix in spec.suffixes}
KNOWN = ", ".join(suffix.removeprefix(".") for suffix in SUFFIXES)
"""The known endings, for messages."""


def format_of(path: Path, declared: Format | None = None) -> Format | None:
    """The declared format; otherwise by the name without `.gz`."""
    return declared or SUFFIXES.get(Path(path.name.lower().removesuffix(".gz")).suffix)
