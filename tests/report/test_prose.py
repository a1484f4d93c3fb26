"""Sentences say what the figures carry and what was repeated, and no more: a case for each thing there is to say, and
what is said of it in said/prose.md, in English and Chinese."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from adaptbert.comparison.records import Arm, Comparison, Cost, Detectable, Needed, Step, Task
from adaptbert.report import prose
from adaptbert.report.language import EMPTY, Text
from adaptbert.statistics.intervals import Interval
from adaptbert.statistics.power import Design
from adaptbert.statistics.verdicts import GAINS, Verdict
from tests.support.judged_steps import answered, difference, retrained
from tests.support.known import known
from tests.support.snapshots import agrees

SAID = Path(__file__).parent / "said/prose.md"
Said = Iterator[tuple[str, Text | Iterable[Text] | None]]
"""Case -> what is said."""

STEPS: dict[str, dict[str, Any]] = {
    "undecided": {},
    "of an unknown spread": {"detectable": Detectable(0.078, 0.04, 1.116)},
    "hopeless": {"detectable": Detectable(1.2, 0.6, 15.0)},
    "a design would settle it": {"needed": Needed(Design(6, 8, 1234.5), None)},
    "more rows would": {"needed": Needed(None, 4_321)},
    "nothing would": {"needed": Needed(None, None)},
    "fine-tuned otherwise": {"own_values": ["domain"]},
    "no seed in common": {"difference": None},
    "one seed": {"difference": difference(0.02, None, seeds=1)},
    "two seeds": {"difference": difference(0.02, None, seeds=2)},
    "scores alike": {"difference": difference(0.0, 0.0)},
    **{verdict: {"verdict": verdict} for verdict in ("no_worse", "no_difference", "gain", "descriptive")},
}
BASELINES = {
    "scores lower": difference(-0.35, 0.05),
    "scores higher": difference(0.4, 0.05),
    "is as good, without test rows": replace(difference(0.01, 0.05), variance={"seeds": 1e-4}),
    "of one replicate scores lower": difference(-0.35, 0.05, replicates=1),
    "of one replicate scores higher": difference(0.4, 0.05, replicates=1),
    "of a checkpoint that is trained once is as good": difference(0.01, 0.05, replicates=0),
    "has too few seeds": difference(-0.75, None, seeds=2),
}
"""The chosen arm, minus the only baseline; training the steps again may turn round what holds of one replicate."""
MASKS: list[dict[str, float]] = [
    {"specials": 3},
    {"rate": 0.171},
    {"documents_without": 0.84},
    {"documents_whole": 0.009},
    {"documents_whole": 0.16, "documents_whole_expected": 0.16},
]


def undecided(task: Task, **changes: Any) -> Step:
    return replace(answered(task, "task_transfer_after_domain", -0.004, 0.02, "undecided", 1.0), **changes)


def with_arms(task: Task, /, **changes: dict[str, Any]) -> Task:
    return replace(task, arms=[replace(arm, **changes.get(arm.name, {})) for arm in task.arms])


WITHOUT: dict[str, Any] = {"runs": [], "interval": None}
"""An arm that was planned and has no result."""


def alike(arm: Arm, **changes: Any) -> Arm:
    return replace(arm, runs=[replace(run, **changes) for run in arm.runs])


def judged(comparison: Comparison, *verdicts: dict[str, Verdict]) -> Comparison:
    """The comparison with one task for each mapping from primary questions to verdicts; every difference is 4.7."""
    first = comparison.tasks[0]
    of_tasks = []
    for place, chosen in enumerate(verdicts):
        own = [replace(answered(first, name, 0.047, 0.02, verdict), primary=True) for name, verdict in chosen.items()]
        of_tasks.append(replace(first, name=f"task{place}", steps=own))
    return replace(comparison, tasks=of_tasks)


def of_a_step(task: Task) -> Said:
    for name, changes in STEPS.items():
        yield f"A step: {name}", prose.left_open(undecided(task, **changes), task, 0.01)
    bare = with_arms(task, domain=WITHOUT, general_long=WITHOUT)
    step = replace(known(task.step("domain_text")), difference=None)
    yield "A step: without results", prose.left_open(step, bare, 0.01)
    for replicates in (1, None):
        step = undecided(task, replicates=replicates)
        yield f"A step rests on: {replicates} replicates", prose.behind(known(step.difference), step, task)


def of_a_task(task: Task) -> Said:
    for name, gap in BASELINES.items():
        baselines = {"tfidf_logistic": Interval(0.437, None, None, None, 3)}
        beside = dict.fromkeys(baselines, gap)
        only = replace(task, baselines=baselines, beside_baselines=beside, chosen="domain")
        yield f"Beside a baseline, an arm that {name}", prose.against_baselines(only, 0.95)
    yield "Beside several baselines", prose.against_baselines(task, 0.95)
    yield "Beside baselines on fewer rows", prose.against_baselines(replace(task, baseline_rows=120), 0.95)
    yield "The best arm", prose.best(task)
    equal = [alike(arm, dev=0.3) for arm in task.arms[:2]]
    yield "The best arm, of two that are equal", prose.best(replace(task, arms=equal, chosen="scratch"))
    yield "The best arm, of one", prose.best(replace(task, arms=task.arms[:1], chosen="scratch"))
    yield "The best arm, of none", prose.best(replace(task, chosen=None))
    for changes in ({}, {"test_texts": None}, {"test_groups": 80}):
        yield f"Test rows: {changes}", prose.test_rows(replace(task, **changes))
    described = [replace(step, primary=False) for step in task.steps]
    yield "No primary question", prose.uncompared(replace(task, steps=described))
    yield "No arm", prose.uncompared(replace(task, arms=[]))
    failed = alike(task.arms[0], degenerate=True)
    yield "Regression that failed", prose.degenerate(replace(task, target="number", arms=[failed]))
    primary = {known(task.step(step.name)).arm for step in task.steps if step.primary}
    for name in prose.TRIVIAL:
        for mean in (min(known(task.arm(arm).interval).mean for arm in primary) - 1e-6, 0.99):
            trivial = replace(task.baselines["majority"], mean=mean)
            baselines = {"tfidf_logistic": replace(trivial, mean=1.0), name: trivial}
            yield f"{name} {mean:.2f}", prose.nothing_learned(replace(task, baselines=baselines))
    yield "No trivial baseline", prose.nothing_learned(replace(task, baselines={}))


def of_all(comparison: Comparison, several: Comparison) -> Said:
    first, second = comparison.tasks
    yield (
        "Answers",
        prose.answers(
            judged(
                comparison,
                {"domain_text": "worth_it", "task_transfer_after_domain": "undecided", "climb": "one_draw"},
                {"domain_text": "no_worse", "task_transfer_after_domain": "undecided", "climb": "one_draw"},
                {"domain_text": "worth_it", "climb": "untested"},
            )
        ),
    )
    described = [replace(step, primary=False, verdict="descriptive") for step in first.steps]
    for name, tasks in (
        ("no primary question", [replace(first, steps=described)]),
        ("no step", [replace(first, steps=[])]),
        ("no task", []),
    ):
        yield f"Answers: {name}", prose.answers(replace(comparison, tasks=tasks))
    yield "Answers on tasks from several bases", prose.answers(several)
    cost = Cost(4_500_000, 143.0)
    climb = [replace(step, primary=step.question == "climb") for step in first.steps]
    for name, tasks, price in (
        ("with a price", comparison.tasks, cost),
        ("without", comparison.tasks, None),
        ("where that brings no verdict", [replace(first, steps=climb)], cost),
    ):
        once = replace(comparison, tasks=tasks, one_more_replicate=price)
        yield f"Steps that were not repeated: {name}", prose.repeated(once)
    yield "Facts", prose.facts(comparison)
    rejected = {"domain": {"duplicate": 800, "dev_or_test_text": 1_012}, "section": {"in_test": 3}}
    sources = [replace(source, rejected=rejected.get(source.name, {})) for source in comparison.sources]
    failed = first.arm("task").runs
    failed = [replace(failed[0], degenerate=True), *failed[1:]]
    spoilt = with_arms(replace(first, scattered=["scratch", "task"]), task={"runs": failed, "planned": [0, 1]})
    for name in ("a design would settle it", "more rows would", "nothing would"):
        tasks = [replace(spoilt, steps=[undecided(first, **STEPS[name])]), with_arms(second, scratch=WITHOUT)]
        changes = {"tasks": tasks, "sources": sources, "spent": Cost(12_300_000, 456.78), "confidence": 0.9}
        yield f"Facts: {name}", prose.facts(replace(comparison, **changes))
    own = [replace(source, demonstration=source.name == "general") for source in comparison.sources]
    yield "Demonstration", prose.demonstration(replace(comparison, sources=own))
    yield "No demonstration", prose.demonstration(replace(comparison, sources=[]))


def of_bases_and_checkpoints(comparison: Comparison, several: Comparison) -> Said:
    ranking = several.rankings[0]
    first, second = ranking.arms[0].standings
    dearer = replace(ranking.arms[0], standings=[first, replace(second, cost=Cost(3_000_000, 90.0))])
    tied = replace(ranking, arms=[dearer], made_here=[], dev=dict.fromkeys(ranking.order, 0.5))
    for name, each in (("as they are", ranking), ("equal, public, with unequal budgets", tied)):
        (headline, *_) = prose.answers(replace(several, rankings=[each]))
        yield f"Bases: {name}", [headline, *prose.ranked(each)]
    masks = known(next(each.first.masks for each in comparison.checkpoints if each.name == "pretrain"))
    for changes in MASKS:
        spoilt = retrained(comparison, {"pretrain": {"masks": replace(masks, audit={**masks.audit, **changes})}})
        yield f"Masks: {changes}", prose.of_checkpoints(spoilt)
    yield "Checkpoints", prose.of_checkpoints(comparison)
    spoilt = retrained(comparison, {"pretrain": {"random_head": True}, "domain_transfer/domain": {"cost": None}})
    for shown in (spoilt, several):
        public = replace(shown, began_from={"small": "bert-base"})
        yield f"Checkpoints of {' and '.join(shown.bases)}", prose.of_checkpoints(public)


def written(said: Said) -> Iterator[str]:
    for case, texts in said:
        lines = [texts] if isinstance(texts, Text) else [*(texts or [])]
        spoken = [line for line in lines if line != EMPTY]
        yield "\n".join(
            [f"## {case}", *(f"- {line.en}\n  {line.zh}".rstrip() for line in spoken or [Text("(nothing)", "")])]
        )


def test_what_is_said_of_everything(comparison: Comparison, several: Comparison) -> None:
    task = comparison.tasks[0]
    said = [*of_a_step(task), *of_a_task(task), *of_all(comparison, several)]
    said += of_bases_and_checkpoints(comparison, several)
    agrees(SAID, "\n\n".join(written(iter(said))) + "\n")


def test_the_heading_claims_no_help_where_none_is_shown(comparison: Comparison) -> None:
    for verdict in get_args(Verdict):
        shown = "No verdict yet: each step was trained once" if verdict == "one_draw" else "No step is shown to help"
        heading = prose.heading(judged(comparison, {"domain_text": verdict}, {})).en
        assert heading == ("Which steps helped?" if verdict in GAINS else shown)
