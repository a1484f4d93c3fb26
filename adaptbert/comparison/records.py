"""Records of all cells and rungs: the difference and cost of each step, and what is not testable.

The table, the report, the plots and metrics.json are views of the `Comparison`, which adaptbert.comparison.assemble
makes. It has every planned cell, even a missing one, and every seed.
"""

from dataclasses import dataclass, field
from typing import Literal

from adaptbert.base.task_types import Target, TaskType
from adaptbert.comparison.inspection import Inspection
from adaptbert.comparison.questions import Advice, role
from adaptbert.comparison.statistics import Difference, Interval, Verdict
from adaptbert.comparison.suite_average import SuiteAverage


@dataclass(frozen=True)
class Cost:
    """What was spent on weights before fine-tuning, summed over a rung and all the rungs below it."""

    tokens: int
    tflop: float


@dataclass(frozen=True)
class Masks:
    """The configured masking of a rung, and the audit of its actual masks.

    Attributes:
        audit: `adaptbert.pretraining.metrics.masking_audit.audit_metrics`.
    """

    unit: str
    probability: float
    audit: dict[str, float]


@dataclass(frozen=True)
class Rung:
    """One checkpoint of the ladder; all figures are None or empty where its metrics are missing.

    Attributes:
        start: the rung whose weights it began with; None for `scratch`.
        tokens, tflop: of this rung alone.
        total: with the rungs below; None where one of them is missing.
        before, after: held-out set -> bits per character.
        curve: (tokens trained in this rung, held-out set -> bits per character), the beginning and the end included.
        masks: None where nothing was trained.
        random_head: whether the head that these figures were measured with was never trained.
    """

    name: str
    start: str | None
    missing: bool
    tokens: int
    tflop: float
    total: Cost | None
    before: dict[str, float]
    after: dict[str, float]
    curve: list[tuple[int, dict[str, float]]]
    masks: Masks | None = None
    random_head: bool = False

    @property
    def role(self) -> str:
        """How far up the ladder it stands: one of `adaptbert.comparison.questions.ROLES`."""
        return role(self.name, self.start)


@dataclass(frozen=True)
class LearningPoint:
    """An arm trained on so many labels; seed -> score on test."""

    labels: int
    scores: dict[int, float]
    interval: Interval


@dataclass(frozen=True)
class SearchPoint:
    """The values that a search may change, as a cell's metrics have them."""

    learning_rate: float
    global_batch_size: int
    epochs: float


@dataclass(frozen=True)
class Search:
    """What the search of an arm chose on the dev split, and what all its trials cost."""

    trials: int
    chosen: SearchPoint
    cost: Cost


@dataclass(frozen=True)
class Arm:
    """One cell: an arm of a task.

    Attributes:
        scores, dev: seed -> score. Empty for a planned cell that has no metrics.
        degenerate: seeds that predict one class only; they are counted in the mean like all others.
        cost: of the rungs that lead to it.
        learning_curve: by number of labels, all of them last; empty without `label_counts`.
        search: None where the values are those of params.yaml.
    """

    name: str
    rung: str
    scores: dict[int, float]
    dev: dict[int, float]
    interval: Interval | None
    degenerate: list[int]
    cost: Cost | None
    learning_curve: list[LearningPoint] = field(default_factory=list)
    search: Search | None = None

    @property
    def missing(self) -> bool:
        return not self.scores


@dataclass(frozen=True)
class Step:
    """One question of `adaptbert.comparison.questions`, answered for one task.

    Attributes:
        name: of the question, with the arm behind it where that is not called by its role.
        p_holm: p-value adjusted for all the questions that were tested on this task.
        verdict: `gain` and `loss` are shown (p_holm is small enough); `likely_` ones have an interval that excludes 0
            but do not survive the adjustment; `untested` has no interval.
    """

    name: str
    question: str
    arm: str
    other: str
    difference: Difference | None
    p_holm: float | None
    verdict: Verdict


@dataclass(frozen=True)
class Tempered:
    """The effect of a temperature, fitted on dev, on the confidences of a cell (adaptbert.finetuning.temperature).

    Attributes:
        temperatures: seed -> its temperature.
        ece: expected calibration error of the test rows with it, as `Calibration.ece` is without; mean over seeds.
    """

    temperatures: dict[int, float]
    ece: float


@dataclass(frozen=True)
class Task:
    """One task with all its arms.

    Attributes:
        labels: training rows used, by the arms and, except for very large sets, by the baselines.
        baselines: name -> score.
        baseline_rows: the first of the training rows, on which the baselines were fitted.
        chosen: the arm with the best mean score on the dev split; the test split is not considered.
        inspection: of the chosen arm; None without its predictions.
        tempered: of the chosen arm; None where rows are not classified.
        advice: which further arms would be compared with those that are in no step.
    """

    name: str
    task_type: TaskType
    target: Target
    metric: str
    labels: int
    rows: dict[str, int]
    arms: list[Arm]
    baselines: dict[str, float]
    baseline_rows: int
    steps: list[Step]
    chosen: str | None
    inspection: Inspection | None
    tempered: Tempered | None = None
    advice: list[Advice] = field(default_factory=list)

    def arm(self, name: str) -> Arm | None:
        return next((arm for arm in self.arms if arm.name == name), None)

    @property
    def best_on_dev(self) -> list[str]:
        """`chosen` and the arms that equal it on the dev split; none where there was nothing to choose from."""
        means = {arm.name: sum(arm.dev.values()) / len(arm.dev) for arm in self.arms if arm.dev}
        return [name for name, mean in means.items() if len(means) > 1 and mean == max(means.values())]

    def step(self, name: str) -> Step | None:
        return next((step for step in self.steps if step.name == name), None)


@dataclass(frozen=True)
class Source:
    """A corpus or a labelled set, with its row counts before and after validation.

    Attributes:
        rejected: reason -> rows.
    """

    name: str
    kind: Literal["corpus", "task"]
    origin: str
    demonstration: bool
    rows: int
    kept: int
    rejected: dict[str, int]


@dataclass(frozen=True)
class Comparison:
    """The results of all tasks and rungs.

    Attributes:
        heldout: the held-out sets, general text first.
        began_from: `scratch`, or the checkpoint that general pre-training started from; None where that is unknown.
        suite: the mean over tasks of every arm that all tasks have; empty below two tasks.
    """

    confidence: float
    tasks: list[Task]
    rungs: list[Rung]
    heldout: list[str]
    sources: list[Source]
    began_from: str | None
    suite: list[SuiteAverage]

    @property
    def demonstration(self) -> bool:
        return any(source.demonstration for source in self.sources)

    def rung(self, name: str) -> Rung:
        return next(rung for rung in self.rungs if rung.name == name)
