"""Arms are compared on runs that learned; every run stays in the comparison, and what failed is counted and told."""

from pathlib import Path

import pytest
from scipy.stats import fisher_exact

from adaptbert.comparison.records import Comparison, Task
from adaptbert.report.answer import besides, heading
from adaptbert.report.tables import arms
from adaptbert.report.text_table import summary
from tests.support.known import answer_to, known
from tests.support.simulated import LIFTED, Simulated, compared, edited, simulate

LOW = {"test/f1_macro": 0.07, "dev/f1_macro": 0.07, "test/accuracy": 0.07}


def recipe(folder: Path, replicates: int = 1) -> Simulated:
    return simulate(folder, tasks=["section"], accuracy=LIFTED, replicates=replicates)


def fail(path: Path, seed: int, again: bool | None) -> None:
    """The run of a seed fails; `again`: whether the run after it does, too, which has the predictions of the file;
    None: there is none."""
    with edited(path) as metrics:
        first = next(each for each in metrics["seeds"] if each["seed"] == seed)
        if again is not None:
            metrics["seeds"].append({**first, "restarted": 3 + seed, "failed": again} | (LOW if again else {}))
        first |= {"failed": True} | LOW


def one(made: Simulated) -> tuple[Task, Comparison]:
    comparison = compared(made)
    return comparison.tasks[0], comparison


def test_a_run_that_was_trained_once_more_is_in_the_place_of_the_failed_one(tmp_path: Path) -> None:
    """As if the first had not been; and it is counted, told and compared as a rate."""
    made = recipe(tmp_path)
    before, _ = one(made)
    fail(made.metrics("general"), 2, again=False)
    fail(made.metrics("domain"), 1, again=False)
    fail(made.metrics("domain"), 3, again=False)
    task, comparison = one(made)
    arm = task.arm("general")
    assert [(run.seed, run.failed, run.score == 0.07) for run in arm.runs] == [
        (1, False, False),
        (2, True, True),
        (3, False, False),
        (2, False, False),
    ], "all runs, with their scores"
    assert (arm.first_failed, arm.lost, arm.mostly_failed) == ((1, 3), ([], []), False)
    for name in ("interval", "scores", "dev", "accuracy", "never_predicted"):
        assert getattr(arm, name) == getattr(before.arm("general"), name)
    assert task.answers == before.answers
    assert (task.inspection, task.chosen) == (before.inspection, before.chosen)
    assert known(task.failed_p) == pytest.approx(fisher_exact([[0, 3], [1, 2]]).pvalue)
    for said in (besides(task, comparison).en, summary(comparison).replace("general", "`general`")):
        assert "failed" in said
        assert "1 of 3 of `general`" in said
    row = next(row for row in arms(task).rows if row[0].value == "general")
    assert "(1 of 3 first runs failed)" in row[3].text.en


def test_equal_rates_are_not_compared(tmp_path: Path) -> None:
    made = recipe(tmp_path)
    for name in ("general", "domain_task"):
        fail(made.metrics(name), 1, again=False)
    assert one(made)[0].failed_p is None


def test_a_seed_whose_run_failed_twice_is_in_no_comparison_of_its_arm(tmp_path: Path) -> None:
    """Nor are its predictions; with two seeds left there is no interval, and more of them are asked for."""
    made = recipe(tmp_path, replicates=2)
    before, _ = one(made)
    path = made.metrics("domain_task")
    fail(path, 2, again=True)
    task, comparison = one(made)
    arm, recipe_of = task.arm("domain_task"), known(task.first)
    assert (arm.first_failed, arm.lost, [*arm.by_replicate[1]], [*arm.by_replicate[2]]) == (
        (1, 6),
        ([], [2]),
        [1, 3],
        [1, 2, 3],
    )
    assert (known(recipe_of.difference).seeds, recipe_of.why) == (2, "few_seeds")
    text, as_before = (known(answer_to(each, "domain_text").difference) for each in (task, before))
    assert (text.seeds, text.mean) == (3, as_before.mean), "other arms have theirs"
    assert "not compared: `domain_task` (seed 2)" in besides(task, comparison).en
    assert known(task.inspection).runs in (5, 6)


def test_an_arm_that_mostly_failed_is_not_judged_by_its_lucky_rest(tmp_path: Path) -> None:
    """Its mean is that of all its runs, and the spread of the others does not have it."""
    made = recipe(tmp_path, replicates=2)
    sound, _ = one(made)
    for seed in (1, 2):
        fail(made.metrics("general"), seed, again=True)
    task, comparison = one(made)
    arm, first = task.arm("general"), known(task.first)
    assert (arm.first_failed, arm.mostly_failed, task.unlearned) == ((2, 3), True, ["general"])
    assert (first.why, first.verdict, first.difference) == ("nothing_learned", "not_tested", None)
    assert known(arm.interval).mean == pytest.approx((0.07 + 0.07 + sound.arm("general").scores[3]) / 3)
    assert "Too many runs of `general` failed" in besides(task, comparison).en
    gap, other = (known(answer_to(each, "domain_text").difference) for each in (task, sound))
    assert (gap.mean, task.scattered) == (other.mean, [])


def test_replicates_that_failed_as_a_whole_have_a_result(tmp_path: Path) -> None:
    made = recipe(tmp_path, replicates=3)
    fail_all = made.metrics("domain")
    for seed in (1, 2, 3):
        fail(fail_all, seed, again=None)
    task, comparison = one(made)
    arm = task.arm("domain")
    assert (arm.first_failed, [*arm.by_replicate], task.without_result(arm)) == ((3, 9), [2, 3], [])
    assert arm.lost == ([1], [])
    assert "not compared: `domain` (replicate 1)." in besides(task, comparison).en
    assert known(answer_to(task, "domain_text").difference).replicates == 2


def test_no_seed_that_learned_in_every_replicate(tmp_path: Path) -> None:
    """Four replicates of which each lost another seed, or the same: fewer than half of the runs failed."""
    made = recipe(tmp_path, replicates=4)
    for seed, path in zip(
        (1, 2, 3), sorted((made.root / "metrics/finetune").glob("section-domain-small-*")), strict=False
    ):
        fail(path, seed, again=True)
    arm = one(made)[0].arm("domain")
    assert 2 * sum(run.failed for run in arm.runs) < len(arm.runs)
    assert arm.mostly_failed
    assert known(arm.interval).mean > 0


def test_every_run_of_every_arm_failed(tmp_path: Path) -> None:
    made = recipe(tmp_path)
    for arm in LIFTED:
        for seed in (1, 2, 3):
            fail(made.metrics(arm), seed, again=None)
    task, comparison = one(made)
    assert task.unlearned == list(LIFTED)
    assert {each.difference for each in task.answers} == {None}
    assert heading(comparison).en == "The models learned nothing on section"
    assert all(each.interval is not None for each in task.arms), "what they scored is shown"


def test_an_arm_that_mostly_failed_is_neither_chosen_nor_hides_a_better_baseline(tmp_path: Path) -> None:
    """Its lucky rest may be the best on dev; nothing is compared with it, so that no baseline would be either."""
    low = dict.fromkeys(LIFTED, 0.36) | {"task": 0.97}
    made = simulate(tmp_path, tasks=["section"], accuracy=low, replicates=2)
    first, second = sorted((made.root / "metrics/finetune").glob("section-task-small-*"))
    for seed, path in zip((1, 2, 3, 2), (first, first, first, second), strict=True):
        fail(path, seed, again=True)
    task, comparison = one(made)
    dev = {arm.name: known(arm.dev) for arm in task.arms}
    assert (max(dev, key=dev.__getitem__), task.arm("task").mostly_failed) == ("task", True)
    assert task.chosen != "task"
    assert (task.best_on_dev, sorted(task.beside_baselines)) == ([task.chosen], sorted(task.baselines))
    assert heading(comparison).en.endswith("; a simple baseline is better on section")
