"""The fill-in curves on the page: a figure for each start, a row for each class, a column for each rung."""

import dataclasses
import re

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.comparison.report.charts import fill_in
from adaptbert.comparison.report.page import render
from adaptbert.pretraining.metrics.fill_in_classes import FILL_IN_CLASSES
from adaptbert.pretraining.metrics.rung_metrics import StopMetrics
from tests.support.simulated import compared, simulate
from tests.support.simulated_fill_in import LEVEL


def test_every_class_has_words_in_both_languages() -> None:
    assert tuple(fill_in.CLASSES) == FILL_IN_CLASSES
    assert all(words.en and re.search(r"[\u4e00-\u9fff#]", words.zh) for words in fill_in.CLASSES.values())


def test_rows_are_classes_and_columns_rungs(comparison: Comparison) -> None:
    (figure,) = fill_in.small_multiples(comparison)
    trained = [rung.name for rung in comparison.rungs if rung.below is not None]
    assert [rung.name for rung in figure.rungs] == trained
    names = [row.name.en for row in figure.rows]
    assert names == [fill_in.CLASSES[name].en for name in LEVEL if name != "emoji"], "emoji are too few"
    for row in figure.rows:
        assert all(cell is not None and cell.last <= row.top for cell in row.cells)
    punctuation = figure.rows[names.index("punctuation")]
    first, second = (punctuation.cells[trained.index(name)] for name in ("pretrain", "domain_transfer/domain"))
    assert first is not None
    assert second is not None
    assert (first.first, first.last, first.unigram, first.tokens) == (0.0, 0.7, 0.3, 200)
    assert second.first == 0.35
    lines = [cell.chart.count("<polyline") for cell in (first, second)]
    assert lines == [1, 2], "general text beside the own"


def test_points_lie_on_the_scale_of_their_row(comparison: Comparison) -> None:
    """The first step at the left edge, the last at the right; the best value of the row at the upper edge."""
    (figure,) = fill_in.small_multiples(comparison)
    chart = figure.rows[0].cells[0]
    assert chart is not None
    path = re.search(r'points="([^"]+)"', str(chart.chart))
    assert path is not None
    points = [tuple(map(float, point.split(","))) for point in path[1].split(" ")]
    assert points[0] == (0.0, 100.0)
    assert points[-1] == (100.0, 0.0)
    assert [x for x, _ in points] == sorted(x for x, _ in points)


def test_the_weights_that_a_rule_keeps_count(comparison: Comparison) -> None:
    rung = comparison.rung("domain_transfer/domain")
    assert rung.fill_in is not None
    stop = StopMetrics(planned_steps=976, kept_step=3, kept_tokens=6144, reason="patience")
    rungs = [dataclasses.replace(rung, stop=stop)]
    (figure,) = fill_in.small_multiples(dataclasses.replace(comparison, rungs=rungs))
    cell = figure.rows[0].cells[0]
    assert cell is not None
    accuracy = rung.fill_in.texts["domain"]["all"].accuracy
    assert cell.last == accuracy[2] < accuracy[-1]


def test_the_page_has_the_section_where_there_are_curves(comparison: Comparison) -> None:
    page = render(comparison)
    assert 'id="fill-in"' in page
    assert 'href="#fill-in"' in page
    without = [dataclasses.replace(rung, fill_in=None) for rung in comparison.rungs]
    assert 'id="fill-in"' not in render(dataclasses.replace(comparison, rungs=without)), "files of earlier versions"


def test_a_figure_for_each_start_with_the_first_draw(tmp_path_factory: pytest.TempPathFactory) -> None:
    made = simulate(tmp_path_factory.mktemp("starts"), starts=("small", "other"), draws=2, tasks=["section"])
    figures = fill_in.small_multiples(compared(made))
    assert [figure.start for figure in figures] == ["small", "other"]
    for figure in figures:
        assert {rung.draw for rung in figure.rungs} == {0, 1}
        assert {rung.start for rung in figure.rungs} == {figure.start}
