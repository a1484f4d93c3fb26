"""Runs whose scores are means over tasks: the runs that all tasks have, and the spread of rows of independent sets."""

import numpy as np
import pytest

from adaptbert.statistics.spread import MADE_ONCE
from adaptbert.statistics.study import RESAMPLES, ArmRuns, Study, mean_runs, row_scores, row_variance
from tests.support.known import known

UNIT, ROWS = (0.0, 1.0), 400


def of_task(seed: int, rows: float, *, replicates: int = 3, seeds: int = 4) -> dict[str, ArmRuns]:
    """Two arms, of which test rows make the difference lie `rows` off."""
    random, arms = np.random.default_rng(seed), {}
    for arm, level, count in (("general", 0.5, 1), ("domain", 0.52, replicates)):
        numbers = range(1, count + 1) if count > 1 else [MADE_ONCE]
        scores = level + random.normal(0, 0.01, (count, 1)) + random.normal(0, 0.01, (count, seeds))
        of_rows = random.normal(0, rows / 2**0.5, RESAMPLES)
        runs = {
            n: dict(zip(range(1, seeds + 1), map(float, own), strict=True))
            for n, own in zip(numbers, scores, strict=True)
        }
        arms[arm] = ArmRuns(runs, [own[:, None] + of_rows for own in scores])
    return arms


def together(*tasks: dict[str, ArmRuns]) -> Study:
    return Study({arm: mean_runs([task[arm] for task in tasks]) for arm in tasks[0]}, ROWS, 0.95, UNIT)


def test_the_mean_is_that_of_the_tasks_and_its_spread_is_measured_on_it() -> None:
    tasks = [of_task(1, 0.01), of_task(2, 0.03)]
    alone = [known(Study(task, ROWS, 0.95, UNIT).difference("domain", "general")) for task in tasks]
    both = known(together(*tasks).difference("domain", "general"))
    assert both.mean == pytest.approx(np.mean([each.mean for each in alone]))
    assert (both.seeds, both.replicates) == (4, 3)
    by_hand = {}
    for arm, one in tasks[0].items():
        other, rows = tasks[1][arm], [known(task[arm].resampled) for task in tasks]
        runs = {n: {seed: (own[seed] + other.runs[n][seed]) / 2 for seed in own} for n, own in one.runs.items()}
        by_hand[arm] = ArmRuns(runs, [(own + of_other) / 2 for own, of_other in zip(*rows, strict=True)])
    assert both.se == pytest.approx(known(Study(by_hand, ROWS, 0.95, UNIT).difference("domain", "general")).se)


def test_rows_of_two_tasks_vary_by_a_quarter_of_the_sum_of_their_variances() -> None:
    """Two independent sets, so that the mean of two tasks is known better than either."""
    tasks = [of_task(1, 0.01), of_task(2, 0.03)]
    mean = {arm: mean_runs([task[arm] for task in tasks]) for arm in tasks[0]}
    *apart, together = (
        row_variance(row_scores(known(of["domain"].resampled)) - row_scores(known(of["general"].resampled)), ROWS)
        for of in (*tasks, mean)
    )
    assert apart == pytest.approx([0.01**2, 0.03**2], rel=0.15)
    assert together == pytest.approx(sum(apart) / 2**2, rel=0.1)


def test_runs_that_not_all_tasks_have_are_left_out_with_their_rows() -> None:
    one, other = of_task(1, 0.01, replicates=3, seeds=4)["domain"], of_task(2, 0.01, replicates=2, seeds=5)["domain"]
    own = {n: {seed + 1: score for seed, score in scores.items()} for n, scores in other.runs.items()}
    shared = mean_runs([one, ArmRuns(own, other.resampled)])
    assert {n: [*scores] for n, scores in shared.runs.items()} == {1: [2, 3, 4], 2: [2, 3, 4]}
    assert shared.runs[2][3] == pytest.approx((one.runs[2][3] + other.runs[2][2]) / 2)
    resampled, first, second = (known(each.resampled) for each in (shared, one, other))
    assert resampled[1] == pytest.approx((first[1][1:4] + second[1][0:3]) / 2)
    once = of_task(3, 0.01)["general"]
    for tasks in ([once, other], [other, once]):
        mean = mean_runs(tasks)
        assert {n: [*scores] for n, scores in mean.runs.items()} == {1: [1, 2, 3, 4], 2: [1, 2, 3, 4]}
        assert mean.runs[2][3] == pytest.approx((once.runs[MADE_ONCE][3] + other.runs[2][3]) / 2)
        rows = known(once.resampled)[0] + known(other.resampled)[1][:4]
        assert known(mean.resampled)[1] == pytest.approx(rows / 2), "searched on one task alone"
    assert mean_runs([one, ArmRuns(other.runs)]).resampled is None, "rows are in all scores of the mean or in none"
