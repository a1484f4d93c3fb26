"""The columns of a row, by task type and target: the same in data/raw and data/validated.

A row of a corpus is a text. A row of a labelled set has the inputs of its task type and the output of its target; on
disk `id` stands before them (and, in data/raw, `file` and `line` after).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptbert.config.schema.task_types import TARGETS, TASK_TYPES, CellType, Target, TargetSpec, TaskType, TaskTypeSpec

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_type(kind: CellType) -> "pa.DataType":
    """The Parquet type of a column. Offsets of answers count Unicode code points of the context."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "number": pa.float64(),
        "answers": pa.list_(pa.struct([("text", pa.string()), ("start", pa.int64())])),
    }
    return types[kind]


def as_text(cell: str | list[str]) -> str:
    """A text unchanged; the words of a tagged sentence joined by spaces."""
    return cell if isinstance(cell, str) else " ".join(cell)


@dataclass(frozen=True)
class Layout:
    """The columns of one kind of row.

    Attributes:
        task_type: None for a corpus.
        target: of a task; None for rows without labels: a corpus, or rows to predict.
    """

    task_type: TaskType | None
    target: Target | None = None

    @property
    def is_corpus(self) -> bool:
        return self.task_type is None

    @property
    def is_tagged(self) -> bool:
        """Whether rows are word lists with one tag a word."""
        return "tokens" in self.inputs

    @property
    def has_spans(self) -> bool:
        """Whether rows have tags of a scheme."""
        return self.target is not None and self.output.marks_spans

    @property
    def rows(self) -> TaskTypeSpec:
        """What a row holds; a text in a corpus."""
        return TASK_TYPES[self.task_type or "single_sentence"]

    @property
    def inputs(self) -> tuple[str, ...]:
        """What a model reads."""
        return tuple(self.rows.inputs)

    @property
    def shared(self) -> tuple[str, ...]:
        """The inputs by which rows are grouped: all, or those that several rows may share."""
        return self.rows.shared or self.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """Columns of labels; none for a corpus."""
        return () if self.target is None else (self.output.column,)

    @property
    def output(self) -> TargetSpec:
        """The target of a labelled set."""
        assert self.target is not None, "a corpus has no target"
        return TARGETS[self.target]

    @property
    def fields(self) -> tuple[str, ...]:
        """Inputs and outputs: the fields of the user's files except `id`."""
        return (*self.inputs, *self.outputs)

    def arrow(self) -> "pa.Schema":
        """The Parquet schema of a validated set; a raw set also has `file` and `line`."""
        import pyarrow as pa

        cells: dict[str, CellType] = {"id": "text", **self.rows.inputs}
        if self.target is not None:
            cells[self.output.column] = self.output.cell
        return pa.schema([(name, arrow_type(cell)) for name, cell in cells.items()])


CORPUS = Layout(None)
