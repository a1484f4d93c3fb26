"""Wrong gains and losses are as seldom as is promised, and the rule with a part left out errs more often."""

from dataclasses import replace

import pytest

from benchmarks.simulated_studies import World
from benchmarks.verdict import (
    RULES,
    TODAY,
    TRUTHS,
    called,
    errors,
    first_question,
    half_widths,
    promised_power,
)

STUDIES = 300
MOST, NOISE = 0.05, 0.038
"""How often a study may err, and three times the standard error of a share of 5 % in so many studies."""
WORLD, APART = World(draws=3, seeds=3, draw=1.0, rows=1.2), World(draws=3, seeds=5, draw=1.0, rows=0.0)


def test_a_study_errs_at_the_stated_rate_whatever_is_true() -> None:
    """Also where a seed does the same to arms of one kind, and where rows change single runs."""
    kinds = World(draws=3, seeds=3, draw=0.5, rows=0.7, seed_by_kind=1.0)
    for world in (WORLD, kinds, replace(kinds, seed_by_kind=0.0, rows_of_run=1.2)):
        today = errors(world, STUDIES, 5, RULES[TODAY])
        assert today["any"].keys() == TRUTHS.keys()
        assert max(today["any"].values()) <= MOST + NOISE
        assert today["covered"] >= 1 - MOST - NOISE, "the smallest of six questions"


@pytest.mark.parametrize(
    ("sabotage", "world"), [("draws as seeds", APART), ("no rows", WORLD), ("no first question", WORLD)]
)
def test_a_part_that_is_left_out_is_noticed(sabotage: str, world: World) -> None:
    assert errors(world, STUDIES // 2, 5, RULES[sabotage])["any"]["all equal"] > MOST + 2 * NOISE


@pytest.mark.parametrize(("draw", "rows"), [(0.7, 0.7), (0.0, 0.0)])
def test_what_is_called_detectable_is_shown_in_four_of_five_studies(draw: float, rows: float) -> None:
    """Also where nothing but seeds matters: degrees of freedom that vary from study to study cost power there."""
    power = promised_power(World(draws=3, seeds=3, draw=draw, rows=rows), 500, 7)
    assert power["shown"] == pytest.approx(0.8, abs=0.06)
    assert power["before"] < power["shown"] or not draw, "the first question of the rule before, on more runs"


def test_arms_that_differ_are_seldom_called_equivalent() -> None:
    shares = called(first_question(World(draws=5, seeds=5, draw=0.2, rows=0.2), 250, 8))
    assert shares["equivalent"] <= MOST + NOISE
    assert shares["at_least"] <= MOST + NOISE, "a gain that is just worth having is not called larger"


@pytest.mark.parametrize(("draws", "rows"), [(2, 0.0), (3, 0.0), (3, 0.7)])
def test_hardly_any_interval_is_without_bounds(draws: int, rows: float) -> None:
    """Where nothing but seeds matters, a difference of mean squares nearly cancels in many studies."""
    widths = half_widths(first_question(World(draws=draws, seeds=3, draw=0, rows=rows), 250, 10))
    assert widths["99 %"] < 5 * widths["half"]
