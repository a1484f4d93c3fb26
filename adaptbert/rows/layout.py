"""What a row of each kind consists of: its columns by task type and target, the same in data/raw and data/validated.

A row of a corpus is a text. A row of a labelled set has the inputs of its task type and the output of its target; on
disk `id` stands before them (and, in data/raw, `file` and `line` after).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adaptbert.base.task_types import TARGETS_OF, Target, TaskType
from adaptbert.codes import Code
from adaptbert.errors import BadData, nearest
from adaptbert.rows.cells import CellType, arrow_type
from adaptbert.rows.targets import TARGETS, TargetSpec
from adaptbert.rows.task_types import TASK_TYPES, TaskTypeSpec

if TYPE_CHECKING:
    import pyarrow as pa

_CORPUS = TaskTypeSpec({"text": "text"})


@dataclass(frozen=True)
class Layout:
    """The columns of one kind of row.

    Attributes:
        task_type: None for a corpus.
        target: of a task; None where what is right does not matter, as for a corpus and for rows to predict.
    """

    task_type: TaskType | None
    target: Target | None = None

    @property
    def name(self) -> str:
        """What messages call such a row."""
        return self.task_type or "corpus"

    @property
    def is_corpus(self) -> bool:
        return self.task_type is None

    @property
    def is_tagged(self) -> bool:
        """Whether a model reads words, each of which has a tag."""
        return "tokens" in self.inputs

    @property
    def inputs(self) -> tuple[str, ...]:
        """What a model reads."""
        return tuple(self._task_type.inputs)

    @property
    def shared(self) -> tuple[str, ...]:
        """The inputs by which rows belong together: all, or those that several rows have in common."""
        return self._task_type.shared or self.inputs

    @property
    def aligned(self) -> str:
        """What points into the inputs, see `TaskTypeSpec`."""
        return self._task_type.aligned

    @property
    def outputs(self) -> tuple[str, ...]:
        """What it answers; none for a corpus."""
        return () if self.target is None else (self.output.column,)

    @property
    def output(self) -> TargetSpec:
        """What is right, of a labelled set."""
        assert self.target is not None, "a corpus has no target"
        return TARGETS[self.target]

    @property
    def fields(self) -> tuple[str, ...]:
        """All that the user's files hold, `id` apart."""
        return (*self.inputs, *self.outputs)

    @property
    def columns(self) -> list[str]:
        """Of a validated set; a raw one has `file` and `line` too."""
        return ["id", *self.fields]

    def arrow(self) -> "pa.Schema":
        """The Parquet schema of `columns`."""
        import pyarrow as pa

        cells: dict[str, CellType] = {"id": "text", **self._task_type.inputs}
        if self.target is not None:
            cells[self.output.column] = self.output.cell
        return pa.schema([(name, arrow_type(cell)) for name, cell in cells.items()])

    @property
    def _task_type(self) -> TaskTypeSpec:
        return _CORPUS if self.task_type is None else TASK_TYPES[self.task_type]


CORPUS = Layout(None)


def of_another_target(layout: Layout, name: str) -> str:
    """The end of a remedy where a field is the output of another target of the task type; else nothing."""
    targets = TARGETS_OF[layout.task_type] if layout.task_type is not None else ()
    others = [target for target in targets if name in Layout(layout.task_type, target).outputs]
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
