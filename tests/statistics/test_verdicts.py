"""Verdicts follow from intervals, and over several questions or tasks the promised rate of errors is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from adaptbert.statistics import intervals
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.variance import Variance
from adaptbert.statistics.verdicts import OF_MEAN, adjusted_p, judge
from tests.support.rates import STUDIES, standard_error

WORTH = 0.01


def difference(mean: float, se: float, df: float = 20) -> Difference:
    return intervals.difference(mean, Variance({"replicates": se**2}, df), 5, 3, 0.95)


def verdicts(*chains: list[Difference]) -> list[list[str]]:
    return [[each.verdict for each in chain] for chain in judge(chains, WORTH, 0.95)]


@pytest.mark.parametrize(
    ("mean", "se", "verdict", "at_least"),
    [
        (0.030, 0.005, "gain", True),
        (0.015, 0.005, "gain", False),  # above 0, and above .01 as well as below
        (0.005, 0.001, "gain", False),
        (-0.015, 0.005, "loss", False),
        (-0.002, 0.0005, "loss", False),
        (0.0, 0.004, "equivalent", False),
        (0.006, 0.004, "undecided", False),  # neither above 0 nor within .01
        (0.0, 0.010, "undecided", False),
        (0.0, 0.0, "equivalent", False),
        (0.02, 0.0, "not_tested", False),
    ],
)
def test_by_the_interval(mean: float, se: float, verdict: str, at_least: bool) -> None:
    ((judged,),) = judge([[difference(mean, se)]], WORTH, 0.95)
    assert (judged.verdict, judged.at_least) == (verdict, at_least)


def test_the_first_question_pays_nothing_for_the_others_which_wait_for_it() -> None:
    alone, clear, nothing = difference(0.0219, 0.01), difference(0.1, 0.01), difference(0.0, 0.01)
    assert alone.p == pytest.approx(0.04, abs=0.001)
    assert verdicts([alone, nothing, clear]) == [["gain", "undecided", "gain"]]
    assert verdicts([alone, nothing, alone]) == [["gain", "undecided", "undecided"]], "p = .08 of the other two"
    assert verdicts([nothing, alone, clear]) == [["undecided"] * 3]
    assert verdicts([alone], [alone]) == [["undecided"], ["undecided"]], "p = .08 of two tasks"
    assert verdicts([alone], [clear]) == [["gain"], ["gain"]], "the share of a task that is done"
    assert verdicts([alone], [clear, nothing]) == [["undecided"], ["gain", "undecided"]], "of one that is not"
    few = intervals.difference(0.02, None, 2, 3, 0.95)
    assert verdicts([few, clear]) == [["not_tested", "undecided"]]


@pytest.mark.parametrize(
    ("chains", "adjusted"),
    [
        ([[0.01], [0.04], [0.03], [0.005]], [[0.03], [0.06], [0.06], [0.02]]),  # Holm's
        ([[0.9], [0.8]], [[1.0], [1.0]]),
        ([[0.03]], [[0.03]]),
        ([], []),
        ([[]], [[]]),
        ([[0.01, 0.04, 0.03]], [[0.01, 0.06, 0.06]]),  # Holm's behind the first
        ([[0.2, 0.001]], [[0.2, 0.2]]),
        ([[0.01, 0.02], [0.04, 0.001]], [[0.02, 0.04], [0.04, 0.04]]),
        ([[0.01, 0.02], [], [0.04, 0.001]], [[0.02, 0.04], [], [0.04, 0.04]]),
        ([[0.001], [0.03, 0.02], [0.04]], [[0.003], [0.06, 0.06], [0.06]]),
        ([[0.001, 0.01, 0.01, 0.01], [0.02]], [[0.002, 0.04, 0.04, 0.04], [0.04]]),
    ],
)
def test_adjusted_p_on_worked_examples(chains: list[list[float]], adjusted: list[list[float]]) -> None:
    assert adjusted_p(chains) == [pytest.approx(chain, rel=1e-5) for chain in adjusted]


CHAINS = st.lists(st.lists(st.floats(1e-6, 1), max_size=4), max_size=4)


@given(chains=CHAINS, level=st.floats(0.01, 0.2))
def test_adjusted_p_is_what_the_graph_decides_step_by_step(chains: list[list[float]], level: float) -> None:
    """Beside a walk that decides whatever it may, in any order, and hands shares on."""
    still = {(c, n) for c, chain in enumerate(chains) for n in range(len(chain))}
    first = [c for c, chain in enumerate(chains) if chain]
    shares = {each: level / len(first) if each[1] == 0 else 0.0 for each in still}
    decided: set[tuple[int, int]] = set()
    while ready := sorted(each for each in still if chains[each[0]][each[1]] < shares[each]):
        each = ready[-1]
        still.remove(each)
        decided.add(each)
        own = [other for other in still if other[0] == each[0]]
        groups = [own] if own else [[other for other in still if other[0] == c] for c in first]
        groups = [[other for other in group if other[1] == 0] or group for group in groups if group]
        for group in groups:
            for other in group:
                shares[other] += shares[each] / len(groups) / len(group)
    adjusted = adjusted_p(chains)
    by_p = {(c, n) for c, chain in enumerate(adjusted) for n, p in enumerate(chain) if p < level}
    edge = any(abs(p - level) < 1e-4 for chain in adjusted for p in chain)
    assert edge or by_p == decided


# ---- a mean over tasks comes first


def test_the_mean_comes_first_and_the_tasks_pay_for_it_only_where_it_is_open() -> None:
    clear, nothing, alone = difference(0.1, 0.01), difference(0.0, 0.01), difference(0.0219, 0.01)
    two, before = [[alone, alone], [clear]], {2: [0, 1]}
    shown, waiting = (
        [[each.verdict for each in own] for own in judge([*two, [mean]], WORTH, 0.95, before)]
        for mean in (difference(0.03, 0.01), nothing)
    )
    assert shown == [["gain", "gain"], ["gain"], ["gain"]]
    assert waiting == [["undecided", "undecided"], ["gain"], ["undecided"]], "and tasks may have verdicts without it"
    assert verdicts(*two) == shown[:2], "as if the mean had not been asked"


@pytest.mark.parametrize(
    ("chains", "before", "adjusted"),
    [
        ([[0.01], [0.02], [0.008]], {2: [0, 1]}, [[0.02], [0.02], [0.01]]),
        ([[0.001], [0.6], [0.04]], {2: [0, 1]}, [[0.01], [0.6], [0.04 / 0.9]]),  # its part goes to the mean
        ([[0.001, 0.01], [0.6], [0.9]], {2: [0, 1]}, [[0.01, 0.1], [1.0], [1.0]]),
        ([[0.01], [0.02], [0.008], [0.03]], {2: [0, 1]}, [[0.03], [0.03], [0.015], [0.03]]),  # another metric
        ([[0.01], [0.02], []], {2: [0, 1]}, [[0.02], [0.02], []]),
        ([[0.01], [], [0.008]], {2: [0, 1]}, [[0.01], [], [0.01]]),
    ],
)
def test_adjusted_p_with_a_mean_on_worked_examples(
    chains: list[list[float]], before: dict[int, list[int]], adjusted: list[list[float]]
) -> None:
    assert adjusted_p(chains, before) == [pytest.approx(chain, rel=1e-5) for chain in adjusted]


@given(
    chains=st.lists(st.lists(st.floats(1e-6, 1), max_size=3), min_size=5, max_size=5),
    p=st.floats(1e-6, 1),
    level=st.floats(0.01, 0.2),
)
def test_adjusted_p_with_means_is_what_the_graph_decides_step_by_step(
    chains: list[list[float]], p: float, level: float
) -> None:
    """Two means of two tasks each and a task beside them; a walk that decides whatever it may, and hands shares on."""
    before = {5: [0, 1], 6: [2, 3]}
    groups = {mean: [task for task in tasks if chains[task]] for mean, tasks in before.items()}
    chains = [*chains, *([p] if own else [] for own in groups.values())]
    still = {(c, n) for c, chain in enumerate(chains) for n in range(len(chain))}
    first, decided = [c for c in range(5) if chains[c]], set[tuple[int, int]]()
    shares = dict.fromkeys(still, 0.0)
    for c in first:
        mean = next((mean for mean, own in groups.items() if c in own), None)
        shares[c, 0] += level / len(first) * (1.0 if mean is None else 1 - OF_MEAN)
        if mean is not None:
            shares[mean, 0] += level / len(first) * OF_MEAN

    def hand_on(share: float, receivers: list[list[tuple[int, int]]]) -> None:
        left = [own for own in receivers if own]
        for own in left:
            for each in own:
                shares[each] += share / len(left) / len(own)

    def of_chain(c: int) -> list[tuple[int, int]]:
        own = [each for each in sorted(still) if each[0] == c]
        return own[:1] if own and own[0][1] == 0 else own

    def of_group(mean: int) -> list[tuple[int, int]]:
        if (mean, 0) in still:
            return [(mean, 0)]
        return [each for task in groups[mean] for each in of_chain(task)]

    while ready := sorted(each for each in still if chains[each[0]][each[1]] < shares[each]):
        each = ready[-1]
        still.remove(each)
        decided.add(each)
        mean = next((mean for mean, own in groups.items() if each[0] in {*own, mean}), None)
        rest = of_chain(each[0])
        if rest and mean != each[0]:
            hand_on(shares[each], [rest])
        elif mean is not None and of_group(mean) == [(mean, 0)]:
            hand_on(shares[each], [[(mean, 0)]])
        elif mean is not None and of_group(mean):
            hand_on(shares[each], [of_chain(task) for task in groups[mean]])
        else:
            others = [other for other in groups if other != mean]
            hand_on(shares[each], [*map(of_group, others), of_chain(4)])
    adjusted = adjusted_p(chains, before)
    by_p = {(c, n) for c, chain in enumerate(adjusted) for n, own in enumerate(chain) if own < level}
    edge = any(abs(own - level) < 1e-4 for chain in adjusted for own in chain)
    assert edge or by_p == decided


def test_a_false_alarm_is_as_rare_with_a_mean() -> None:
    """Three tasks of two questions without an effect, and their mean, which is made of the same figures."""
    z = np.random.default_rng(17).normal(0, 1, (STUDIES, 3, 2))
    of_tasks, of_mean = 2 * stats.norm.sf(abs(z)), 2 * stats.norm.sf(abs(z[:, :, 0].mean(1)) * 3**0.5)
    every = [
        np.concatenate(adjusted_p([*map(list, tasks), [mean]], {3: [0, 1, 2]}))
        for tasks, mean in zip(of_tasks, of_mean, strict=True)
    ]
    alarms = np.mean(np.min(every, 1) < 0.05)
    assert abs(alarms - 0.05) < 4 * standard_error(0.05)


@pytest.mark.parametrize("has_effect", [False, True])
def test_a_false_alarm_is_given_in_at_most_one_study_of_twenty(has_effect: bool) -> None:
    """Three tasks with four questions each, of which the first of one task is true, or none."""
    studies = np.random.default_rng(13).random((STUDIES, 3, 4))
    studies[:, 0, 0] = 0.0 if has_effect else studies[:, 0, 0]
    every = [np.concatenate(adjusted_p([list(chain) for chain in study]))[has_effect:] for study in studies]
    alarms = np.mean(np.min(every, 1) < 0.05)
    assert alarms < 0.05 + 4 * standard_error(0.05)
    assert has_effect or alarms > 0.05 - 4 * standard_error(0.05), "the level is used"
    assert np.mean(studies.reshape(STUDIES, -1)[:, has_effect:].min(1) < 0.05) > 0.4, "unadjusted"
