"""The first screen: a case for each thing that it can say, and in said/answer.md what it says, in both languages."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from adaptbert.comparison.records import TRIVIAL, Answer, Arm, Checkpoint, Comparison, Needed, Run, Task, TaskMean
from adaptbert.core.record import Cost
from adaptbert.report import answer
from adaptbert.report.language import Text, joined
from adaptbert.statistics.intervals import Difference, Interval
from adaptbert.statistics.power import Design
from adaptbert.statistics.verdicts import Verdict
from tests.support.judged_answers import answered, difference
from tests.support.known import known
from tests.support.snapshots import Said, agrees, both

SAID = Path(__file__).parent / "said/answer.md"


def recipe(task: Task, mean: float, half: float | None, verdict: Verdict, **changes: Any) -> Answer:
    return replace(answered(task, "recipe", mean, half, verdict, 0.04), **changes)


def untested(task: Task, why: str, **changes: Any) -> Answer:
    return recipe(task, 0.047, 0.02, "not_tested", **{"why": why, "place": None, "p_adjusted": None, **changes})


def alone(task: Task, first: Answer) -> Task:
    """Nothing else was compared."""
    return replace(task, answers=[first])


# ---- what was asked first


def headings(comparison: Comparison) -> Said:
    task = comparison.tasks[0]
    gain, more = recipe(task, 0.047, 0.02, "gain"), recipe(task, 0.047, 0.02, "gain", at_least=True)
    other = replace(answered(task, "domain_text", 0.0, 0.02, "undecided"), question="which_text")
    cases = {
        "one task": [gain],
        "equal on several tasks": [more, more, more],
        "unequal on several tasks": [more, recipe(task, 0.0, 0.02, "undecided"), more, gain],
        "another question": [more, other, recipe(task, -0.02, 0.01, "loss"), recipe(task, 0, 0.002, "equivalent")],
        "not repeated": [untested(task, "once")],
        "no question of the order": [replace(gain, why="described", verdict="not_tested"), gain],
        "no task": [],
    }
    for name, firsts in cases.items():
        tasks = [replace(alone(task, first), name=f"task{place}") for place, first in enumerate(firsts)]
        yield f"Heading: {name}", answer.heading(replace(comparison, tasks=tasks))
    rival = {"tfidf_logistic": Interval(0.95, None, None)}
    below = replace(alone(task, more), baselines=rival, beside_baselines=dict.fromkeys(rival, difference(-0.1, 0.05)))
    tasks = [below, replace(alone(task, gain), name="mention")]
    yield "Heading: a baseline is better", answer.heading(replace(comparison, tasks=tasks))
    firsts = [gain, more, more, recipe(task, 0.0, 0.02, "undecided"), more]
    tasks = [replace(alone(task, first), name=f"task{place}") for place, first in enumerate(firsts)]
    nothing = learned(replace(task, name="failed"), 0.05)
    yield "Heading: many tasks", answer.heading(replace(comparison, tasks=[*tasks, nothing]))
    yield "Heading: many tasks and their mean", answer.heading(in_mean(more, replace(comparison, tasks=tasks)))
    open_mean = recipe(task, 0.012, 0.02, "undecided")
    two = replace(comparison, tasks=tasks[1:3])
    yield "Heading: two tasks and their mean", answer.heading(in_mean(open_mean, two))
    yield "Heading: a mean that is not tested", answer.heading(in_mean(open_mean, two, untested=["task1"]))
    fine = replace(comparison, min_gain=0.0025, tasks=tasks[1:3])
    yield "Heading: a small gain is worth having", answer.heading(fine)


def in_mean(first: Answer, comparison: Comparison, untested: Sequence[str] = ()) -> Comparison:
    """With this answer in the mean of all tasks."""
    names = [task.name for task in comparison.tasks]
    return replace(comparison, means=[TaskMean("small", "f1_macro", names, {"test": 600}, [*untested], first)])


def means(task: Task, comparison: Comparison) -> Said:
    two = replace(comparison, tasks=[task, replace(task, name="mood")])
    design = {"needed": Needed(0.017, Design(5, 8, 1234.5), None)}
    for name, first, untested in (
        ("a gain worth having", recipe(task, 0.021, 0.008, "gain", at_least=True), []),
        ("a gain that is open", recipe(task, 0.017, 0.012, "gain"), []),
        ("probable, and not shown", recipe(task, 0.027, 0.03, "undecided", **design), []),
        ("equivalent", recipe(task, 0.001, 0.005, "equivalent"), []),
        ("a task without a result", untested_mean(task), ["mood"]),
        ("no spread", untested_mean(task, why="no_spread"), []),
    ):
        compared = in_mean(first, two, untested)
        yield f"Mean: {name}", answer.of_mean(compared.means[0], compared)


def untested_mean(task: Task, why: str = "missing") -> Answer:
    return untested(task, why, difference=difference(0.1, 0.0))


# ---- the answer


def answers(task: Task, comparison: Comparison) -> Said:
    task = replace(task, beside_baselines={})
    gain, smaller = recipe(task, 0.047, 0.02, "gain", at_least=True), recipe(task, 0.004, 0.02, "undecided")
    design = replace(smaller, needed=Needed(0.01, Design(6, 8, 1234.5), None))
    rows = {"needed": Needed(0.01, None, 4_321), "chance": 0.4}
    own = replace(gain, question="which_text", arm="task", other="domain")
    classes = ["ham", "spam", "jam", "lamb", "clam"]
    silent = [replace(arm, never_predicted=classes[:n]) for n, arm in enumerate(task.arms)]
    accurate = [replace(arm, accuracy=0.66 + 0.01 * n) for n, arm in enumerate(task.arms)]
    unknown = [replace(arm, cost=None) if arm.name == "domain_task" else arm for arm in task.arms]
    rival = {"tfidf_logistic": Interval(0.837, None, None)}
    of = alone(task, gain)
    cases = {
        "gain of at least what is worth having": of,
        "gain that may be smaller": alone(task, recipe(task, 0.012, 0.01, "gain")),
        "gain that is smaller": alone(task, recipe(task, 0.004, 0.002, "gain")),
        "loss": alone(task, recipe(task, -0.047, 0.02, "loss")),
        "equivalent": alone(task, recipe(task, 0.001, 0.005, "equivalent")),
        "equal scores": alone(task, recipe(task, 0.0, 0.0, "equivalent")),
        "undecided": alone(task, smaller),
        "undecided, a design would settle it": alone(task, replace(design, chance=0.4)),
        "undecided, a design would show that it is not worth it": alone(task, design),
        "undecided, and it alone would be a gain": alone(
            task, recipe(task, 0.03, 0.02, "undecided", p_adjusted=0.0712)
        ),
        "undecided, and probably worth it": alone(task, recipe(task, 0.06, 0.065, "undecided")),
        "undecided, and rather worth it": alone(task, recipe(task, 0.02, 0.03, "undecided")),
        "undecided, and rather not worth it": alone(task, recipe(task, 0.008, 0.02, "undecided")),
        "undecided, rows would": alone(task, replace(smaller, **rows)),
        "undecided, and no gain": alone(task, recipe(task, -0.011, 0.017, "undecided", **rows)),
        "undecided, and no gain, of all labels": replace(
            alone(task, recipe(task, -0.011, 0.017, "undecided")), labels=task.rows["train"]
        ),
        "undecided, and rather a loss": alone(task, recipe(task, -0.004, 0.02, "undecided", **rows)),
        "undecided, nothing would": alone(task, replace(smaller, needed=Needed(0.01, None, None), chance=0.4)),
        "costs that are rounded to nothing": alone(task, replace(design, chance=0.4)),
        "classes that no label shows": replace(of, classes_unseen=44),
        "classes that no run predicts": replace(of, arms=silent),
        **{f"{n:.0%} of the rows have one label": replace(of, arms=accurate, most_frequent=n) for n in (0.72, 0.7)},
        "beside random weights": alone(task, replace(gain, other="scratch")),
        "a question of one's own, of an arm that is cheaper": alone(task, own),
        "a baseline clearly above the model": beside(of, rival, difference(-0.3, 0.05)),
        "a baseline as high as the model": beside(of, rival, difference(-0.01, 0.05)),
        "undecided, and a baseline as high as the model": beside(alone(task, smaller), rival, difference(-0.01, 0.05)),
        "a small gain, and a baseline as high as the model": beside(
            alone(task, recipe(task, 0.004, 0.002, "gain")), rival, difference(-0.01, 0.05)
        ),
        "at an unknown price": replace(of, arms=unknown),
        "runs that failed": failing(of, 0.21, general=[2], task=[1, 3]),
        "runs that hardly failed by luck": failing(of, 0.021, general=[2, 3]),
        "a run that failed twice": failing(of, None, general=[2], task=[-12]),
        "an arm that mostly failed": failing(of, 0.4, general=[-1, -2]),
    }
    for name, each in cases.items():
        spent = replace(comparison, spent=Cost(tokens=1, tflop=0.0)) if "rounded" in name else comparison
        yield f"Answer: {name}", told(each, spent)


def told(task: Task, comparison: Comparison) -> Text:
    """The answer and what stands beside it."""
    return answer.answer(task, comparison) + answer.besides(task, comparison)


def beside(task: Task, baselines: dict[str, Interval], gap: Difference) -> Task:
    """With these baselines, which the chosen arm lies so far from."""
    return replace(task, baselines=baselines, beside_baselines=dict.fromkeys(baselines, gap))


def reasons(task: Task, comparison: Comparison) -> Said:
    without_price = replace(comparison, one_more_replicate=None)
    few = {f"{n} of 3 seeds": untested(task, "few_seeds", difference=difference(0.047, None, seeds=n)) for n in (1, 2)}
    missing = [
        replace(arm, runs=[], interval=None)
        if arm.name == "general"
        else replace(arm, planned={**arm.planned, 7: "another replicate"})
        for arm in task.arms
    ]
    cases = {
        **{
            f"{name} learned nothing": learned(alone(task, untested(task, "nothing_learned")), 0.05, name)
            for name in ("general", "domain_task")
        },
        "trained once": alone(task, untested(task, "once")),
        "trained once, without a price": alone(task, untested(task, "once")),
        "general pre-training": alone(task, untested(task, "pretrained_once", other="scratch")),
        "without a result": replace(alone(task, untested(task, "missing", difference=None)), arms=missing),
        "no seed in common": alone(task, untested(task, "no_seed", difference=None)),
        **{name: alone(task, each) for name, each in few.items()},
        "no spread": alone(task, untested(task, "no_spread", difference=difference(0.1, 0.0))),
        "equal scores of few rows": alone(task, untested(task, "no_spread", difference=difference(0.0, 0.0))),
        "no question of the order": replace(task, answers=[]),
    }
    for name, each in cases.items():
        yield f"Not tested: {name}", told(each, without_price if "price" in name else comparison)


def parts(task: Task, comparison: Comparison) -> Said:
    """Parts of the recipe, with what was described or tested of its steps."""
    gain = recipe(task, 0.047, 0.02, "gain", at_least=True)
    steps = [
        answered(task, "domain_transfer", 0.05, 0.02, "gain"),
        answered(task, "task_transfer", -0.003, 0.02, "undecided"),
        answered(task, "domain_text", 0.02, 0.02, "undecided"),
        answered(task, "more_training", 0.03, 0.02, "not_tested"),
    ]
    domain, of_task, text, longer = steps
    of_domain = replace(gain, arm="domain")
    cases = {
        "two steps": [gain, *steps],
        "no control with general text": [gain, domain, of_task],
        "general text brings more": [gain, domain, text, answered(task, "more_training", 0.08, 0.02, "not_tested")],
        "the recipe is domain transfer": [of_domain, text, longer],
        "the recipe is domain transfer, without the control": [of_domain],
        "the recipe is task transfer": [replace(gain, arm="task")],
        "domain transfer comes first": [domain, of_task, text, longer],
        "task transfer comes first": [of_task, gain, domain],
        "a step without a result": [gain, replace(domain, difference=None), of_task, longer],
    }
    for name, answers in cases.items():
        yield f"Parts: {name}", answer.parts(replace(task, answers=answers), comparison)
    without = replace(task, answers=[gain, domain], arms=[arm for arm in task.arms if arm.role != "general_long"])
    yield "Parts: no arm `general_long`", answer.parts(without, comparison)
    lost = replace(without, answers=[gain, replace(domain, difference=difference(-0.05, 0.02))])
    yield "Parts: a loss, and no arm `general_long`", answer.parts(lost, comparison)
    no_text = replace(comparison, sources=[each for each in comparison.sources if each.name != "general"])
    yield "Parts: no arm `general_long`, and no general text", answer.parts(without, no_text)
    nothing = learned(replace(task, answers=[gain, *steps]), 0.05, "general")
    yield "Parts: `general` learned nothing", answer.parts(nothing, comparison)
    bits = {
        "text of another kind": {"domain": (4.2, 3.1), task.task: (9.06, 9.453)},
        "a rise that says little": {"domain": (4.2, 3.1), task.task: (9.06, 9.1)},
        "a step that learned nothing": {"domain": (4.2, 4.3), task.task: (9.06, 9.453)},
        "text that was not measured": {"domain": (4.2, 3.1)},
    }
    for name, measured in bits.items():
        for never in (False, True):
            far = replace(comparison, checkpoints=[moved(each, measured, never) for each in comparison.checkpoints])
            told = answer.parts(replace(task, answers=[]), far)
            yield f"Parts: {name}{', by a head that was never trained' if never else ''}", told


def moved(checkpoint: Checkpoint, measured: dict[str, tuple[float, float]], random_head: bool) -> Checkpoint:
    """One of domain transfer from the first base, in which the bits per character of texts moved so."""
    if (checkpoint.role, checkpoint.base) != ("domain", "small"):
        return checkpoint
    before, after = ({name: both[at] for name, both in measured.items()} for at in (0, 1))
    one = replace(checkpoint.replicates[0], before=before, after=after, random_head=random_head)
    return replace(checkpoint, replicates=[one])


def failing(task: Task, p: float | None, /, **seeds: list[int]) -> Task:
    """Runs of these seeds failed; where the seed is negative, twice. Beyond 10, the arm has as many seeds again."""

    def runs(arm: Arm) -> list[Run]:
        own = {abs(seed): seed < 0 for seed in seeds.get(arm.name, [])}
        more = [replace(run, seed=10 + run.seed) for run in arm.runs if max(own, default=0) > 10]
        again = [replace(run, failed=own[run.seed]) for run in [*arm.runs, *more] if run.seed in own]
        return [*(replace(run, failed=run.seed in own) for run in [*arm.runs, *more]), *again]

    return replace(task, failed_p=p, arms=[replace(arm, runs=runs(arm)) for arm in task.arms])


# ---- what to do next


def next_steps(task: Task, comparison: Comparison) -> Said:
    task = replace(task, beside_baselines={})
    gain, loss = recipe(task, 0.047, 0.02, "gain", at_least=True), recipe(task, -0.047, 0.02, "loss")
    equivalent, undecided = recipe(task, 0.001, 0.005, "equivalent"), recipe(task, 0.004, 0.02, "undecided")
    design = {"needed": Needed(0.01, Design(6, 8, 1234.5), None)}
    cases: dict[str, Answer] = {
        "a gain": gain,
        "a loss": loss,
        "equivalent": equivalent,
        "equivalent beside random weights": replace(equivalent, other="scratch"),
        "equivalent beside another arm": replace(
            answered(task, "domain_text", 0.001, 0.005, "equivalent"), other="general_long"
        ),
        "a gain that is smaller than what is worth having": recipe(task, 0.004, 0.002, "gain"),
        "a gain of an arm that is not the best on dev": replace(gain, arm="domain"),
        "a loss of an arm that is not the best on dev": replace(loss, arm="domain"),
        "undecided, a design would settle it": replace(undecided, **design),
        "undecided, a design would show a loss": recipe(task, -0.004, 0.02, "undecided", **design),
        "probable, a design would settle it": replace(recipe(task, 0.06, 0.065, "undecided"), **design),
        "undecided, rows would": replace(undecided, needed=Needed(0.01, None, 4_321)),
        "trained once": untested(task, "once"),
        "beside random weights": untested(task, "pretrained_once", other="scratch"),
        "too few seeds": untested(task, "few_seeds"),
        "too few seeds and one replicate": untested(task, "few_seeds", replicates=1),
        "no seed in common": untested(task, "no_seed", difference=None),
        "an arm without a result": untested(task, "missing", difference=None),
    }
    for name, first in cases.items():
        yield f"Next: {name}", answer.next_step(alone(task, first), comparison)
        yield f"Model: {name}", answer.models(alone(task, first), comparison)[0][0]
    of, baselines = alone(task, gain), {"tfidf_logistic": Interval(0.437, None, None)}
    nothing = learned(replace(task, steps=38, epochs=3, classes=12, labels=200), 0.05)
    trivial = {"majority": nothing.baselines["majority"]}
    of_general, below = (
        learned(alone(task, untested(task, "nothing_learned")), 0.05, "general", best=best) for best in (0.1, 0.9)
    )
    lost = failing(alone(task, untested(task, "few_seeds")), None, general=[-2])
    mostly = failing(alone(task, untested(task, "nothing_learned")), None, general=[-1, -2])
    yield "Reason: an arm mostly failed", answer.not_tested(mostly.answers[0], mostly, comparison)
    for name, each in {
        "too few seeds, as one failed twice": lost,
        "`general` mostly failed": mostly,
        "no question of the order": replace(task, answers=[]),
        "no result": replace(task, chosen=None),
        "a baseline that scores higher": beside(of, baselines, difference(-0.1, 0.05)),
        "a baseline that scores as high": beside(of, baselines, difference(0.01, 0.05)),
        "a baseline that scores as high as these weights": beside(of, baselines, difference(0.01, 0.05, replicates=1)),
        "a baseline that scores lower": beside(of, baselines, difference(0.1, 0.05)),
        "a baseline that has no interval": beside(of, baselines, difference(0.01, None, seeds=2)),
        "nothing learned": nothing,
        "nothing learned from all labels, in enough steps": replace(nothing, steps=300, labels=task.rows["train"]),
        "nothing learned, no baseline is better": replace(nothing, baselines=trivial),
        "nothing learned in an unknown number of epochs": replace(nothing, epochs=0),
        "`general` learned nothing, and the model is above the baselines": of_general,
        "`general` learned nothing, and a baseline is above the model": below,
        "`general` learned nothing, and there is no baseline": replace(below, baselines={}),
    }.items():
        yield f"Next: {name}", answer.next_step(each, comparison)
        yield f"Models: {name}", joined([title for title, _ in answer.models(each, comparison)], "; ", "；")


def learned(task: Task, score: float, *names: str, trivial: str = "majority", best: float = 0.5) -> Task:
    """These arms, or all, have this score, a baseline .07, and another one more."""
    arms = [
        replace(arm, interval=replace(known(arm.interval), mean=score)) if arm.name in (names or [arm.name]) else arm
        for arm in task.arms
    ]
    least = replace(task.baselines["majority"], mean=0.07)
    baselines = {"tfidf_logistic": replace(least, mean=best), trivial: least}
    return replace(task, arms=arms, baselines=baselines, beside_baselines={})


def first_screen(comparison: Comparison) -> str:
    task = comparison.tasks[0]
    kinds = (answers(task, comparison), reasons(task, comparison), parts(task, comparison))
    kinds = (means(task, comparison), *kinds)
    said = [*headings(comparison), *(each for kind in kinds for each in kind), *next_steps(task, comparison)]
    return both(iter(said))


def test_what_the_first_screen_says(comparison: Comparison) -> None:
    agrees(SAID, first_screen, comparison)


# ---- what holds of all of it


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_nothing_but_a_gain_is_called_so(comparison: Comparison, verdict: Verdict) -> None:
    task = comparison.tasks[0]
    first = untested(task, "once") if verdict == "not_tested" else recipe(task, 0.047, 0.02, verdict)
    compared = replace(comparison, tasks=[alone(task, first)])
    said = answer.heading(compared) + told(compared.tasks[0], compared)
    assert bool(re.search(r"\bgains?\b|: worth it", said.en)) == (verdict == "gain")
    assert bool(re.search("有提升|提高|：值得", said.zh)) == (verdict == "gain")


@pytest.mark.parametrize(("baseline", "is_trivial"), [*((name, True) for name in TRIVIAL), ("window_logistic", False)])
@pytest.mark.parametrize("score", [0.05, 0.07, 0.08])
def test_models_that_learned_nothing_are_told_to_learn_and_have_no_mark(
    comparison: Comparison, score: float, baseline: str, is_trivial: bool
) -> None:
    """They score no better than the most trivial baseline; one arm that learned something is enough."""
    task = learned(comparison.tasks[0], score, trivial=baseline)
    is_nothing = is_trivial and score <= 0.07
    compared = replace(comparison, tasks=[task])
    assert ("models learned nothing" in answer.heading(compared).en) == is_nothing
    assert ("two to five times the `learning_rate`" in answer.next_step(task, comparison).en) == is_nothing
    assert (task.best_on_dev == [] and not any(map(task.says_something, task.answers))) == is_nothing
    one = [replace(task.arms[0], interval=replace(known(task.arms[0].interval), mean=0.5)), *task.arms[1:]]
    assert "learned nothing" not in answer.heading(replace(compared, tasks=[replace(task, arms=one)])).en


def test_the_model_is_the_replicate_that_is_best_on_dev(several: Comparison) -> None:
    task = several.tasks[0]
    for best in (1, 2):
        runs = [replace(run, dev=0.9 if run.replicate == best else 0.8, score=0.1) for run in task.arm("domain").runs]
        assert answer.model_of(replace(task.arm("domain"), runs=runs)) == f"models/finetune/section-domain-small-{best}"
    assert answer.model_of(task.arm("general")) == "models/finetune/section-general-small"
