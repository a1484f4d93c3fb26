"""Rules that validate a labelled set, derived from the manifest of `collect_task`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from adaptbert.rows.layout import Layout
from adaptbert.rows.tag_schemes import Scheme
from adaptbert.rows.task_description import TaskDescription
from adaptbert.validation.schemas import Rules


@dataclass(frozen=True)
class TaskRules:
    """What params.yaml says about the set.

    Attributes:
        labels: those that there may be; None: those of the training rows.
        scheme: of the file, where spans are to be found.
        repair: whether tags that break the scheme are mended.
        no_answer: whether a question may have no answer.
        range: of a number.
        replace: patterns and replacements that the texts were read with; for whoever predicts.
        positive: the class whose own F1 is reported.
        renamed: a label of the files -> ours.
    """

    layout: Layout
    labels: list[str] | None
    scheme: Scheme
    repair: bool
    no_answer: bool
    range: tuple[float, float]
    replace: list[list[str]] | None
    positive: str | None
    renamed: dict[str, str]

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> "TaskRules":
        """What does not concern the target of the set is not in its manifest."""
        low, high = manifest.get("range", (-inf, inf))
        return cls(
            layout=Layout(manifest["shape"], manifest["target"]),
            labels=manifest.get("labels"),
            scheme=manifest.get("tag_scheme", "bio"),
            repair=manifest.get("repair_tags", False),
            no_answer=manifest.get("no_answer", False),
            range=(low, high),
            replace=manifest.get("replace"),
            positive=manifest.get("positive"),
            renamed=manifest.get("map_labels", {}),
        )

    @property
    def values(self) -> Rules:
        """As the schema wants them."""
        return Rules(self.scheme, self.range)

    def describe(self, labels: Sequence[str], rows: Mapping[str, int], numbers: Sequence[float]) -> TaskDescription:
        """What task.json says.

        Args:
            labels: known classes, types of spans, or tags.
            rows: split -> rows kept.
            numbers: the training values, where the target is a number.
        """
        assert self.layout.task_type is not None
        assert self.layout.target is not None
        cell = self.layout.output.cell
        return TaskDescription(
            task_type=self.layout.task_type,
            target=self.layout.target,
            labels=list(labels),
            rows=dict(rows),
            range=[min(numbers, default=None), max(numbers, default=None)] if cell == "number" else None,
            no_answer=self.no_answer if cell == "answers" else None,
            replace=self.replace or None,
            positive=self.positive,
        )
