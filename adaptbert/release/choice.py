"""The model of a task that is released: that of the report's answer, or a named one; refused where the record of the
comparison does not carry it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.comparison.records import TRIVIAL, Arm, Comparison, Run, Task, trivial
from adaptbert.errors import BadData, BadParams, Place, first_of, nearest
from adaptbert.release.words import in_a_line, t
from adaptbert.report.answer import Baseline, baseline_of, model_of, nothing_learned, recommended, rival_of
from adaptbert.report.language import EMPTY, Text, joined, points
from adaptbert.report.prose import sharing
from adaptbert.statistics.intervals import Interval

COMPARISON = Path("metrics/comparison.json")
_NAME_ONE = "settle it as reports/index.md says, or name a model and why: --arm {} --reason '...'"


@dataclass(frozen=True)
class Choice:
    """A model of a task.

    Attributes:
        model: an arm, or a linear baseline.
        doubt: why the comparison does not support it; empty where it does.
        reason: why it was named; empty where it was not.
    """

    task: Task
    model: Arm | Baseline
    doubt: Text
    reason: str

    @property
    def is_supported(self) -> bool:
        """Whether it is the model of the report's answer, and nothing is open about it."""
        return self.doubt == EMPTY

    @property
    def folder(self) -> Path:
        """The folder of its files, as the report names it."""
        if isinstance(self.model, Arm):
            return Path(model_of(self.model))
        assert self.model.folder is not None
        return Path(self.model.folder)

    @property
    def score(self) -> Interval:
        """The score on test that is to be expected of it."""
        if isinstance(self.model, Arm):
            assert self.model.interval is not None
            return self.model.interval
        return self.task.baselines[self.model.key]

    @property
    def name(self) -> str:
        return self.model.name if isinstance(self.model, Arm) else self.model.key

    @property
    def replicate(self) -> int:
        """Number of the checkpoint that was fine-tuned; 0 where there is one, and for a linear model."""
        planned = self.model.planned if isinstance(self.model, Arm) else {}
        return next((number for number, key in planned.items() if key == self.folder.name), 0)

    def run(self, seed: int) -> Run | None:
        """The run of an arm whose weights are released; None for a linear model."""
        runs = self.model.runs if isinstance(self.model, Arm) else []
        return next((run for run in reversed(runs) if (run.replicate, run.seed) == (self.replicate, seed)), None)


def read(path: Path = COMPARISON) -> Comparison:
    """The comparison; raises BadData where there is none."""
    if not path.is_file():
        raise BadData(Code.NOT_SUPPORTED, path, "missing: nothing was compared", "run `make recipe`")
    return Comparison.read(path)


def choose(comparison: Comparison, name: str, model: str | None, reason: str) -> Choice:
    """The model of a task to release.

    Args:
        name: of the task; of a task from several bases also `task/base`.
        model: the name of an arm, or of the baseline that is a linear model; None: that of the report's answer.
        reason: why it is named.

    Raises:
        BadParams: an unknown name, or a model without a reason or the reverse.
        BadData: the record lacks a result or a seed, or says that the model learned nothing; or, where none is named,
            it leaks or is undecided about that of the answer.
    """
    if (model is None) != (not reason.strip()):
        problem = "an arm is named without a reason" if model else "a reason without the arm that it is for"
        raise BadParams(Code.CONTRADICTION, "--reason", problem, "write both: --arm ARM --reason '...'")
    task = _task(comparison, name)
    if lacking := [*_lacking(task)]:
        raise _refused(task, f"incomplete: without a result: {first_of(lacking, 10)}", "run `make recipe`")
    answered = recommended(task, comparison.min_gain)
    chosen = answered if model is None else _named(task, model)
    if chosen is None:
        raise _unlearned(task, [arm.name for arm in task.arms])
    leak, is_other = _leak(task, comparison), answered is not None and chosen != answered
    doubt = t("It is not the model of the report's answer.") if is_other else _doubt(task, comparison.min_gain, chosen)
    if model is None and leak + doubt != EMPTY:
        problem = f"{'undecided' if leak == EMPTY else 'leaky'}: {(leak + doubt).en}"
        raise _refused(task, problem, _NAME_ONE.format(" or ".join(_models(task))))
    return Choice(task, chosen, leak + doubt, in_a_line(reason))


def _task(comparison: Comparison, name: str) -> Task:
    tasks = [task for task in comparison.tasks if name in (task.name, task.task)]
    if len(tasks) == 1:
        return tasks[0]
    names = [task.name for task in tasks or comparison.tasks]
    if tasks:
        problem, remedy = f"'{name}' is compared from {len(tasks)} bases", f"name one: {' or '.join(names)}"
        raise BadParams(Code.UNKNOWN_KEY, "TASK", problem, remedy)
    problem = f"'{name}' is no task of {COMPARISON}{nearest(name, names)}"
    raise BadParams(Code.UNKNOWN_KEY, "TASK", problem, f"there are: {first_of(names, 10)}")


def _models(task: Task) -> dict[str, Arm | Baseline]:
    """The models that can be named."""
    linear = {key: baseline_of(task, key) for key in task.baselines if key not in TRIVIAL}
    return {arm.name: arm for arm in task.arms if not arm.missing and arm.name not in task.unlearned} | linear


def _named(task: Task, model: str) -> Arm | Baseline:
    if model in task.unlearned:
        raise _unlearned(task, [model])
    models = _models(task)
    if model not in models:
        problem = f"'{model}' is neither an arm of {task.name} nor its linear model{nearest(model, [*models])}"
        raise BadParams(Code.UNKNOWN_KEY, "--arm", problem, f"there are: {', '.join(models) or 'none'}")
    return models[model]


# ---- what the record does not carry


def _refused(task: Task, problem: str, remedy: str) -> BadData:
    return BadData(Code.NOT_SUPPORTED, Place(str(COMPARISON), (task.name,)), problem, remedy)


def _leak(task: Task, comparison: Comparison) -> Text:
    """What is said of test text in training; rows that `validate` left out were seen by no model."""
    own = [each for each in comparison.sources if (each.kind, each.name) == ("task", task.task) and each.sharing]
    return joined([*map(sharing, own)])


def _lacking(task: Task) -> Iterator[str]:
    """Arms without a result, and replicates that lack a seed of the task."""
    every = {run.seed for arm in task.arms for run in arm.runs}  # all arms of a task have the same seeds
    for arm in task.arms:
        yield from task.without_result(arm)
        for replicate in dict.fromkeys(run.replicate for run in arm.runs):
            own = {run.seed for run in arm.runs if run.replicate == replicate}
            yield from (f"{task.task}-{arm.name} ({replicate}), seed {seed}" for seed in sorted(every - own))


def _unlearned(task: Task, arms: Sequence[str]) -> BadData:
    least = trivial(task.baselines)
    scored = "" if least is None else f", or it scores no higher than the most trivial baseline, {points(least)}"
    linear = [name for name, model in _models(task).items() if isinstance(model, Baseline)]
    instead = f"; until then: --arm {linear[0]} --reason '...'" if linear else ""
    problem = f"learned nothing: {first_of(arms, 10)}: half of its runs failed{scored}"
    return _refused(task, problem, f"train longer, as reports/index.md says{instead}")


def _doubt(task: Task, min_gain: float, taken: Arm | Baseline) -> Text:
    """What is open about the model of the answer; empty where the comparison supports it.

    A baseline is taken for its price, and the arm of the other side of a question claims nothing of the step. An arm
    with a step is supported by a gain of it alone.
    """
    if nothing_learned(task):
        return t("No arm learned anything.")
    if isinstance(taken, Baseline):
        return EMPTY if taken.folder else t("No arm is shown to score higher than “{name}”.", name=taken.name)
    if (rival := rival_of(task, min_gain)) is not None:
        return t("No arm is shown to score higher than “{name}”.", name=rival.name)
    first = task.first
    if first is None:
        return EMPTY if len(task.arms) == 1 else t("No question about its arms was asked.")
    is_other = first.verdict != "not_tested" and taken.name == first.other
    if is_other or any((each.arm, each.verdict) == (taken.name, "gain") for each in task.answers):
        return EMPTY
    return t("`{arm}` is the best on dev, and no gain of it is shown.", arm=taken.name)
