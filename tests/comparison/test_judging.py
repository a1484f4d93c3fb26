"""What is said of a question follows from what was repeated, from the smallest gain worth having, and from its place
in the order."""

from dataclasses import replace
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import Any

import pytest

from adaptbert.comparison.judging import ROWS_ALIKE, judged
from adaptbert.comparison.records import Answer, Comparison, Cost
from adaptbert.config.schema.comparison import ORDER
from adaptbert.statistics.verdicts import Verdict, adjusted_p
from benchmarks.simulated_studies import Simulator, World
from tests.support.known import known
from tests.support.simulated import ARMS, LIFTED, Simulated, compared, edited, simulate


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """Replicates lie two points apart; the domain text helps, a task step after it brings nothing."""
    root = tmp_path_factory.mktemp("noisy")
    return simulate(root, tasks=["section"], replicates=3, accuracy=LIFTED, replicate_spread=0.02, dice_seed=3)


def answer_of(comparison: Comparison, name: str) -> Answer:
    return known(comparison.tasks[0].answer(name))


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


def test_the_first_question_pays_nothing_for_the_later_ones_which_share_what_is_left(noisy: Simulated) -> None:
    every = compared(noisy)
    for name in ("recipe", "domain_text"):
        alone, beside = (answer_of(each, name) for each in (compared(noisy, order=[name]), every))
        least = known(beside.detectable).value / known(alone.detectable).value
        assert (least == 1.0) == (name == "recipe")
        assert least >= 1.0
    behind = compared(noisy, order=["task_transfer", "domain_text"])
    first, second = behind.tasks[0].answers[:2]
    assert (first.name, first.verdict) == ("task_transfer", "undecided")
    assert (second.name, second.verdict) == ("domain_text", "undecided"), "it waits for the first"
    assert p_of(second) < 0.001 < known(second.p_adjusted)


def test_an_arm_of_one_answer_or_without_a_result_leaves_its_place_to_the_others(tmp_path: Path) -> None:
    """One whose runs all give every row the same answer has learned nothing, whatever its score."""
    made = simulate(tmp_path, tasks=["section"], replicates=2, accuracy=LIFTED)
    paths = [made.root / f"metrics/finetune/section-domain_task-small-{number}.json" for number in (1, 2)]
    for path in paths:
        with edited(path) as metrics:
            for seed in metrics["seeds"]:
                seed["degenerate"] = True
    (task,) = compared(made).tasks
    assert (task.unlearned, known(task.first).why) == (["domain_task"], "nothing_learned")
    for path in paths:
        path.unlink()
    comparison = compared(made)
    for name in ("recipe", "task_transfer"):
        missing = answer_of(comparison, name)
        assert (missing.verdict, missing.why, missing.place) == ("not_tested", "missing", None)
    assert known(comparison.tasks[0].first).name == "recipe", "what would have been tested"
    domain = answer_of(comparison, "domain_transfer")
    assert (domain.verdict, domain.place, domain.p_adjusted) == ("gain", 0, p_of(domain))


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


def test_arms_that_learned_nothing_have_no_verdict_and_leave_their_place_to_the_others(tmp_path: Path) -> None:
    """One side below the most frequent label says nothing of the other, however far they lie apart."""
    made = simulate(tmp_path, tasks=["section"], replicates=2, accuracy=LIFTED | {"general": -0.1})
    task = compared(made, order=["recipe", "domain_text"]).tasks[0]
    recipe, text = known(task.first), known(task.answer("domain_text"))
    assert task.unlearned == ["general"]
    assert p_of(recipe) < 0.05, "which would be a gain"
    assert (recipe.name, recipe.why, recipe.verdict, recipe.place) == ("recipe", "nothing_learned", "not_tested", None)
    assert (text.why, text.verdict, text.place, text.p_adjusted) == ("", "gain", 0, p_of(text))
    assert (task.classes, task.steps > 0, task.epochs > 0) == (5, True, True)


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
    more, repeated = design.replicates - 3, sum(len(arm.planned) > 1 for arm in task.arms)
    again = (len(task.arms) + repeated * (design.replicates - 1)) * design.seeds * run  # with other seeds all of them
    of_steps = known(comparison.one_more_replicate).tflop - repeated * 3 * run
    assert design.seeds > 3
    assert design.tflop == pytest.approx(more * of_steps + again)


def test_where_rows_are_too_few_more_training_is_not_proposed(noisy: Simulated) -> None:
    """Rows that do the same to all runs of an arm, unlike those of `noisy`."""
    (task,) = compared(noisy).tasks
    answers = [
        replace(answer, difference=replace(answer.difference, mean=0.001)) if answer.difference is not None else answer
        for answer in task.answers
    ]
    tasks = [replace(task, answers=answers)]
    of_rows = Simulator(3).study(World(draws=3, seeds=3, draw=0.1, rows=1.2)).study()
    results: Any = {
        (task.task, task.base): SimpleNamespace(study=of_rows, cell_tflop=lambda seeds: 0.1) for task in tasks
    }
    fine, finer = (
        known(known(judged(tasks, results, min_gain, 0.95, Cost(1000, 1.0))[0].answer("task_transfer")).needed)
        for min_gain in (0.01, 0.005)
    )
    assert (fine.design, finer.design) == (None, None)
    assert known(fine.rows) > 300, "more than there are"
    assert finer.rows == pytest.approx(4 * known(fine.rows), rel=0.01), "half the difference, four times as many"
