"""The pictures of the report: colours, axes, and bars as long as their values."""

import re

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.comparison.report import charts, curves
from adaptbert.comparison.report import terms as words
from tests.support.simulated import ACCURACY, ARMS


def test_colours_follow_the_ladder(comparison: Comparison) -> None:
    roles = {arm: comparison.rung(rung.format(task="section")).role for arm, rung in ARMS.items()}
    assert roles == {arm: arm for arm in ACCURACY}


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
    chart = charts.bars([charts.Bar("a", "domain", 0.3, 0.2, 0.4, [0.3])], [charts.Mark(words.same("c"), 0.1)], "id")
    assert 'width="75.00%"' in chart
    assert 'x1="25.00%"' in chart


def test_a_negative_correlation_points_to_the_left() -> None:
    rows = [charts.Bar(str(mean), "domain", mean, None, None, [mean]) for mean in (-0.2, 0.2)]
    chart = charts.bars(rows, [], "id")
    assert 'x="0%" y="22" width="50.00%"' in chart
    assert 'x="50%" y="68" width="50.00%"' in chart


def test_the_axis_holds_the_whole_interval() -> None:
    """Of a correlation that may be negative, though all its seeds are positive."""
    chart = charts.bars([charts.Bar("a", "domain", 0.1, -0.3, 0.5, [0.1])], [], "id")
    whisker = re.search(r'class="whisker" x1="([\d.]+)%" x2="([\d.]+)%"', chart)
    assert whisker is not None
    assert [float(place) for place in whisker.groups()] == [10, 90], "of an axis from -40 to 60"


def test_a_name_that_is_too_long_for_a_telephone_is_whole_in_its_title() -> None:
    name = "an_arm_with_a_name_that_takes_more_room"
    chart = charts.bars([charts.Bar(name, "domain", 0.3, 0.2, 0.4, [0.3], marked=True)], [], "id")
    assert f">an_arm_with_a_name_that_t…<title>{name}</title> ✓<" in chart
    assert words.svg_text("领域文本本身", 11) == "领域文本…<title>领域文本本身</title>"
    assert words.svg_text("领域文本本身", 12) == "领域文本本身"


def ticks_of(chart: str) -> list[str]:
    return re.findall(r'class="tick"[^>]*>([^<]*)<', chart)


def test_an_axis_of_differences_is_written_with_the_digits_of_its_step() -> None:
    row = charts.Whisker(words.same("a"), "not_shown", 0.004, 0.001, 0.0105, None)
    assert ticks_of(charts.whiskers([row], "id")) == ["−0.25", "0", "+0.25", "+0.5", "+0.75", "+1", "+1.25"]


@pytest.mark.parametrize("mean", [0.0, 0.003, -0.003])
def test_the_axis_of_differences_that_are_hardly_any_is_symmetric(mean: float) -> None:
    rows = [charts.Whisker(words.same("a"), "untested", value, None, None, None) for value in (mean, 0.0)]
    assert ticks_of(charts.whiskers(rows, "id")) == ["−1", "−0.5", "0", "+0.5", "+1"]


def test_no_two_ticks_of_an_axis_are_written_alike() -> None:
    """Text that a short run hardly changed: the axis is a ten-thousandth of a bit long."""
    for chart in (
        charts.moves([charts.Move("a", "domain", 10.43210, 10.43201)], "id"),
        curves.curves([curves.Curve("a", "domain", [(0, 10.43210), (2_048, 10.43201)], dashed=False)], "id"),
    ):
        ticks = ticks_of(chart)
        assert len(ticks) == len(set(ticks)) > 4
