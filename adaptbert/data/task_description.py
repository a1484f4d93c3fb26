"""task.json of a validated labelled set, typed: written by validation, read by later stages."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from adaptbert.config.schema.task_types import SPECS, Target, TaskSpec, TaskType, Type
from adaptbert.core.files import write_json
from adaptbert.core.record import Record

FILE = "task.json"


class TaskDescription(Record):
    """A task; its JSON has the fields in this order, without those that are None."""

    type: Type
    labels: list[str]
    """Classes, types of spans, or tags; empty for regression and extractive answers."""
    rows: dict[str, int] = Field(default_factory=dict)
    """Split -> rows kept; empty in the card of a checkpoint."""
    range: Annotated[list[float | None], Field(min_length=2, max_length=2)] | None = None
    """Regression: the smallest and the largest training value; None where no row was kept."""
    no_answer: bool | None = None
    """Extractive answers: whether questions may have none."""
    replace: list[list[str]] | None = None
    """Patterns and replacements that were applied to the texts."""
    columns: dict[str, str] | None = None
    """Input -> its column in the files, where that has another name."""
    positive: str | None = None
    """Classification: the label whose own F1 is reported."""

    @property
    def spec(self) -> TaskSpec:
        return SPECS[self.type]

    @property
    def task_type(self) -> TaskType:
        """What a row holds."""
        return self.spec.task_type

    @property
    def target(self) -> Target:
        """What is predicted."""
        return self.spec.target

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.target == "number" and self.range is None:
            raise ValueError(f"type '{self.type}' needs 'range'")
        if self.target == "answer" and self.no_answer is None:
            raise ValueError(f"type '{self.type}' needs 'no_answer'")
        return self

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The task of a mapping that may have other keys, such as the `task` of a card."""
        return cls.model_validate({name: value for name, value in values.items() if name in cls.model_fields})

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Reads it from data/validated/tasks/<task>."""
        return super().read(folder / FILE)

    def write(self, folder: Path) -> None:
        """Writes it to data/validated/tasks/<task>."""
        write_json(folder / FILE, self.as_json())
