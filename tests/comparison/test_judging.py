"""What is said of a question follows from what was repeated, from the smallest gain worth having, and from its place
in the order."""

from dataclasses import replace
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import Any

import pytest

from adaptbert.comparison.judging import ROWS_ALIKE, judged, ranking, study_key
from adaptbert.comparison.records import Answer, Arm, Comparison, Ranking, Run, Standing
from adaptbert.config.schema.comparison import ORDER
from adaptbert.core.record import Cost
from adaptbert.statistics.intervals import mean_interval
from adaptbert.statistics.spread import MADE_ONCE, Runs
from adaptbert.statistics.study import ArmRuns, Study
from adaptbert.statistics.verdicts import Verdict, adjusted_p
from benchmarks.simulated_studies import Simulator, World
from tests.support.known import answer_to, known
from tests.support.simulated import ARMS, LIFTED, Simulated, compared, edited, simulate


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """Replicates lie two points apart; the domain text helps, a task step after it brings nothing."""
    root = tmp_path_factory.mktemp("noisy")
    return simulate(root, tasks=["section"], replicates=3, accuracy=LIFTED, replicate_spread=0.02, dice_seed=3)


@pytest.fixture(scope="module")
def of_noisy(noisy: Simulated) -> Comparison:
    return compared(noisy)


def answer_of(comparison: Comparison, name: str) -> Answer:
    return answer_to(comparison.tasks[0], name)


def p_of(answer: Answer) -> float:
    return known(known(answer.difference).p)


# ---- which questions are tested, and with how much of the level


def test_general_pre_training_is_one_run_whatever_the_replicates(noisy: Simulated) -> None:
    """It comes first here, and leaves its place to the next."""
    comparison = compared(noisy, order=["pretrain", "domain_transfer"])
    pretrain = answer_of(comparison, "pretrain")
    assert comparison.tasks[0].first == pretrain
    assert (pretrain.verdict, pretrain.why, pretrain.replicates) == ("not_tested", "pretrained_once", 1)
    assert (pretrain.place, pretrain.p_adjusted) == (None, None)
    domain = answer_of(comparison, "domain_transfer")
    assert (domain.verdict, domain.why, domain.replicates, domain.place) == ("gain", "", 3, 0)
    assert domain.p_adjusted == p_of(domain), "the first pays nothing for others"
    assert answer_of(comparison, "domain_text").why == "described", "it is not in this order"


def test_p_is_adjusted_over_the_questions_of_all_tasks_in_their_order(repeated: Comparison) -> None:
    chains = [[answer for answer in task.answers if answer.place is not None] for task in repeated.tasks]
    for chain in chains:
        assert [(answer.name, answer.place) for answer in chain] == [(name, n) for n, name in enumerate(ORDER)]
    of_chains = [[known(answer.p_adjusted) for answer in chain] for chain in chains]
    assert of_chains == adjusted_p([[p_of(answer) for answer in chain] for chain in chains])
    for task in repeated.tasks:
        assert task.first == task.answers[0]
        for answer in task.answers[len(ORDER) :]:
            assert (answer.why, answer.verdict, answer.p_adjusted) == ("described", "not_tested", None)


def test_the_first_question_pays_nothing_for_the_later_ones_which_share_what_is_left(
    noisy: Simulated, of_noisy: Comparison
) -> None:
    for name in ("recipe", "domain_text"):
        alone, beside = (answer_of(each, name) for each in (compared(noisy, order=[name]), of_noisy))
        least = known(beside.detectable).value / known(alone.detectable).value
        assert (least == 1.0) == (name == "recipe")
        assert least >= 1.0
    behind = compared(noisy, order=["task_transfer", "domain_text"])
    first, second = behind.tasks[0].answers[:2]
    assert (first.name, first.verdict) == ("task_transfer", "undecided")
    assert (second.name, second.verdict) == ("domain_text", "undecided"), "it waits for the first"
    assert p_of(second) < 0.01 < known(second.p_adjusted)


def test_an_arm_that_learned_nothing_or_is_missing_leaves_its_place_to_the_others(tmp_path: Path) -> None:
    """One below the most frequent label says nothing of the other, however far they lie apart, nor does one whose runs
    all give every row the same answer, whatever its score."""
    made = simulate(tmp_path, tasks=["section"], replicates=2, accuracy=LIFTED | {"general": -0.1})
    task = compared(made, order=["recipe", "domain_text"]).tasks[0]
    recipe, text = known(task.first), answer_to(task, "domain_text")
    assert task.unlearned == ["general"]
    assert p_of(recipe) < 0.05, "which would be a gain"
    assert (recipe.name, recipe.why, recipe.verdict, recipe.place) == ("recipe", "nothing_learned", "not_tested", None)
    assert (text.why, text.verdict, text.place, text.p_adjusted) == ("", "gain", 0, p_of(text))
    assert (task.classes, task.steps > 0, task.epochs > 0) == (5, True, True)
    paths = [made.root / f"metrics/finetune/section-domain_task-small-{number}.json" for number in (1, 2)]
    for path in paths:
        with edited(path) as metrics:
            for seed in metrics["seeds"]:
                seed["failed"] = True
    (task,) = compared(made).tasks
    assert (task.unlearned, answer_to(task, "task_transfer").why) == (["general", "domain_task"], "nothing_learned")
    for path in paths:
        path.unlink()
    (task,) = compared(made).tasks
    for name in ("recipe", "task_transfer"):
        missing = answer_to(task, name)
        assert (missing.verdict, missing.why, missing.place) == ("not_tested", "missing", None)
    assert known(task.first).name == "recipe", "what would have been tested"
    text = answer_to(task, "domain_text")
    assert (text.verdict, text.place, text.p_adjusted) == ("gain", 0, p_of(text))


def test_arms_that_share_no_seed_and_runs_that_all_score_alike_test_nothing(tmp_path: Path) -> None:
    """Nothing is known of their spread. Arms that answer alike are equivalent, on so many rows that a difference as
    large as what is worth having would have shown."""
    made = simulate(tmp_path, tasks=["section"], replicates=2, accuracy=dict.fromkeys(ARMS, -1.0))
    for path in (made.root / "predictions").glob("*.parquet"):
        path.unlink()
    for arm, score in (("general", 0.5), ("domain", 0.6), ("general_long", 0.6), ("domain_task", 0.7)):
        for path in (made.root / "metrics/finetune").glob(f"section-{arm}-small*.json"):
            with edited(path) as metrics:
                for seed in metrics["seeds"]:
                    seed |= {"test/f1_macro": score, "seed": seed["seed"] + 10 * (arm == "domain_task")}
    enough = ROWS_ALIKE / compared(made).tasks[0].independent_rows
    for min_gain, alike in ((enough * 0.99, ("no_spread", "not_tested", 1)), (enough, ("", "equivalent", 1))):
        comparison = compared(made, min_gain=min_gain)
        answers = {name: answer_of(comparison, name) for name in ORDER}
        assert {name: (each.why, each.verdict, each.place) for name, each in answers.items()} == {
            "recipe": ("no_seed", "not_tested", None),
            "domain_transfer": ("no_spread", "not_tested", 0),
            "task_transfer": ("no_seed", "not_tested", None),
            "domain_text": alike,
        }


@pytest.mark.parametrize(("seeds", "replicates"), [((1, 2), 1), ((1,), 2)])
def test_of_few_seeds_there_is_no_interval_and_no_verdict(
    tmp_path: Path, seeds: tuple[int, ...], replicates: int
) -> None:
    (task,) = compared(simulate(tmp_path, seeds=seeds, replicates=replicates, tasks=["section"])).tasks
    assert {(each.verdict, each.place) for each in task.answers} == {("not_tested", None)}
    assert {each.why for each in task.answers} == {"few_seeds", "described"}
    assert {known(arm.interval).low for arm in task.arms} == {None}


# ---- verdicts


@pytest.mark.parametrize(
    ("min_gain", "at_least", "task_transfer"),
    [(0.01, True, {"undecided"}), (0.10, False, {"equivalent", "undecided"}), (0.50, False, {"equivalent"})],
)
def test_verdicts_are_against_the_smallest_gain_worth_having(
    noisy: Simulated, min_gain: float, at_least: bool, task_transfer: set[Verdict]
) -> None:
    comparison = compared(noisy, min_gain=min_gain)
    assert comparison.min_gain == min_gain
    text = answer_of(comparison, "domain_text")
    assert (text.verdict, text.at_least) == ("gain", at_least)
    answer = answer_of(comparison, "task_transfer")
    assert answer.verdict in task_transfer
    assert not answer.at_least


# ---- what could be shown, and what would show it


def test_what_could_be_shown_is_known_of_every_question_with_an_interval(repeated: Comparison) -> None:
    for task in repeated.tasks:
        for answer in task.answers:
            assert known(answer.difference).low is not None, "what is only described has an interval as well"
            detectable = known(answer.detectable)
            assert detectable.low < detectable.value < detectable.high
            needs = answer.needed is not None
            assert needs == (answer.verdict == "undecided"), "what is decided, or not asked, needs nothing"
        assert any(answer.needed is not None for answer in task.answers)


def test_an_undecided_question_names_the_cheapest_design_that_would_settle_it(noisy: Simulated) -> None:
    """Its test rows suffice for a gain of three points."""
    comparison = compared(noisy, min_gain=0.03)
    needed = known(answer_of(comparison, "task_transfer").needed)
    design = known(needed.design)
    assert (needed.rows, min(design.replicates, design.seeds) >= 3, design.tflop > 0) == (None, True, True)
    (task,) = comparison.tasks
    run = mean(known(arm.run_tflop) for arm in task.arms for _ in arm.planned)
    repeated = sum(len(arm.planned) > 1 for arm in task.arms)
    finetuned = (len(task.arms) + repeated * (design.replicates - 1)) * design.seeds * run
    of_steps = known(comparison.one_more_replicate).tflop - repeated * 3 * run
    assert design.seeds > 3
    seen = known(answer_of(comparison, "task_transfer").difference)
    assert needed.effect == 0.03, "the smallest gain worth having"
    of_less = known(answer_of(compared(noisy, min_gain=0.0001), "task_transfer").needed)
    assert 0.0001 < of_less.effect < abs(seen.mean), "what is seen, without what chance has added"
    general = sum(known(each.cost).tflop for _, each in comparison.trained() if each.number == 0)
    total = pytest.approx(general + design.replicates * of_steps + finetuned)
    assert (general > 0, design.tflop) == (True, total), "a study of its own, from another general pre-training"


def test_where_rows_are_too_few_more_training_is_not_proposed(of_noisy: Comparison) -> None:
    """Rows that do the same to all runs of an arm, unlike those of `noisy`."""
    (task,) = of_noisy.tasks
    answers = [
        replace(answer, difference=replace(answer.difference, mean=0.001)) if answer.difference is not None else answer
        for answer in task.answers
    ]
    tasks, of_rows = [replace(task, answers=answers)], Simulator(3).study(World(3, 3, draw=0.1, rows=1.2)).study()
    results: Any = {task.name: SimpleNamespace(study=of_rows, cell_tflop=lambda seeds: 0.1)}
    cost = Cost(tokens=1000, tflop=1.0)
    (fine,), (finer,) = (judged(tasks, [], results, min_gain, 0.95, cost, cost)[0] for min_gain in (0.01, 0.005))
    fine, finer = (known(answer_to(task, "task_transfer").needed) for task in (fine, finer))
    assert (fine.design, finer.design) == (None, None)
    assert known(fine.rows) > 300, "more than there are"
    assert finer.rows == pytest.approx(4 * known(fine.rows), rel=0.01), "half the difference, four times as many"


# ---- bases are ordered by dev scores of one arm, and compared with the first on test, arm by arm


DOMAIN: dict[str, Runs] = {
    "small": {1: {1: 0.60, 2: 0.62, 3: 0.61}, 2: {1: 0.61, 2: 0.63, 3: 0.60}},
    "base": {1: {1: 0.70, 2: 0.73, 3: 0.71}, 2: {1: 0.72, 2: 0.72, 3: 0.71}},
    "large": {1: {1: 0.71, 2: 0.72, 3: 0.715}, 2: {1: 0.70, 2: 0.73, 3: 0.72}},
}
DEV = {"small": 0.5, "base": 0.8, "large": 0.7}
WITHIN = (0.0, 1.0)
PUBLISHED, MADE_HERE = "a checkpoint", "random weights"
"""Checkpoints of arms."""
Bases = dict[str, dict[str, Arm]]
"""Base -> its arms by name."""


def scored(runs: Runs, dev: float) -> Arm:
    rows = [Run(number, seed, score, dev) for number, scores in runs.items() for seed, score in scores.items()]
    interval = mean_interval([run.score for run in rows], 0.95, WITHIN) if rows else None
    return Arm(
        "",
        PUBLISHED,
        "other",
        {number: f"cell-{number}" for number in runs},
        rows,
        interval,
        Cost(tokens=1000, tflop=3.0),
    )


def study_of(bases: Bases) -> Study:
    runs = {
        study_key(arm, base): ArmRuns(own.by_replicate) for base, arms in bases.items() for arm, own in arms.items()
    }
    return Study(runs, 0, 0.95, WITHIN)


def of_all(bases: Bases, min_gain: float = 0.01) -> Ranking | None:
    tasks: list[Any] = [
        SimpleNamespace(
            task="section", metric="f1_macro", base=base, arms=[replace(own, name=name) for name, own in arms.items()]
        )
        for base, arms in bases.items()
    ]
    return ranking(tasks, {PUBLISHED}, study_of(bases), min_gain)


def ranked(bases: Bases, min_gain: float = 0.01) -> Ranking:
    return known(of_all(bases, min_gain))


def all_bases() -> Bases:
    """`general` is trained once; it is worse on dev than `domain`, and has the reverse order there."""
    return {
        base: {
            "general": scored({MADE_ONCE: {seed: score - 0.1 for seed, score in runs[1].items()}}, 0.4 - DEV[base] / 2),
            "domain": scored(runs, DEV[base]),
        }
        for base, runs in DOMAIN.items()
    }


def in_one_family(tested: list[Standing]) -> list[float]:
    """Their p-values, adjusted for each other: none of them comes before another."""
    return [p for (p,) in adjusted_p([[known(known(each.difference).p)] for each in tested])]


def others_of(result: Ranking) -> list[tuple[str, Standing]]:
    """Arm and standing of all but the first base."""
    return [(arm, each) for arm, bases in result.arms.items() for each in bases if each.base != result.order[0]]


def test_dev_decides_the_order_and_the_arm_and_test_does_not() -> None:
    result = ranked(all_bases())
    assert (result.arm, result.order) == ("domain", ["base", "large", "small"])
    assert [*result.arms] == ["domain", "general"]
    assert [each.base for each in result.arms["general"]] == result.order, "one order for all arms"
    best_on_test = all_bases()
    best_on_test["small"]["domain"] = scored({1: dict.fromkeys((1, 2, 3), 0.99)}, DEV["small"])
    assert ranked(best_on_test).order == result.order


def test_differences_are_paired_with_the_first_base_and_adjusted_over_all_arms() -> None:
    bases = all_bases()
    result = ranked(bases, min_gain=0.02)
    first, *others = result.arms["domain"]
    assert (first.difference, first.p_adjusted, first.verdict) == (None, None, None)
    assert others[1].base == "small"
    assert others[1].difference == study_of(bases).difference("small/domain", "base/domain")
    tested = [each for _, each in others_of(result)]
    assert [each.p_adjusted for each in tested] == in_one_family(tested)
    assert len(tested) == 4, "two bases in two arms"
    assert known(others[1].p_adjusted) > known(known(others[1].difference).p), "adjusted"
    assert {each.base: each.verdict for each in others} == {"large": "equivalent", "small": "loss"}
    weighed = ranked(bases, min_gain=0.001).arms["domain"][1:]
    assert {each.base: each.verdict for each in weighed} == {"large": "undecided", "small": "loss"}


def test_checkpoints_that_were_trained_once_from_each_base_have_no_verdict() -> None:
    """The bases themselves are compared as they are, and only their p-values are adjusted."""
    bases = all_bases()
    for base, runs in DOMAIN.items():
        bases[base]["domain"] = scored({1: runs[1]}, DEV[base])
    result = ranked(bases)
    verdicts = {(arm, each.base): each.verdict for arm, each in others_of(result)}
    assert {verdicts["domain", base] for base in ("large", "small")} == {"not_tested"}
    assert verdicts["general", "small"] == "loss"
    assert verdicts["general", "large"] in ("undecided", "equivalent")
    compared = [each for arm, each in others_of(result) if arm == "general"]
    assert [each.p_adjusted for each in compared] == in_one_family(compared)
    assert {each.p_adjusted for arm, each in others_of(result) if arm == "domain"} == {None}
    for arm, each in others_of(result):
        assert known(each.difference).low is not None, f"{arm}: the interval speaks of these weights"


@pytest.mark.parametrize("here", [["small"], ["base"], ["small", "base", "large"]])
def test_weights_that_were_made_here_once_have_no_verdict_whatever_is_trained_above_them(here: list[str]) -> None:
    """Two published checkpoints are what they are; general pre-training of this project might turn out otherwise."""
    bases = all_bases()
    for base in here:
        bases[base] = {arm: replace(own, checkpoint=MADE_HERE) for arm, own in bases[base].items()}
    result = ranked(bases)
    assert result.made_here == [base for base in result.order if base in here]
    for arm, each in others_of(result):
        once = "base" in here or each.base in here
        assert (each.verdict == "not_tested") == once, f"{arm} of {each.base} beside base"
        assert (each.p_adjusted is None) == once
    assert ranked(all_bases()).made_here == []


def test_a_base_without_the_arm_comes_last_and_an_arm_of_one_base_is_left_out() -> None:
    bases = all_bases()
    bases["base"] = {"own": scored(DOMAIN["base"], 0.99)}
    result = ranked(bases)
    assert result.order == ["large", "small", "base"]
    assert [*result.arms] == ["domain", "general"]
    missing = all_bases()
    missing["base"]["domain"] = scored({}, 0.0)
    assert ranked(missing).arm == "general", "the arm that orders all three"
    assert of_all({"small": all_bases()["small"]}) is of_all({}) is None, "nothing to rank"
