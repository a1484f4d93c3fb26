"""metrics/comparison.json: all results as one tree, written and read by `Comparison`.

The table, the page, the plots and metrics.json are views of it; nothing in it is rounded. It has every planned arm and
checkpoint, even one without a result, and every run. adaptbert.comparison.assemble makes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import TypeAdapter

from adaptbert.comparison.questions import role
from adaptbert.config.schema.bases import TrainedOn
from adaptbert.config.schema.task_types import Target, TaskType, Type, spec_of
from adaptbert.core.record import RUN_AGAIN, Cost, Number, Record, validated
from adaptbert.statistics.intervals import Difference, Interval
from adaptbert.statistics.power import Design
from adaptbert.statistics.spread import Runs
from adaptbert.statistics.verdicts import Verdict

Key = TypeVar("Key")
TRAINED_BYTES = 16
"""Bytes that training keeps of a weight in float32: itself, its gradient and two moments."""


def means(measured: Sequence[Mapping[Key, float]]) -> dict[Key, float]:
    """Mean of each key over those that have it, in the order in which keys come up."""
    keys = dict.fromkeys(key for each in measured for key in each)
    return {key: mean(each[key] for each in measured if key in each) for key in keys}


# ---- checkpoints


@dataclass(frozen=True)
class Masks:
    """The configured rate of masking, and what `adaptbert.mlm.masking.audit_metrics` found."""

    probability: float
    audit: dict[str, Number]


@dataclass(frozen=True)
class Replicate:
    """A step, trained once.

    Attributes:
        name: of the checkpoint, with the number where there are several.
        number: from 1; 0: the step is trained once for each base.
        cost: of this step alone, `total` with those below; None without a result.
        before, after: held-out set -> bits per character; `curve`: the same by tokens trained in this step, the
            beginning and the end included.
        masks: None where nothing was trained.
        random_head: whether the head that these figures were measured with was never trained.
        documents: how they were computed: packed, packed by masks or padded.
        parameters: of the model with its head of masked-language modelling; 0 where that was not trained or measured.
    """

    name: str
    number: int
    cost: Cost | None = None
    total: Cost | None = None
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    curve: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    masks: Masks | None = None
    random_head: bool = False
    documents: str = "packed"
    parameters: int = 0

    @property
    def missing(self) -> bool:
        return self.cost is None


@dataclass(frozen=True)
class Checkpoint:
    """The weights after a step, in all replicates; its own figures are means over those that were measured.

    Attributes:
        name: in tables and on the page, with the base where there are several; `path`: without it.
        task: whose text it was trained on; None below task transfer.
        below: the name of the checkpoint that it began with; None for random weights.
        is_public_below: whether `below` is a public checkpoint, and none of these.
    """

    name: str
    path: str
    base: str
    task: str | None
    below: str | None
    trained_on: TrainedOn
    replicates: list[Replicate]
    is_public_below: bool = False

    @property
    def role(self) -> str:
        """One of `adaptbert.comparison.questions.ROLES`, or `other`."""
        return role(self.trained_on) or "other"

    @property
    def first(self) -> Replicate:
        """The first that was measured; where none was, the first."""
        return next((each for each in self.replicates if not each.missing), self.replicates[0])

    @property
    def missing(self) -> bool:
        return self.first.missing

    @property
    def is_published(self) -> bool:
        """Whether it is a public checkpoint that general pre-training left alone."""
        return self.is_public_below and self.first.cost is not None and self.first.cost.tokens == 0

    @property
    def before(self) -> dict[str, float]:
        return means([each.before for each in self.replicates])

    @property
    def after(self) -> dict[str, float]:
        return means([each.after for each in self.replicates])


# ---- the arms of a task

TRIVIAL = ("majority", "word_majority", "question_overlap")
"""The baselines below which an arm has learned nothing; of those that a task has, the first counts."""


def trivial(baselines: Mapping[str, Interval]) -> float | None:
    """The score of the most trivial baseline; None where a task has none."""
    return next((baselines[name].mean for name in TRIVIAL if name in baselines), None)


@dataclass(frozen=True)
class Run:
    """An arm, fine-tuned once.

    Attributes:
        replicate: of its checkpoint, or of its search alone; 0 where there is one.
        score, dev: on the test split and on the dev split.
        failed: whether it learned nothing; the run after it of the same replicate and seed, if any, takes its place.
    """

    replicate: int
    seed: int
    score: float
    dev: float
    failed: bool = False


def _by_replicate(runs: Iterable[Run]) -> dict[int, dict[int, float]]:
    """Replicate -> seed -> score."""
    scores: dict[int, dict[int, float]] = {}
    for run in runs:
        scores.setdefault(run.replicate, {})[run.seed] = run.score
    return scores


@dataclass(frozen=True)
class LearningPoint:
    """An arm trained on so many labels: seed -> score on test, the mean over replicates; the interval is over seeds."""

    labels: int
    scores: dict[int, float]
    interval: Interval


@dataclass(frozen=True)
class Search:
    """What the search of an arm chose on the dev split for a replicate, and what all its trials cost."""

    replicate: int
    trials: int
    learning_rate: float
    global_batch_size: int
    epochs: float
    cost: Cost


@dataclass(frozen=True)
class Arm:
    """An arm of a task from one base.

    Attributes:
        checkpoint: the name of the one that it fine-tunes, which makes its `role`.
        planned: replicate of that -> the key of the cell, its folder in models/finetune; 0 alone where it is trained
            once for each base, and nothing is searched for.
        runs: of all replicates with metrics, those of a cell that were trained once more last; empty for a planned arm
            that has none.
        interval: over replicates, seeds and test rows, as far as they were repeated.
        cost: of one replicate of the steps that lead to it.
        learning_curve: by number of labels, all of them last; empty without `label_counts`.
        searches: empty where the values are those of params.yaml.
        has_own_values: whether it is fine-tuned with values of its own, those of its `overrides` in params.yaml.
        run_tflop: what fine-tuning it once took, as a mean over replicates and seeds.
        never_predicted: classes that are right answers, and no answer of any of its runs.
        seldom_predicted: the same of some of its runs, without those that predict one class only.
        accuracy: the mean of its runs, where a row has one label; None without a result.
    """

    name: str
    checkpoint: str
    role: str
    planned: dict[int, str]
    runs: list[Run]
    interval: Interval | None
    cost: Cost | None
    learning_curve: list[LearningPoint] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)
    has_own_values: bool = False
    run_tflop: float | None = None
    never_predicted: list[str] = field(default_factory=list)
    seldom_predicted: list[str] = field(default_factory=list)
    accuracy: float | None = None

    @property
    def missing(self) -> bool:
        return not self.runs

    @property
    def mostly_failed(self) -> bool:
        """Whether half of its runs failed or more, or no seed learned in every replicate: what is left is luck and says
        little of it."""
        failed = sum(run.failed for run in self.runs)
        learned = _by_replicate(run for run in self.runs if not run.failed).values()
        return failed > 0 and (2 * failed >= len(self.runs) or not set.intersection(*map(set, learned)))

    @property
    def _last(self) -> dict[tuple[int, int], Run]:
        """Replicate and seed -> their last run."""
        return {(run.replicate, run.seed): run for run in self.runs}

    @property
    def counted(self) -> list[Run]:
        """The runs that its scores are means of: the last of each replicate and seed, if it learned; where it mostly
        failed also those that did not."""
        return [run for run in self._last.values() if not run.failed or self.mostly_failed]

    @property
    def by_replicate(self) -> Runs:
        return _by_replicate(self.counted)

    @property
    def scores(self) -> dict[int, float]:
        """Seed -> score, the mean over replicates."""
        return dict(sorted(means([{run.seed: run.score} for run in self.counted]).items()))

    @property
    def dev(self) -> float | None:
        """The mean over seeds, of which each has the mean over replicates; None without a result."""
        return mean(means([{run.seed: run.dev} for run in self.counted]).values()) if self.runs else None

    @property
    def lost(self) -> tuple[list[int], list[int]]:
        """Replicates that have no run that learned, and the seeds of which another replicate has none."""
        replicates = {run.replicate for run in self.runs} - {run.replicate for run in self.runs if not run.failed}
        seeds = {run.seed for run in self._last.values() if run.failed and run.replicate not in replicates}
        return sorted(replicates), sorted(seeds)

    @property
    def first_failed(self) -> tuple[int, int]:
        """How many runs failed, and how many there were, without those that were trained once more."""
        first = {(run.replicate, run.seed): run.failed for run in reversed(self.runs)}
        return sum(first.values()), len(first)

    def learned_nothing(self, least: float | None) -> bool:
        """Whether it has a result that says nothing: half of its runs failed or more, or it is no better than `least`,
        the score of the most trivial baseline."""
        if self.interval is None:
            return False
        return self.mostly_failed or (least is not None and self.interval.mean <= least)


@dataclass(frozen=True)
class Detectable:
    """The true difference that a question, with its replicates, seeds and test rows, shows in four of five studies. Its
    spread is itself an estimate: in simulated studies it lay between `low` and `high` in 70 to 91 %."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Needed:
    """What would settle an undecided question: show the difference that is likely after what was seen, and at least one
    that is just worth having, in four of five studies.

    Attributes:
        effect: that difference, without its sign.
        design: None where none of those that are considered would.
        rows: test rows that it takes besides; None where those that are there suffice.
    """

    effect: float
    design: Design | None
    rows: int | None


Why = Literal[
    "", "described", "pretrained_once", "once", "missing", "no_seed", "few_seeds", "no_spread", "nothing_learned"
]
"""Why a question is not tested:

    described        it is not in `compare.order`
    pretrained_once  only one side began with random weights, and general pre-training is done once
    once             what the arms differ in was trained once: the difference is one of these weights
    missing          an arm has no result
    no_seed          the arms share no seed
    few_seeds        an interval needs more of them
    no_spread        all runs of an arm score alike, so there is no interval
    nothing_learned  an arm does no better than the most trivial baseline
"""


@dataclass(frozen=True)
class Answer:
    """One question of `adaptbert.comparison.questions`, answered for one task.

    Attributes:
        name: of the question, with its variant behind it.
        replicates: how often the steps by which the two arms differ were trained; None where they differ in none that
            comes before fine-tuning. General pre-training is done once.
        place: among the questions of the task that are tested: the first is 0; None for those that are not.
        p_adjusted: p-value adjusted for the questions of all tasks that are tested; None for others.
        at_least: of a gain, whether it is at least as large as what is worth having.
        why: it is not tested.
        detectable: at the share of the level that it has at first; None without an interval.
        needed: of an undecided question whose replicates were repeated.
        chance: that the difference is at least what is worth having, as `adaptbert.statistics.chance` has it; None
            without an interval. No verdict depends on it.
    """

    name: str
    question: str
    variant: str | None
    arm: str
    other: str
    difference: Difference | None
    replicates: int | None
    place: int | None = None
    p_adjusted: float | None = None
    verdict: Verdict = "not_tested"
    at_least: bool = False
    why: Why = ""
    detectable: Detectable | None = None
    needed: Needed | None = None
    chance: float | None = None


# ---- a look at the answers of one arm; row ids and labels, never text


@dataclass(frozen=True)
class ClassScores:
    """One class of an arm; for spans a type, and a span counts when both ends and the type agree.

    Attributes:
        precision, recall, f1: of each run.
        support: how often the class is the right answer; runs have it in common.
    """

    label: str
    precision: list[float]
    recall: list[float]
    f1: list[float]
    support: int

    @property
    def means(self) -> tuple[float, float, float]:
        """Precision, recall and F1 as means over runs."""
        precision, recall, f1 = (sum(scores) / len(scores) for scores in (self.precision, self.recall, self.f1))
        return precision, recall, f1


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix of one arm.

    Attributes:
        labels: rows and columns; for spans the types of the words, `O` first.
        counts: gold label -> predicted label -> rows (words) a run, as a mean over runs; what never occurred is left
            out.
    """

    labels: list[str]
    counts: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Error:
    """A row that so many runs answer wrongly, with the mean of their confidence.

    Attributes:
        gold, predicted: the right and the most frequent wrong answer; None where these are not labels of a whole row.
    """

    id: str
    runs: int
    confidence: float
    gold: str | None
    predicted: str | None


@dataclass(frozen=True)
class Inspection:
    """Details of one arm over all its runs.

    Attributes:
        classes: empty for answers and numbers, which have no classes.
        confusion: None where a row has no single label.
        errors: rows with the most confidence in wrong answers, summed over the runs; numbers are never simply wrong.
    """

    runs: int
    classes: list[ClassScores]
    confusion: Confusion | None
    errors: list[Error]


@dataclass(frozen=True)
class Task:
    """One task with all its arms from one base.

    Attributes:
        name: in tables and on the page: the task; with its base, `section/small`, where there are several.
        task, base: their names in params.yaml.
        steps, epochs: of fine-tuning once, the fewest of all arms; 0 without a result.
        classes: that an answer can be; 0 where answers are not of classes.
        labels: training rows used by each seed and, except for very large sets, by the baselines.
        baselines: name -> its score, with an interval.
        beside_baselines: name -> the chosen arm minus the baseline, paired by seed and test row; its lower end is that
            of the best of all arms.
        baseline_rows: the first of these rows, on which the baselines were fitted.
        chosen: the arm with the best mean score on the dev split, of those that mostly learned if any did; the test
            split is not considered.
        inspection: of the chosen arm, all its replicates; None without its predictions.
        scattered: arms whose runs lie clearly further apart than those of the others.
        test_groups: of the test rows, by the user's files or by a text that rows share; rows of one are resampled
            together. None where rows belong to no groups.
        test_texts: how many different texts the test rows have, where rows belong to no groups and some repeat the
            text of others, with which they are resampled; None where no text repeats.
        classes_unseen: that no training row of a seed has, rounded over the seeds; they are scored all the same.
        most_frequent: the share of test rows that have the label of most training rows, where a row has one label.
        failed_p: p-value of the first question's two shares of failed runs, by Fisher's exact test; None where they are
            equal.
    """

    name: str
    task: str
    base: str
    task_type: TaskType
    target: Target
    metric: str
    steps: int
    labels: int
    rows: dict[str, int]
    arms: list[Arm]
    baselines: dict[str, Interval]
    beside_baselines: dict[str, Difference]
    baseline_rows: int
    answers: list[Answer]
    chosen: str | None
    inspection: Inspection | None
    scattered: list[str] = field(default_factory=list)
    test_groups: int | None = None
    test_texts: int | None = None
    classes_unseen: int = 0
    epochs: float = 0
    classes: int = 0
    most_frequent: float | None = None
    failed_p: float | None = None

    @property
    def type(self) -> Type:
        """What it is, as task.json names it."""
        return spec_of(self.task_type, self.target).name

    @property
    def anchor(self) -> str:
        """The name as part of an id on the page and of the name of a file; names of params.yaml have no `-`."""
        return self.name.replace("/", "-")

    def without_result(self, arm: Arm) -> list[str]:
        """What lacks one, as messages call it: the arm, or some of its replicates."""
        name = "-".join([self.task, arm.name, *([self.base] if self.name != self.task else [])])
        if arm.missing:
            return [name]
        return [f"{name} ({each})" for each in arm.planned if each not in {run.replicate for run in arm.runs}]

    @property
    def independent_rows(self) -> int:
        """Independent rows of the test split: groups, or different texts."""
        return self.test_groups or self.test_texts or self.rows["test"]

    @property
    def has_subsets(self) -> bool:
        """Whether each seed has a subset of the training rows of its own."""
        return self.labels < self.rows["train"]

    @property
    def replicates(self) -> int:
        """The most that an arm has or should have."""
        return max((len(arm.planned) for arm in self.arms), default=1)

    def arm(self, name: str) -> Arm:
        return next(arm for arm in self.arms if arm.name == name)

    def sides(self, answer: Answer) -> tuple[Arm, Arm]:
        """The arm with what is asked for, and the other."""
        return self.arm(answer.arm), self.arm(answer.other)

    def says_something(self, answer: Answer) -> bool:
        """Whether there is a difference, and between arms that learned something."""
        return answer.difference is not None and not {answer.arm, answer.other} & set(self.unlearned)

    @property
    def chosen_arm(self) -> Arm | None:
        return self.arm(self.chosen) if self.chosen is not None else None

    @property
    def best_on_dev(self) -> list[str]:
        """`chosen` and the arms that equal it on the dev split; none where there was nothing to choose from, and none
        that learned nothing."""
        dev = {arm.name: arm.dev for arm in self.arms if arm.dev is not None}
        most = dev.get(self.chosen or "")
        best = [name for name, score in dev.items() if score == most and name not in self.unlearned]
        return best if len(dev) > 1 else []

    @property
    def unlearned(self) -> list[str]:
        """The arms that learned nothing: no difference from them says anything."""
        least = trivial(self.baselines)
        return [arm.name for arm in self.arms if arm.learned_nothing(least)]

    def price(self, answer: Answer) -> int | None:
        """Tokens of what is trained for it beyond the other arm; None where a cost is not known."""
        arm, other = (each.cost for each in self.sides(answer))
        return None if arm is None or other is None else arm.tokens - other.tokens

    @property
    def first(self) -> Answer | None:
        """What is tested first, or would be if it had been repeated."""
        return next((answer for answer in self.answers if answer.why != "described"), None)


# ---- several bases, several tasks


@dataclass(frozen=True)
class TaskMean:
    """The first question that several tasks share, answered for the mean of their scores.

    Attributes:
        tasks: the names of all tasks that this metric compares from this base.
        rows: of all of them by split.
        untested: those of them on which the question is not tested, so that it is not in the mean.
        answer: its place is 0, before the questions of the tasks; None where it is not tested.
    """

    base: str
    metric: str
    tasks: list[str]
    rows: dict[str, int]
    untested: list[str]
    answer: Answer

    @property
    def name(self) -> str:
        return ", ".join(self.tasks)


@dataclass(frozen=True)
class Standing:
    """One base in one arm.

    Attributes:
        difference: this base minus the first of the ranking, paired by seed and test row; None for the first itself,
            and where the two have no seed in common.
        p_adjusted: for all differences of the ranking that could be tested.
        verdict: None for the first.
    """

    base: str
    interval: Interval | None
    cost: Cost | None
    difference: Difference | None
    p_adjusted: float | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Ranking:
    """The bases of one task.

    Attributes:
        arm: whose dev scores order the bases: the arm with the best of them, as a mean over bases.
        order: the bases, the best first; those without that arm last.
        dev: base -> mean dev score in that arm.
        arms: each from every base that has it, in the order of the ranking; `arm` first.
        made_here: bases of which all weights were made here, and once: differences from them have no verdict.
    """

    task: str
    metric: str
    arm: str
    order: list[str]
    dev: dict[str, float]
    arms: dict[str, list[Standing]]
    made_here: list[str]


@dataclass(frozen=True)
class Source:
    """A corpus or a labelled set, with its row counts before and after validation.

    Attributes:
        rejected: reason -> rows.
        sharing: training rows that share one of their texts with test rows, and are kept.
    """

    name: str
    kind: Literal["corpus", "task"]
    demonstration: bool
    rows: int
    kept: int
    rejected: dict[str, int]
    sharing: int = 0


@dataclass(frozen=True)
class Comparison:
    """The results of all tasks and checkpoints.

    Attributes:
        min_gain: the smallest gain worth having, as a difference of scores.
        tasks: each task from each base.
        heldout: the held-out sets, general text first.
        rankings: of the bases, for each task that has several.
        spent: what all checkpoints and runs that have results took.
        one_more_replicate: what one more replicate of all steps above general pre-training and of the runs on it would
            cost; None where there is no such step, or metrics are missing.
        means: over the tasks of a base that one metric compares, where there are several.
    """

    confidence: float
    min_gain: float
    tasks: list[Task]
    checkpoints: list[Checkpoint]
    heldout: list[str]
    sources: list[Source]
    rankings: list[Ranking]
    spent: Cost
    one_more_replicate: Cost | None
    means: list[TaskMean] = field(default_factory=list)

    __pydantic_config__: ClassVar = Record.model_config

    @classmethod
    def read(cls, path: Path) -> "Comparison":
        """metrics/comparison.json.

        Raises:
            BadData: it is not what this class writes.
        """
        return validated(cls, path.read_bytes(), path, RUN_AGAIN)

    def as_json(self) -> dict[str, Any]:
        return dict(TypeAdapter(Comparison).dump_python(self, mode="json"))

    @property
    def began_from(self) -> dict[str, str]:
        """Base -> its public checkpoint."""
        return {each.base: each.below for each in self.checkpoints if each.is_public_below and each.below is not None}

    def takes_as_it_is(self, base: str) -> bool:
        """Whether a base is a checkpoint that general pre-training left alone."""
        return any(each.is_published for each in self.checkpoints if each.base == base)

    @property
    def bases(self) -> list[str]:
        """Bases in the order of params.yaml."""
        return list(dict.fromkeys(checkpoint.base for checkpoint in self.checkpoints))

    @property
    def replicates(self) -> int:
        """How often steps above general pre-training are trained; 1 where there are none."""
        return max([1, *(task.replicates for task in self.tasks)])

    def trained(self) -> list[tuple[Checkpoint, Replicate]]:
        """Every replicate, with its checkpoint."""
        return [(checkpoint, replicate) for checkpoint in self.checkpoints for replicate in checkpoint.replicates]
