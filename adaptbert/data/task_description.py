"""task.json of a validated labelled set, typed: written by validation, read by later stages."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator

from adaptbert.base.task_types import TARGETS, TARGETS_OF, Target, TaskType
from adaptbert.config.schema.section import Section
from adaptbert.core.files import read_json, write_json

FILE = "task.json"


class TaskDescription(Section):
    """A task; its JSON has the fields in this order, without those that are None."""

    model_config = ConfigDict(populate_by_name=True)

    task_type: Annotated[TaskType, Field(alias="shape")]
    target: Target
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
    positive: str | None = None
    """Classification: the label whose own F1 is reported."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.target not in TARGETS_OF[self.task_type]:
            raise ValueError(f"shape '{self.task_type}' has no target '{self.target}'")
        if TARGETS[self.target].cell == "number" and self.range is None:
            raise ValueError(f"target '{self.target}' needs 'range'")
        if TARGETS[self.target].cell == "answers" and self.no_answer is None:
            raise ValueError(f"target '{self.target}' needs 'no_answer'")
        return self

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "TaskDescription":
        """From a mapping that may have other keys, such as the `task` of a card."""
        known = {field.alias or name for name, field in cls.model_fields.items()}
        return cls.model_validate({name: value for name, value in values.items() if name in known})

    @classmethod
    def read(cls, folder: Path) -> "TaskDescription":
        """From data/validated/tasks/<task>."""
        return cls.model_validate(read_json(folder / FILE))

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)

    def write(self, folder: Path) -> None:
        """To data/validated/tasks/<task>."""
        write_json(folder / FILE, self.as_json())
