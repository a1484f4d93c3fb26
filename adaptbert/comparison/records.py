"""Records of all cells and rungs: the difference and cost of each step, and what is not testable.

The table, the report, the plots and metrics.json are views of the `Comparison`, which adaptbert.comparison.assemble
makes. It has every planned cell, even a missing one, and every seed.
"""

from dataclasses import dataclass, field
from typing import Literal

from adaptbert.comparison.evaluation.inspection import Inspection
from adaptbert.comparison.questions import Advice
from adaptbert.comparison.rungs import Cost, Rung
from adaptbert.config.schema.task_types import Target, TaskType
from adaptbert.statistics.designs import Design
from adaptbert.statistics.intervals import Difference, Interval
from adaptbert.statistics.spread import Runs
from adaptbert.statistics.verdicts import Verdict
from adaptbert.tasks.metrics.cell_metrics import TrialMetrics


@dataclass(frozen=True)
class LearningPoint:
    """An arm trained on so many labels.

    Attributes:
        scores: seed -> score on test, the mean over draws.
        interval: over seeds.
    """

    labels: int
    scores: dict[int, float]
    interval: Interval


@dataclass(frozen=True)
class Search:
    """What the search of an arm chose on the dev split, and what all its trials cost."""

    trials: int
    chosen: TrialMetrics
    cost: Cost


@dataclass(frozen=True)
class Arm:
    """An arm of a task from one start: one cell for each draw of its rung.

    Attributes:
        rung: the `group` of its rung, which all draws have; `role` is what that makes it.
        scores, dev: seed -> score, the mean over draws. Empty for a planned arm that has no metrics.
        planned: its draws; 0 alone where the rung is made once for each start.
        by_draw: draw -> seed -> score; only draws with metrics.
        interval: over draws, seeds and test rows, as far as they were repeated.
        degenerate: (draw, seed) of runs that predict one class only; they are counted in the mean like all others.
        cost: of one draw of the rungs that lead to it.
        learning_curve: by number of labels, all of them last; empty without `label_counts`.
        searches: draw -> what its search chose; empty where the values are those of params.yaml.
        again_of: of an A/A arm the arm whose recipe it repeats with other seeds.
        has_own_values: whether it is fine-tuned with values of its own, those of its block in params.yaml.
        run_tflop: what fine-tuning it once took, as a mean over draws and seeds.
    """

    name: str
    rung: str
    role: str
    scores: dict[int, float]
    dev: dict[int, float]
    planned: list[int]
    by_draw: Runs
    interval: Interval | None
    degenerate: list[tuple[int, int]]
    cost: Cost | None
    learning_curve: list[LearningPoint] = field(default_factory=list)
    searches: dict[int, Search] = field(default_factory=dict)
    again_of: str | None = None
    has_own_values: bool = False
    run_tflop: float | None = None

    @property
    def missing(self) -> bool:
        return not self.scores

    @property
    def runs(self) -> int:
        """How often it was fine-tuned: draws times seeds."""
        return sum(len(scores) for scores in self.by_draw.values())


@dataclass(frozen=True)
class Detectable:
    """The true difference that a question, with its draws, seeds and test rows, shows in four of five studies.

    Attributes:
        low, high: where it lies with a chance of 90 %, because its spread is itself an estimate.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Needed:
    """What would settle an undecided question: show a gain that is just worth having, in four of five studies.

    Attributes:
        design: None where no number of draws and seeds within reason would.
        rows: test rows that would be needed besides; None where those that are there suffice.
    """

    design: Design | None
    rows: int | None


@dataclass(frozen=True)
class Step:
    """One question of `adaptbert.comparison.questions`, answered for one task.

    Attributes:
        name: of the question, with the arm behind it where that is not called by its role.
        draws: how often the steps by which the two arms differ were trained; None where they differ in none that comes
            before fine-tuning. General pre-training is done once.
        primary: whether it is one of the questions of params.yaml for which there are verdicts.
        p_holm: p-value adjusted for the primary questions of all tasks that have a verdict; None for others.
        detectable: under Holm's rule for a primary question; None without an interval.
        needed: of an undecided question whose draws were repeated.
        own_values: which of the two arms is fine-tuned with values of its own; then fine-tuning differs as well.
    """

    name: str
    question: str
    arm: str
    other: str
    difference: Difference | None
    draws: int | None
    primary: bool = False
    p_holm: float | None = None
    verdict: Verdict = "untested"
    detectable: Detectable | None = None
    needed: Needed | None = None
    own_values: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """One task with all its arms from one start.

    Attributes:
        name: in tables and on the page: the task; with its start, `section/small`, where there are several.
        task, start: their names in params.yaml.
        labels: training rows used by each seed and, except for very large sets, by the baselines.
        baselines: name -> its score, with an interval.
        beside_baselines: name -> the chosen arm minus the baseline, paired by seed and test row.
        baseline_rows: the first of these rows, on which the baselines were fitted.
        chosen: the arm with the best mean score on the dev split; the test split is not considered.
        inspection: of the chosen arm, all its draws; None without its predictions.
        scattered: arms whose runs lie clearly further apart than those of the others, so that each is judged by its own
            spread.
        advice: which further arms would be compared with those that are in no step.
        test_groups: of the test rows, by the user's files or by a text that rows share; rows of one are resampled
            together. None where rows belong to no groups.
        test_texts: how many different texts the test rows have, where rows belong to no groups and some repeat the
            text of others, with which they are resampled; None where no text repeats.
    """

    name: str
    task: str
    start: str
    task_type: TaskType
    target: Target
    metric: str
    labels: int
    rows: dict[str, int]
    arms: list[Arm]
    baselines: dict[str, Interval]
    beside_baselines: dict[str, Difference]
    baseline_rows: int
    steps: list[Step]
    chosen: str | None
    inspection: Inspection | None
    scattered: list[str] = field(default_factory=list)
    advice: list[Advice] = field(default_factory=list)
    test_groups: int | None = None
    test_texts: int | None = None

    @property
    def anchor(self) -> str:
        """The name as part of an id on the page and of the name of a file; names of params.yaml have no `-`."""
        return self.name.replace("/", "-")

    def cell(self, arm: str) -> str:
        """What the cell of an arm is called in messages."""
        return "-".join([self.task, arm, *([self.start] if self.name != self.task else [])])

    @property
    def has_subsets(self) -> bool:
        """Whether each seed has a subset of the training rows of its own."""
        return self.labels < self.rows["train"]

    @property
    def draws(self) -> int:
        """The most draws that an arm has or should have."""
        return max((len(arm.planned) for arm in self.arms), default=1)

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
class Standing:
    """One start in one arm.

    Attributes:
        difference: this start minus the first of the ranking, paired by seed and test row; None for the first itself,
            and where the two have no seed in common.
        p_holm: adjusted for all differences of the ranking that could be tested.
        verdict: None for the first.
    """

    start: str
    interval: Interval | None
    cost: Cost | None
    difference: Difference | None
    p_holm: float | None
    verdict: Verdict | None


@dataclass(frozen=True)
class ArmFromStarts:
    """One arm from every start that has it, in the order of the ranking."""

    arm: str
    standings: list[Standing]

    @property
    def by_start(self) -> dict[str, Standing]:
        return {standing.start: standing for standing in self.standings}

    @property
    def costs(self) -> dict[str, Cost]:
        """Start -> what its climb cost, where that is known."""
        return {standing.start: standing.cost for standing in self.standings if standing.cost is not None}

    @property
    def same_tokens(self) -> bool:
        """Whether all starts were trained on the same number of tokens."""
        return len({cost.tokens for cost in self.costs.values()}) <= 1


@dataclass(frozen=True)
class Ranking:
    """The starts of one task.

    Attributes:
        arm: whose dev scores order the starts: the arm with the best of them, as a mean over starts.
        order: the starts, the best first; those without that arm last.
        dev: start -> mean dev score in that arm.
        arms: `arm` first.
        draws: the fewest and the most draws of a trained rung; (0, 0) where none was trained.
        made_here: starts whose weights were made here, and once: differences from them have no verdict.
    """

    task: str
    metric: str
    arm: str
    order: list[str]
    dev: dict[str, float]
    arms: list[ArmFromStarts]
    draws: tuple[int, int]
    made_here: list[str]

    @property
    def is_tied(self) -> bool:
        """Whether the first start is no better on dev than the second."""
        first, second, *_ = self.order
        return self.dev[first] == self.dev.get(second)


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
class OnSeveralTasks:
    """One primary question over the tasks that ask it, from one start.

    Attributes:
        gains, losses: in at least so many of `tasks` (partial conjunction), each at half the level.
    """

    question: str
    start: str
    tasks: int
    gains: int
    losses: int


@dataclass(frozen=True)
class Comparison:
    """The results of all tasks and rungs.

    Attributes:
        worth: the smallest gain worth having, as a difference of scores.
        tasks: each task from each start.
        rungs: every draw of every rung.
        heldout: the held-out sets, general text first.
        began_from: start -> its public checkpoint; starts with random weights are left out.
        rankings: of the starts, for each task that has several.
        spent: what all rungs and cells that have results took.
        one_more_draw: what one more draw of all rungs above general pre-training and of their cells would cost; None
            where there is no such rung, or metrics are missing.
        on_several: primary question -> in how many tasks, at least, it shows an effect; only questions that several
            tasks ask, with draws.
    """

    confidence: float
    worth: float
    tasks: list[Task]
    rungs: list[Rung]
    heldout: list[str]
    sources: list[Source]
    began_from: dict[str, str]
    rankings: list[Ranking] = field(default_factory=list)
    spent: Cost = field(default_factory=lambda: Cost(0, 0.0))
    one_more_draw: Cost | None = None
    on_several: list[OnSeveralTasks] = field(default_factory=list)

    @property
    def demonstration(self) -> bool:
        return any(source.demonstration for source in self.sources)

    @property
    def starts(self) -> list[str]:
        """All starts, in the order of params.yaml."""
        return list(dict.fromkeys(rung.start for rung in self.rungs))

    @property
    def draws(self) -> int:
        """How often an arm's rungs above general pre-training are trained; 1 where there are none."""
        return max([1, *(task.draws for task in self.tasks)])

    @property
    def draws_of_a_rung(self) -> int:
        """How often a rung is trained: more than `draws` where an A/A arm repeats it."""
        return max([1, *(rung.draw for rung in self.rungs)])
