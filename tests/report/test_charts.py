"""The pictures of the report: colours, axes, and bars as long as their values."""

import re
from dataclasses import replace
from typing import get_args

import pytest

from adaptbert.comparison.questions import ROLES
from adaptbert.comparison.records import Comparison
from adaptbert.report.charts import curves
from adaptbert.report.charts import rows as charts
from adaptbert.report.charts.svg import style_sheet, svg_text
from adaptbert.report.language import same
from adaptbert.statistics.verdicts import GAINS, Verdict
from tests.support.judged_steps import answered, untested
from tests.support.known import known
from tests.support.simulated import ARMS


def test_colours_follow_the_ladder(comparison: Comparison) -> None:
    assert {arm.name: arm.role for arm in comparison.tasks[0].arms} == {arm: arm for arm in ARMS}


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb: WCAG 2.1."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, other: str) -> float:
    """Contrast ratio of two colours, from 1 to 21: WCAG 2.1."""
    darker, lighter = sorted(luminance(each) for each in (colour, other))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_role_has_a_colour_of_its_own_that_contrasts_with_the_page(scheme: str) -> None:
    css = style_sheet()
    light, dark = (dict(re.findall(r"--([\w-]+): (#\w{6});", block)) for block in css.split(":root {")[1:3])
    colours = light if scheme == "light" else dark
    named = dict(re.findall(r"\.role-(\w+) { --role: var\(--([\w-]+)\); }", css))
    assert {named[role] for role in ROLES} <= colours.keys(), "page.css needs another --hue- in both schemes"
    of_roles = [colours[named[role]] for role in ROLES]
    assert len(set(of_roles)) == len(ROLES)
    faint = [role for role, colour in zip(ROLES, of_roles, strict=True) if contrast(colour, colours["paper"]) < 3]
    assert not faint, "graphics need a contrast of 3 with their background (WCAG 2.1, 1.4.11)"


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 0.62, [0.0, 0.2, 0.4, 0.6, 0.8]),
        (2.42, 4.45, [2.0, 2.5, 3.0, 3.5, 4.0, 4.5]),
        (1.0, 1.0, [1.0, 1.2]),
        (-0.03, 0.11, [-0.05, 0.0, 0.05, 0.1, 0.15]),
    ],
)
def test_axes_have_round_numbers(low: float, high: float, ticks: list[float]) -> None:
    assert charts.nice_ticks(low, high) == pytest.approx(ticks)


def test_bars_are_as_long_as_their_values() -> None:
    chart = charts.bars([charts.Bar("a", "domain", 0.3, 0.2, 0.4, [[0.3]])], [(same("c"), 0.1)], "id")
    assert 'width="75.00%"' in chart
    assert 'x1="25.00%"' in chart


def test_a_negative_correlation_points_to_the_left() -> None:
    rows = [charts.Bar(str(mean), "domain", mean, None, None, [[mean]]) for mean in (-0.2, 0.2)]
    chart = charts.bars(rows, [], "id")
    assert 'x="0%" y="22" width="50.00%"' in chart
    assert 'x="50%" y="68" width="50.00%"' in chart


def test_the_axis_holds_the_whole_interval() -> None:
    """Of a correlation that may be negative, though all its seeds are positive."""
    chart = charts.bars([charts.Bar("a", "domain", 0.1, -0.3, 0.5, [[0.1]])], [], "id")
    whisker = known(re.search(r'class="whisker" x1="([\d.]+)%" x2="([\d.]+)%"', chart))
    assert [float(place) for place in whisker.groups()] == [10, 90], "of an axis from -40 to 60"


def test_a_name_that_is_too_long_for_a_telephone_is_whole_in_its_title() -> None:
    name = "an_arm_with_a_name_that_takes_more_room"
    chart = charts.bars([charts.Bar(name, "domain", 0.3, 0.2, 0.4, [[0.3]], marked=True)], [], "id")
    assert f">an_arm_with_a_name_that_t…<title>{name}</title> ✓<" in chart
    assert svg_text("领域文本本身", 11) == "领域文本…<title>领域文本本身</title>"
    assert svg_text("领域文本本身", 12) == "领域文本本身"


def ticks_of(chart: str) -> list[str]:
    return re.findall(r'class="tick"[^>]*>([^<]*)<', chart)


def whiskers(comparison: Comparison, mean: float, half: float | None, verdict: Verdict, worth: float = 0.01) -> str:
    """Of one step; without an interval where `half` is None."""
    step = answered(comparison.tasks[0], "domain_text", mean, half or 1.0, verdict, 0.04)
    if half is None:
        step = replace(step, difference=untested(mean, seeds=2))
    return charts.whiskers([step], worth, "id")


@pytest.mark.parametrize(
    ("mean", "half", "ticks"),
    [
        (0.00575, 0.00475, ["−0.25", "0", "+0.25", "+0.5", "+0.75", "+1", "+1.25"]),
        *((mean, None, ["−1", "−0.5", "0", "+0.5", "+1"]) for mean in (0.0, 0.003, -0.003)),
    ],
)
def test_an_axis_of_differences_has_the_digits_of_its_step_and_is_symmetric_where_they_are_hardly_any(
    comparison: Comparison, mean: float, half: float | None, ticks: list[str]
) -> None:
    assert ticks_of(whiskers(comparison, mean, half, "descriptive")) == ticks


@pytest.mark.parametrize(("worth", "lines"), [(0.01, 2), (0.025, 1), (0.2, 0)])
def test_the_smallest_gain_worth_having_is_a_line_to_both_sides_where_the_axis_reaches_it(
    comparison: Comparison, worth: float, lines: int
) -> None:
    assert whiskers(comparison, 0.02, 0.025, "gain", worth).count('class="worth"') == lines


def test_a_band_is_drawn_for_questions_with_a_verdict_alone(comparison: Comparison) -> None:
    step = answered(comparison.tasks[0], "domain_text", 0.02, 0.03, "undecided", 0.4)
    for p, drawn in ((0.4, True), (None, False)):
        assert ('class="unseen"' in charts.whiskers([replace(step, p_holm=p)], 0.01, "id")) == drawn


def test_nothing_but_a_gain_has_the_colour_of_one(comparison: Comparison) -> None:
    for verdict in get_args(Verdict):
        chart = whiskers(comparison, 0.02, 0.01, verdict)
        assert f"whisker verdict-{verdict}" in chart
        assert f"mean verdict-{verdict}" in chart
    rules = re.findall(r"([^{}]+){([^{}]*)}", style_sheet())
    coloured: dict[str, set[str]] = {"--good": set(), "--bad": set()}
    for names, style in rules:
        for colour, verdicts in coloured.items():
            if colour in style:
                verdicts.update(re.findall(r"verdict-(\w+)", names))
    assert coloured == {"--good": set(GAINS), "--bad": {"loss"}}


def test_no_two_ticks_of_an_axis_are_written_alike() -> None:
    """Text that a short run hardly changed: the axis is a ten-thousandth of a bit long."""
    chart = curves.curves([curves.Curve("a", "domain", [(0, 10.43210), (2_048, 10.43201)], dashed=False)], "id")
    ticks = ticks_of(chart)
    assert len(ticks) == len(set(ticks)) > 4
