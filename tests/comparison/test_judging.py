"""What is said of a step follows from what was repeated, from the smallest gain worth having, and from questions."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adaptbert.comparison.judging import family, judged
from adaptbert.comparison.records import Comparison, Cost, Step
from adaptbert.config.schema.comparison import PRIMARY
from adaptbert.statistics.verdicts import Verdict, adjusted_p
from benchmarks.simulated_studies import Simulator, World
from tests.support.known import known
from tests.support.simulated import LIFTED, Simulated, compared, simulate


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """Replicates lie two points apart; the domain text helps, a task step after it brings nothing."""
    root = tmp_path_factory.mktemp("noisy")
    return simulate(root, tasks=["section"], replicates=3, accuracy=LIFTED, replicate_spread=0.02, dice_seed=3)


def step_of(comparison: Comparison, name: str) -> Step:
    return known(comparison.tasks[0].step(name))


def test_general_pre_training_is_one_run_whatever_the_replicates(noisy: Simulated) -> None:
    comparison = compared(noisy, primary=["pretrain", "climb", "domain_transfer"])
    for name in ("pretrain", "climb"):
        step = step_of(comparison, name)
        assert (step.verdict, step.replicates, step.p_holm) == ("one_draw", 1, None)
    domain = step_of(comparison, "domain_transfer")
    assert (domain.verdict, domain.replicates) == ("worth_it", 3)
    assert domain.p_holm == known(domain.difference).p, "the only one that has a verdict"
    assert step_of(comparison, "domain_text").verdict == "descriptive", "no primary question here"


@pytest.mark.parametrize(
    ("min_gain", "text", "task_step"),
    [
        (0.01, "worth_it", {"undecided"}),
        (0.10, "gain", {"no_difference", "no_worse"}),
        (0.50, "small_gain", {"no_difference"}),
    ],
)
def test_verdicts_are_against_the_smallest_gain_worth_having(
    noisy: Simulated, min_gain: float, text: Verdict, task_step: set[Verdict]
) -> None:
    comparison = compared(noisy, min_gain=min_gain)
    assert comparison.min_gain == min_gain
    assert step_of(comparison, "domain_text").verdict == text
    assert step_of(comparison, "task_transfer_after_domain").verdict in task_step


def test_p_is_adjusted_over_the_primary_questions_of_all_tasks(repeated: Comparison) -> None:
    steps = family(repeated.tasks)
    assert [(step.name, step.p_holm) for step in steps] == list(
        zip(2 * PRIMARY, adjusted_p([known(known(step.difference).p) for step in steps]), strict=True)
    )


def test_what_could_be_shown_is_known_of_every_step_with_an_interval(repeated: Comparison) -> None:
    for task in repeated.tasks:
        for step in task.steps:
            assert step.primary == (step.name in PRIMARY)
            assert (step.verdict == "descriptive") == (step.p_holm is None) == (not step.primary)
            assert known(step.difference).low is not None, "what is only described has an interval as well"
            detectable = known(step.detectable)
            assert detectable.low < detectable.value < detectable.high
            is_open = step.verdict in ("undecided", "no_worse")
            assert (step.needed is not None) == is_open, "what is decided, or not asked, needs nothing"
        assert any(step.needed is not None for step in task.steps)


def test_an_undecided_question_names_the_cheapest_design_that_would_settle_it(noisy: Simulated) -> None:
    """Its test rows suffice for a gain of three points."""
    needed = known(step_of(compared(noisy, min_gain=0.03), "task_transfer_after_domain").needed)
    design = known(needed.design)
    assert (needed.rows, min(design.replicates, design.seeds) >= 3, design.tflop > 0) == (None, True, True)


def test_where_rows_are_too_few_more_training_is_not_proposed(noisy: Simulated) -> None:
    """Rows that do the same to all runs of an arm, unlike those of `noisy`."""
    tasks, question = compared(noisy).tasks, "task_transfer_after_domain"
    of_rows = Simulator(3).study(World(draws=3, seeds=3, draw=0.1, rows=1.2)).study()
    results: Any = {(task.task, task.base): SimpleNamespace(study=of_rows, tflop_of_run=0.1) for task in tasks}
    fine, finer = (
        known(known(judged(tasks, results, min_gain, 0.95, Cost(1000, 1.0))[0].step(question)).needed)
        for min_gain in (0.01, 0.005)
    )
    assert (fine.design, finer.design) == (None, None)
    assert known(fine.rows) > 300, "more than there are"
    assert finer.rows == pytest.approx(4 * known(fine.rows), rel=0.01), "half the difference, four times as many"


def test_a_missing_arm_leaves_its_questions_without_a_verdict_and_the_others_with_one(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], replicates=2, accuracy=LIFTED)
    for number in (1, 2):
        (made.root / f"metrics/finetune/section-domain_task-small-{number}.json").unlink()
    comparison = compared(made)
    assert step_of(comparison, "task_transfer_after_domain").verdict == "untested"
    text = step_of(comparison, "domain_text")
    assert (text.verdict, text.p_holm) == ("worth_it", known(text.difference).p)
