"""Sentences say what the figures carry and what was repeated, and no more: a case for each thing there is to say, and
what is said of it in said/prose.md, in English and Chinese."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from adaptbert.comparison.records import Answer, Comparison, Detectable, Needed, Task
from adaptbert.core.record import Cost
from adaptbert.report import prose
from adaptbert.statistics.power import Design
from tests.support.judged_answers import answered, difference, retrained
from tests.support.known import known
from tests.support.snapshots import Said, agrees, both

SAID = Path(__file__).parent / "said/prose.md"
DESIGN = Needed(0.01, Design(6, 8, 1234.5), None)

ANSWERS: dict[str, dict[str, Any]] = {
    "undecided": {},
    "of an unknown spread": {"detectable": Detectable(0.078, 0.04, 1.116)},
    "hopeless": {"detectable": Detectable(1.2, 0.6, 15.0)},
    "a design would settle it": {"needed": DESIGN, "chance": 0.4},
    "a design would settle it, and it is probably not worth it": {"needed": DESIGN, "chance": 0.2 - 1e-6},
    "it alone would be a gain": {"difference": difference(0.03, 0.02), "p_adjusted": 0.0712},
    "after one that is undecided": {"place": 1, "needed": DESIGN},
    "after one that is decided": {"place": 1, "difference": difference(0.08, 0.04), "p_adjusted": 0.0712},
    "fine-tuned otherwise": {},
    "no seed in common": {"difference": None, "verdict": "not_tested", "why": "no_seed"},
    "described": {"verdict": "not_tested", "why": "described"},
    **{verdict: {"verdict": verdict} for verdict in ("equivalent", "gain", "loss")},
}
MASKS: list[dict[str, float]] = [
    {"specials": 3},
    {"rate": 0.171},
    {"documents_without": 0.84},
    {"documents_whole": 0.009},
    {"documents_whole": 0.16, "documents_whole_expected": 0.16},
]


def undecided(task: Task, **changes: Any) -> Answer:
    return replace(answered(task, "task_transfer", -0.004, 0.02, "undecided", 1.0), **changes)


def with_arms(task: Task, /, **changes: dict[str, Any]) -> Task:
    return replace(task, arms=[replace(arm, **changes.get(arm.name, {})) for arm in task.arms])


WITHOUT: dict[str, Any] = {"runs": [], "interval": None}
"""An arm that was planned and has no result."""


def public(comparison: Comparison) -> Comparison:
    """The first base began with a public checkpoint."""
    own = [
        replace(each, below="bert-base", is_public_below=True)
        if (each.path, each.base) == ("pretrain", "small")
        else each
        for each in comparison.checkpoints
    ]
    return replace(comparison, checkpoints=own)


def of_an_answer(task: Task, comparison: Comparison) -> Said:
    for name, changes in ANSWERS.items():
        own = with_arms(task, domain={"has_own_values": name == "fine-tuned otherwise"})
        if name == "after one that is decided":
            own = replace(own, answers=[answered(task, "recipe", 0.078, 0.03, "gain")])
        yield f"An answer: {name}", prose.left_open(undecided(task, **changes), own, comparison)
    gap = known(undecided(task).difference)
    for df in (2.04, 4.0):
        few = undecided(task, difference=replace(gap, df=df))
        yield f"An answer: {df} degrees of freedom", prose.left_open(few, task, comparison)
    for replicates in (1, None):
        answer = undecided(task, replicates=replicates)
        yield (
            f"An answer rests on: {replicates} replicates",
            prose.behind(known(answer.difference), answer, task),
        )


def of_a_task(task: Task) -> Said:
    rows: list[dict[str, Any]] = [{}, {"test_texts": None}, {"test_groups": 80}]
    for changes in rows:
        yield f"Test rows: {changes}", prose.test_rows(replace(task, **changes))


def of_all(comparison: Comparison, several: Comparison) -> Said:
    first, second = comparison.tasks
    yield "Facts of several replicates", prose.facts(several)
    yield "Facts", prose.facts(comparison)
    rejected = {"domain": {"duplicate": 800, "dev_or_test_text": 1_012}, "section": {"in_test": 3}}
    sources = [replace(source, rejected=rejected.get(source.name, {})) for source in comparison.sources]
    sources[-1] = replace(sources[-1], sharing=258)
    half = {"planned": {1: "a", 2: "b"}, "seldom_predicted": ["ham", "火腿 `x`"]}
    many = {"seldom_predicted": [f"class {n}" for n in range(5)]}
    spoilt = with_arms(replace(first, scattered=["scratch", "task"]), task=half, domain=many)
    for name, needed in {"a design would settle it": DESIGN, "more rows would": Needed(0.01, None, 4_321)}.items():
        tasks = [replace(spoilt, answers=[undecided(first, needed=needed)]), with_arms(second, scratch=WITHOUT)]
        changes = {
            "tasks": tasks,
            "sources": sources,
            "spent": Cost(tokens=12_300_000, tflop=456.78),
            "confidence": 0.9,
        }
        yield f"Facts: {name}", prose.facts(replace(comparison, **changes))
    own = [replace(source, demonstration=source.name == "general") for source in comparison.sources]
    yield "Demonstration", prose.demonstration(replace(comparison, sources=own))
    yield "No demonstration", prose.demonstration(replace(comparison, sources=[]))


def of_bases_and_checkpoints(comparison: Comparison, several: Comparison) -> Said:
    ranking = several.rankings[0]
    first, second = ranking.arms[ranking.arm]
    dearer = {ranking.arm: [first, replace(second, cost=Cost(tokens=3_000_000, tflop=90.0))]}
    tied = replace(ranking, arms=dearer, made_here=[], dev=dict.fromkeys(ranking.order, 0.5))
    for name, each in (("as they are", ranking), ("equal, public, with unequal budgets", tied)):
        yield f"Bases: {name}", [prose.of_bases(each), *prose.ranked(each)]
    masks = known(next(each.first.masks for each in comparison.checkpoints if each.name == "pretrain"))
    for changes in MASKS:
        spoilt = retrained(comparison, {"pretrain": {"masks": replace(masks, audit={**masks.audit, **changes})}})
        yield f"Masks: {changes}", prose.of_checkpoints(spoilt)
    yield "Checkpoints", prose.of_checkpoints(comparison)
    spoilt = retrained(
        comparison, {"pretrain": {"random_head": True, "documents": "padded"}, "domain_transfer/domain": {"cost": None}}
    )
    as_it_is = public(retrained(comparison, {"pretrain": {"cost": Cost(tokens=0, tflop=0.0)}}))
    yield "The checkpoint as it is", prose.of_checkpoints(as_it_is)
    yield "Facts of a checkpoint as it is", prose.facts(replace(as_it_is, tasks=several.tasks))
    for shown in (spoilt, several):
        yield f"Checkpoints of {' and '.join(shown.bases)}", prose.of_checkpoints(public(shown))


def below_the_first_screen(comparison: Comparison, several: Comparison) -> str:
    task = comparison.tasks[0]
    said = [*of_an_answer(task, comparison), *of_a_task(task), *of_all(comparison, several)]
    return both(iter([*said, *of_bases_and_checkpoints(comparison, several)]))


def test_what_is_said_below_the_first_screen(comparison: Comparison, several: Comparison) -> None:
    agrees(SAID, below_the_first_screen, comparison, several)
