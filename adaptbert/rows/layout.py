"""What a row of each kind consists of: its columns by shape and target, the same in data/raw and data/validated.

A row of a corpus is a text. A row of a labelled set has the inputs of its shape and the output of its target; on disk
`id` stands before them (and, in data/raw, `file` and `line` after).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adaptbert.codes import Code
from adaptbert.errors import BadData, nearest

if TYPE_CHECKING:
    import pyarrow as pa
from adaptbert.base.task_types import TARGETS

_INPUTS = {
    "corpus": ("text",),
    "single_sentence": ("text",),
    "sentence_pair": ("text_a", "text_b"),
    "extractive_answer": ("context", "question"),
    "sequence_labelling": ("tokens",),
}
_OUTPUTS = {
    "": (), "class": ("label",), "labels": ("labels",), "number": ("value",),
    "answer": ("answers",), "spans": ("tags",), "tags": ("tags",),
}  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """The columns of one kind of row.

    Attributes:
        shape: `corpus`, or the shape of a task.
        target: of a task; a corpus has none.
    """

    shape: str
    target: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        """What a model reads."""
        return _INPUTS[self.shape]

    @property
    def outputs(self) -> tuple[str, ...]:
        """What it answers; none for a corpus."""
        return _OUTPUTS[self.target]

    @property
    def fields(self) -> tuple[str, ...]:
        """All that the user's files hold, `id` apart."""
        return (*self.inputs, *self.outputs)

    @property
    def columns(self) -> list[str]:
        """Of a validated set; a raw one has `file` and `line` too."""
        return ["id", *self.fields]

    def arrow(self) -> "pa.Schema":
        """The Parquet schema of `columns`. Offsets of answers count Unicode code points of the context."""
        import pyarrow as pa

        strings = pa.list_(pa.string())
        answers = pa.list_(pa.struct([("text", pa.string()), ("start", pa.int64())]))
        kinds = {"labels": strings, "tokens": strings, "tags": strings, "value": pa.float64(), "answers": answers}
        return pa.schema([(name, kinds.get(name, pa.string())) for name in self.columns])


CORPUS = Layout("corpus")


def of_another_target(layout: Layout, name: str) -> str:
    """The end of a remedy where a field is the output of another target of the shape; else nothing."""
    others = [target for target in TARGETS.get(layout.shape, ()) if name in Layout(layout.shape, target).outputs]
    if not others:
        return ""
    return f"; `target: {layout.target}` wants {', '.join(layout.outputs)}, `target: {others[0]}` wants {name}"


MAPPED = "rename it or map it in `columns`"
"""What to do about a column that is missing from a file of params.yaml."""


def missing_columns(
    code: Code,
    wanted: Iterable[str],
    found: Sequence[str],
    place: str | Path,
    remedy: str = MAPPED,
) -> list[BadData]:
    """An error for each wanted column that is not there; one in other capitals is COLUMN_CASE, whatever `code` says."""
    errors = []
    for name in wanted:
        if name not in found:
            other_case = name.lower() in [column.lower() for column in found]
            problem = f"column '{name}' missing; found {', '.join(found) or 'none'}{nearest(name, found)}"
            errors.append(BadData(Code.COLUMN_CASE if other_case else code, place, problem, remedy))
    return errors
