"""Several questions, or several tasks, together: the promised rate of errors is kept over all of them."""

import numpy as np
import pytest

from adaptbert.statistics.multiplicity import adjusted_p, tasks_with_effect
from tests.support.rates import STUDIES, standard_error


def test_holm_on_a_worked_example() -> None:
    assert adjusted_p([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjusted_p([0.9, 0.8]) == [1.0, 1.0]
    assert adjusted_p([0.03]) == [0.03]
    assert adjusted_p([]) == []


def test_six_questions_about_identical_arms_give_a_false_alarm_in_at_most_one_study_of_twenty() -> None:
    random = np.random.default_rng(13)
    alarms, unadjusted = 0, 0
    for _ in range(STUDIES):
        p_values = list(random.random(6))
        alarms += min(adjusted_p(p_values)) < 0.05
        unadjusted += min(p_values) < 0.05
    assert alarms / STUDIES < 0.05 + 4 * standard_error(0.05)
    assert unadjusted / STUDIES > 0.2


@pytest.mark.parametrize(
    ("p_values", "tasks"),
    [
        ([0.01, 0.02], 2),
        ([0.02, 0.06], 1),
        ([0.03, 0.04], 0),  # 2 * 0.03 is above the level, though both are below it
        ([0.04], 1),
        ([0.001, 0.012, 0.02, 0.3], 3),
        ([0.3, 0.02, 0.012, 0.001], 3),
        ([], 0),
    ],
)
def test_an_effect_in_at_least_so_many_tasks(p_values: list[float], tasks: int) -> None:
    assert tasks_with_effect(p_values, 0.05) == tasks


@pytest.mark.parametrize("true", [0, 1, 2])
def test_more_tasks_than_have_an_effect_are_claimed_in_at_most_one_study_of_twenty(true: int) -> None:
    """Also where the tasks share what was trained, so that all are lucky together."""
    random = np.random.default_rng(true)
    claimed = 0
    for _ in range(STUDIES):
        shared = random.random() < 0.5
        p_values = [1e-9] * true + [random.random()] * (4 - true if shared else 1)
        p_values += list(random.random(4 - len(p_values)))
        claimed += tasks_with_effect(p_values, 0.05) > true
    assert claimed / STUDIES < 0.05 + 4 * standard_error(0.05)
