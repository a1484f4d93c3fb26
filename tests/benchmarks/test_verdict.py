"""Equal arms are called different as often as is promised, and the rule with a part left out errs more often."""

from dataclasses import replace

import pytest

from benchmarks.simulated_studies import World
from benchmarks.verdict import RULES, TODAY, called_equal, domain_text, equal_arms, half_widths, promised_power

STUDIES = 400
MOST, NOISE = 0.05, 0.033
"""How often a question may err, and three times the standard error of a share of 5 % in so many studies."""


@pytest.fixture(scope="module")
def shares() -> dict[str, dict[str, float]]:
    return equal_arms(World(draws=3, seeds=3, draw=1.0, rows=1.2), STUDIES, 5, RULES)


def test_equal_arms_are_called_different_at_the_stated_rate(shares: dict[str, dict[str, float]]) -> None:
    """Also where a seed does the same to arms of one kind, and where rows change single runs."""
    kinds = World(draws=3, seeds=3, draw=0.5, rows=0.7, seed_by_kind=1.0)
    worlds = [kinds, replace(kinds, seed_by_kind=0.0, rows_of_run=1.2)]
    for today in [shares[TODAY], *(equal_arms(world, STUDIES, 5, {TODAY: RULES[TODAY]})[TODAY] for world in worlds)]:
        assert MOST - NOISE <= today["domain_text"] <= MOST + NOISE
        assert today["any"] <= MOST + NOISE
        assert today["covered"] >= 1 - MOST - NOISE, "the smallest of seven questions"


@pytest.mark.parametrize("sabotage", ["draws as seeds", "no rows", "no Holm"])
def test_a_part_that_is_left_out_is_noticed(shares: dict[str, dict[str, float]], sabotage: str) -> None:
    assert shares[sabotage]["any"] > 1.4 * shares[TODAY]["any"]
    assert shares[sabotage]["any"] > MOST + NOISE / 2


@pytest.mark.parametrize(("draw", "rows"), [(0.7, 0.7), (0.0, 0.0)])
def test_what_is_called_detectable_is_shown_in_four_of_five_studies(draw: float, rows: float) -> None:
    """Also where nothing but seeds matters: degrees of freedom that vary from study to study cost power there."""
    assert promised_power(World(draws=3, seeds=3, draw=draw, rows=rows), 500, 7)["shown"] == pytest.approx(
        0.8, abs=0.06
    )


def test_arms_that_differ_are_seldom_called_equal() -> None:
    shares = called_equal(domain_text(World(draws=5, seeds=5, draw=0.2, rows=0.2), 250, 8))
    assert all(share <= MOST + NOISE for share in shares.values())
    assert shares["worth_it"] <= MOST + NOISE, "a gain that is just worth having is not called larger"


@pytest.mark.parametrize(("draws", "rows"), [(2, 0.0), (3, 0.0), (3, 0.7)])
def test_hardly_any_interval_is_without_bounds(draws: int, rows: float) -> None:
    """Where nothing but seeds matters, a difference of mean squares nearly cancels in many studies."""
    widths = half_widths(domain_text(World(draws=draws, seeds=3, draw=0, rows=rows), 250, 10))
    assert widths["99 %"] < 5 * widths["half"]
