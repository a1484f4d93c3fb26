"""Bases are ordered by dev scores of one arm, and compared with the first on test, arm by arm."""

from dataclasses import replace

import pytest

from adaptbert.comparison.judging import ranking, study_key
from adaptbert.comparison.records import Arm, Cost, Ranking, Run, Standing
from adaptbert.statistics.intervals import mean_interval
from adaptbert.statistics.spread import MADE_ONCE, Runs
from adaptbert.statistics.study import ArmRuns, Study
from adaptbert.statistics.verdicts import adjusted_p
from tests.support.known import known

DOMAIN: dict[str, Runs] = {
    "small": {1: {1: 0.60, 2: 0.62, 3: 0.61}, 2: {1: 0.61, 2: 0.63, 3: 0.60}},
    "base": {1: {1: 0.70, 2: 0.73, 3: 0.71}, 2: {1: 0.72, 2: 0.72, 3: 0.71}},
    "large": {1: {1: 0.71, 2: 0.72, 3: 0.715}, 2: {1: 0.70, 2: 0.73, 3: 0.72}},
}
DEV = {"small": 0.5, "base": 0.8, "large": 0.7}
WITHIN, WORTH = (0.0, 1.0), 0.01
PUBLISHED, MADE_HERE = "a checkpoint", "random weights"
"""Checkpoints of arms."""
Bases = dict[str, dict[str, Arm]]
"""Base -> its arms by name."""


def scored(runs: Runs, dev: float, tokens: int = 1000) -> Arm:
    rows = [Run(number, seed, score, dev) for number, scores in runs.items() for seed, score in scores.items()]
    means = [score for scores in runs.values() for score in scores.values()]
    interval = mean_interval(means, 0.95, WITHIN) if means else None
    cost = Cost(tokens, 3.0)
    return Arm("", PUBLISHED, "other", {number: f"cell-{number}" for number in runs}, rows, interval, cost)


def study(bases: Bases) -> Study:
    runs = {
        study_key(arm, base): ArmRuns(own.by_replicate) for base, arms in bases.items() for arm, own in arms.items()
    }
    return Study(runs, 0, 0.95, WITHIN)


def of_all(bases: Bases, min_gain: float = WORTH) -> Ranking | None:
    named = {base: {name: replace(arm, name=name) for name, arm in arms.items()} for base, arms in bases.items()}
    return ranking("section", "f1_macro", named, {PUBLISHED}, study(bases), min_gain)


def ranked(bases: Bases, min_gain: float = WORTH) -> Ranking:
    return known(of_all(bases, min_gain))


def once(runs: Runs, lower: float) -> Runs:
    """The first replicate as that of a checkpoint that is trained once for each base."""
    return {MADE_ONCE: {seed: score - lower for seed, score in runs[1].items()}}


def all_bases() -> Bases:
    """`general` is worse on dev than `domain`, and has the reverse order there."""
    return {
        base: {
            "general": scored(once(runs, 0.1), 0.4 - DEV[base] / 2),
            "domain": scored(runs, DEV[base]),
        }
        for base, runs in DOMAIN.items()
    }


def in_one_family(p_values: list[float]) -> list[float]:
    """None of them comes before another."""
    return [p for (p,) in adjusted_p([[p] for p in p_values])]


def others_of(result: Ranking) -> list[tuple[str, Standing]]:
    """Arm and standing of all but the first base."""
    return [(arm.arm, each) for arm in result.arms for each in arm.standings if each.base != result.order[0]]


def test_dev_decides_the_order_and_the_arm_and_test_does_not() -> None:
    result = ranked(all_bases())
    assert (result.arm, result.order) == ("domain", ["base", "large", "small"])
    assert [arm.arm for arm in result.arms] == ["domain", "general"]
    assert [each.base for each in result.arms[1].standings] == result.order, "one order for all arms"
    best_on_test = all_bases()
    best_on_test["small"]["domain"] = scored({1: dict.fromkeys((1, 2, 3), 0.99)}, DEV["small"])
    assert ranked(best_on_test).order == result.order


def test_differences_are_paired_with_the_first_base_and_adjusted_over_all_arms() -> None:
    bases = all_bases()
    result = ranked(bases)
    first, *others = result.arms[0].standings
    assert (first.difference, first.p_adjusted, first.verdict) == (None, None, None)
    assert others[1].base == "small"
    assert others[1].difference == study(bases).difference("small/domain", "base/domain")
    tested = [each for _, each in others_of(result)]
    p_values = [known(known(each.difference).p) for each in tested]
    assert [each.p_adjusted for each in tested] == in_one_family(p_values)
    assert len(p_values) == 4, "two bases in two arms"
    assert known(others[1].p_adjusted) > p_values[1], "adjusted"
    assert {each.base: each.verdict for each in others} == {"large": "equivalent", "small": "loss"}


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
    p_values = [known(known(each.difference).p) for each in compared]
    assert [each.p_adjusted for each in compared] == in_one_family(p_values)
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


def test_a_difference_is_weighed_against_what_is_worth_having() -> None:
    standings = ranked(all_bases(), min_gain=0.001).arms[0].standings[1:]
    assert {each.base: each.verdict for each in standings} == {"large": "undecided", "small": "loss"}


def test_budgets_are_compared() -> None:
    bases = all_bases()
    assert all(arm.same_tokens for arm in ranked(bases).arms)
    bases["small"]["domain"] = scored({1: DOMAIN["small"][1]}, DEV["small"], tokens=900)
    assert [arm.same_tokens for arm in ranked(bases).arms] == [False, True], "arm by arm"


def test_a_base_without_the_arm_comes_last_and_an_arm_of_one_base_is_left_out() -> None:
    bases = all_bases()
    bases["base"] = {"own": scored(DOMAIN["base"], 0.99)}
    result = ranked(bases)
    assert result.order == ["large", "small", "base"]
    assert [arm.arm for arm in result.arms] == ["domain", "general"]
    missing = all_bases()
    missing["base"]["domain"] = scored({}, 0.0)
    assert ranked(missing).arm == "general", "the arm that orders all three"


def test_one_base_is_not_ranked() -> None:
    assert of_all({"small": all_bases()["small"]}) is None
    assert of_all({}) is None
