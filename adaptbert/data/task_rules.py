"""Rules that validate a labelled set, derived from the manifest of `collect_task`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adaptbert.config.schema.sources import Scheme
from adaptbert.data.layout import Layout
from adaptbert.data.schema import ANY_NUMBER
from adaptbert.data.task_description import TaskDescription


@dataclass(frozen=True)
class TaskRules:
    """Constraints on the set, from params.yaml.

    Attributes:
        labels: the allowed labels; None: those of the training rows.
        scheme: tag scheme of the file, for spans.
        repair: whether tags that break the scheme are repaired.
        no_answer: whether a question may have no answer.
        range: of regression values.
        replace: patterns and replacements that were applied to the texts; prediction applies them too.
        positive: the class whose own F1 is reported.
        renamed: label in the files -> label in adaptbert.
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
        """From a manifest, which has only the keys of the target of the set."""
        low, high = manifest.get("range", ANY_NUMBER)
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

    def describe(self, labels: Sequence[str], rows: Mapping[str, int], numbers: Sequence[float]) -> TaskDescription:
        """The content of task.json.

        Args:
            labels: known classes, types of spans, or tags.
            rows: split -> rows kept.
            numbers: the training values of regression.
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
