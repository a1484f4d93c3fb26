"""One figure for the tasks of a base that one metric compares: off where there is no such mean, first in the order."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.report.answer import of_mean
from adaptbert.statistics.verdicts import OF_MEAN, adjusted_p
from tests.support.known import answer_to, known
from tests.support.simulated import LIFTED, Simulated, compared, edited, simulate

TASKS = ("section", "remark")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    root = tmp_path_factory.mktemp("two_tasks")
    return simulate(root, tasks=TASKS, replicates=2, accuracy=LIFTED, replicate_spread=0.004, dice_seed=6)


@pytest.fixture(scope="module")
def two(made: Simulated) -> Comparison:
    return compared(made)


def test_the_first_question_of_tasks_of_one_metric_is_asked_of_their_mean_before_them(two: Comparison) -> None:
    (figure,) = two.means
    assert (figure.base, figure.metric, figure.tasks, figure.untested) == ("small", "f1_macro", [*TASKS], [])
    answer, own = figure.answer, [answer_to(task, "recipe") for task in two.tasks]
    gap = known(answer.difference)
    assert (answer.name, answer.arm, answer.other, answer.place) == ("recipe", "domain_task", "general", 0)
    assert gap.mean == pytest.approx(mean(known(each.difference).mean for each in own))
    assert gap.se < min(known(each.difference).se for each in own)
    assert (answer.verdict, answer.at_least, answer.replicates) == ("gain", True, 2)
    asked = [[each for each in task.answers if each.place is not None] for task in two.tasks]
    chains = [[known(known(each.difference).p) for each in chain] for chain in asked]
    *of_tasks, of_mean = adjusted_p([*chains, [known(gap.p)]], {2: [0, 1]})
    assert [[each.p_adjusted for each in chain] for chain in asked] == of_tasks
    assert [answer.p_adjusted] == of_mean
    assert known(gap.p) / OF_MEAN == pytest.approx(known(answer.p_adjusted))
    assert known(answer.detectable).value < min(known(each.detectable).value for each in own)
    assert known(answer.chance) > 0.9


def test_a_question_that_one_task_cannot_answer_leaves_the_mean_untested(made: Simulated, tmp_path: Path) -> None:
    shutil.copytree(made.root, tmp_path / "recipe")
    spoilt = Simulated(tmp_path / "recipe", made.plan)
    for path in (spoilt.root / "metrics/finetune").glob("remark-domain_task-*.json"):
        path.unlink()
    comparison = compared(spoilt)
    (figure,) = comparison.means
    assert (figure.answer.name, figure.answer.why, figure.answer.place) == ("recipe", "missing", None)
    assert (figure.untested, figure.answer.verdict) == (["remark"], "not_tested")
    for task in comparison.tasks:
        first = next(each for each in task.answers if each.place == 0)
        assert known(first.p_adjusted) < 0.05, "no share of the level is kept for it"
    other = compared(spoilt, order=["domain_transfer"])
    assert (other.means[0].answer.name, other.means[0].answer.verdict) == ("domain_transfer", "gain")


def test_tasks_that_share_no_run_are_tested_each_and_not_in_the_mean(made: Simulated, tmp_path: Path) -> None:
    shutil.copytree(made.root, tmp_path / "recipe", ignore=shutil.ignore_patterns("*.parquet", "predictions"))
    shutil.copytree(made.root / "data", tmp_path / "recipe/data", dirs_exist_ok=True)
    for path in (tmp_path / "recipe/metrics/finetune").glob("remark-*.json"):
        with edited(path) as metrics:
            for seed in metrics["seeds"]:
                seed["seed"] += 10
    comparison = compared(Simulated(tmp_path / "recipe", made.plan))
    (figure,) = comparison.means
    assert (figure.untested, figure.answer.why, figure.answer.place) == ([], "no_seed", None)
    assert {known(task.first).place for task in comparison.tasks} == {0}
    assert "not tested. The two arms share no seed." in of_mean(figure, comparison).en


@pytest.mark.parametrize("tasks", [("section",), ("section", "mention")])
def test_scores_of_one_task_or_of_other_kinds_have_no_mean(tmp_path: Path, tasks: Sequence[str]) -> None:
    assert compared(simulate(tmp_path, tasks=tasks, seeds=(1,))).means == []
