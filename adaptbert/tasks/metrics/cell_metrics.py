"""metrics/finetune/<cell>.json: the scores of all seeds of a cell, its search trials, and the cost.

Written by adaptbert.tasks.finetune, read by adaptbert.comparison.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator

from adaptbert.core.record import Cost, CurvePoint, Number, Record, flat, grouped

_SPLITS = ("test", "dev")


class _Scored(Record):
    """Scores of a split stand in the file beside the other keys, as `test/f1_macro`; here by metric, in `test`."""

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        scores = {split: own for split, own in grouped(values, _SPLITS).items() if own}
        return {key: value for key, value in values.items() if key.partition("/")[0] not in scores} | scores

    def laid_out(self, values: dict[str, Any]) -> dict[str, Any]:
        laid_out: dict[str, Any] = {}
        for key, value in values.items():
            laid_out |= flat({key: value}) if key in _SPLITS else {key: value}
        return laid_out


class SeedMetrics(_Scored):
    """One run of a seed."""

    seed: int
    restarted: int | None = None
    """The run takes the place of one that failed, and this is the seed of its head, order of rows and dropout; its
    rows are those of `seed`."""
    test: dict[str, float]
    dev: dict[str, float]
    """Scores of the weights that are kept."""
    tuned: dict[str, Number]
    """Values chosen on dev."""
    failed: bool
    """Whether it learned nothing, as adaptbert.tasks.failed_runs decides by the dev split."""
    cut: int
    """Training rows that were longer than `max_length`."""
    kept_step: int | None = None
    """Step after which the weights were best, with early stopping; and how many were trained."""
    steps: int | None = None
    curve: list[CurvePoint]


class FewerLabelsSeed(_Scored):
    """One seed at a point of the learning curve."""

    seed: int
    test: dict[str, float]
    dev: dict[str, float]


class LearningPoint(Cost):
    """All seeds, trained on so many labels."""

    labels: int
    seeds: list[FewerLabelsSeed]


class TrialMetrics(_Scored, Cost):
    """One point of the search; a run that diverged has no score, and the point has none then."""

    learning_rate: float
    global_batch_size: int
    epochs: float
    dev: dict[str, float | None]
    """The mean over runs, of the metric that decides."""
    seeds: list[float | None]


class SearchMetrics(Cost):
    """All trials."""

    trials: list[TrialMetrics]
    chosen: int
    """Number of the trial, the first is 1."""
    seeds: list[int]


class CellMetrics(Record):
    """One cell."""

    task: str
    arm: str
    start: str = Field(alias="from")
    """The checkpoint whose weights it began with."""
    type: str
    """Type as adaptbert.config.schema.task_types names it."""
    metric: str
    """Metric by which cells are compared."""
    labels: int
    """Rows of the training split that were used."""
    examples: int
    """Examples, which may be windows of those rows."""
    epochs: float
    steps: int
    tokens: int
    """Tokens of the seed whose model is kept; the next two are of it too."""
    tflop: float
    parameters: int
    unanswerable: dict[str, dict[str, int]] | None = Field(None, alias="lost")
    """Split -> reason -> rows whose right answer cannot be predicted; where the task type has such reasons."""
    cost: Cost
    """Cost of all runs together."""
    seeds: list[SeedMetrics]
    """All runs; those of failed ones that were trained once more come last. `predictions` has the last of each seed."""
    search: SearchMetrics | None = None
    learning_curve: list[LearningPoint] | None = None
    """Points without the one of all labels."""

    @property
    def learned(self) -> list[SeedMetrics]:
        """The runs that did not fail; all of them where each did."""
        return [seed for seed in self.seeds if not seed.failed] or self.seeds

    @property
    def failed(self) -> list[SeedMetrics]:
        return [seed for seed in self.seeds if seed.failed]

    def means(self) -> dict[str, float]:
        """Means over the runs that learned, of each score, by `test/f1_macro`."""
        return {
            f"{split}/{name}": sum(getattr(seed, split)[name] for seed in self.learned) / len(self.learned)
            for split in _SPLITS
            for name in getattr(self.seeds[0], split)
        }
