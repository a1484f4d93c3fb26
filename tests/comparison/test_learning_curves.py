"""Learning curves from the cells' metrics to metrics.json, the CSV of `dvc plots` and the report's picture."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from adaptbert.comparison import records
from adaptbert.comparison.records import Comparison
from adaptbert.core.files import write_json
from adaptbert.report.charts import curves
from adaptbert.report.page import render
from adaptbert.report.plot_data import write_plots
from adaptbert.statistics.intervals import Interval, mean_interval
from adaptbert.tasks.metrics.cell_metrics import CellMetrics, FewerLabelsSeed, LearningPoint
from tests.support.known import known
from tests.support.simulated import Simulated, compared, simulate

SCORES = {
    "general": {50: [0.30, 0.34, 0.31], 100: [0.40, 0.41, 0.39]},
    "domain": {50: [0.45, 0.47, 0.47], 100: [0.50, 0.52, 0.49]},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    made = simulate(tmp_path_factory.mktemp("recipe"), seeds=(1, 2, 3))
    for arm, points in SCORES.items():
        path = made.cell(arm)
        curve = [
            LearningPoint(labels=labels, tokens=1_000, tflop=0.1, seeds=[*map(seed, (1, 2, 3), scores)])
            for labels, scores in points.items()
        ]
        write_json(path, CellMetrics.read(path).model_copy(update={"learning_curve": curve}).as_json())
    return made


def seed(number: int, score: float) -> FewerLabelsSeed:
    return FewerLabelsSeed(seed=number, test={"f1_macro": score}, dev={"f1_macro": score}, degenerate=False)


@pytest.fixture(scope="module")
def comparison(made: Simulated) -> Comparison:
    return compared(made)


def test_a_curve_has_every_number_of_labels_and_all_of_them_last(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    for name, points in SCORES.items():
        arm = known(task.arm(name))
        assert [point.labels for point in arm.learning_curve] == [50, 100, 250]
        of_all = {250: list(arm.scores.values())}
        for point in arm.learning_curve:
            expected = (points | of_all)[point.labels]
            assert point.scores == dict(zip((1, 2, 3), expected, strict=True))
            assert point.interval == mean_interval(expected, 0.95, (0.0, 1.0))
    assert known(task.arm("scratch")).learning_curve == []


def test_the_plot_has_every_seed(comparison: Comparison, tmp_path: Path) -> None:
    write_plots(comparison, tmp_path / "plots")
    with (tmp_path / "plots/learning_curve/mention.csv").open(encoding="utf-8") as file:
        assert {row["labels"] for row in csv.DictReader(file)} == {"250"}, "never without data: DVC complains"
    with (tmp_path / "plots/learning_curve/section.csv").open(encoding="utf-8") as file:
        rows = [(row["arm"], int(row["labels"]), int(row["seed"]), float(row["score"])) for row in csv.DictReader(file)]
    assert [row for row in rows if row[1] < 250] == [
        (arm, labels, seed, score)
        for arm, points in SCORES.items()
        for labels, scores in points.items()
        for seed, score in enumerate(scores, 1)
    ]
    assert len(rows) == 2 * 3 * 3 + 4 * 3, "the other arms have a point each"


def test_the_page_draws_a_line_an_arm_where_there_are_curves(comparison: Comparison) -> None:
    page = render(comparison)
    assert 'id="learning-section"' in page
    assert 'id="learning-mention"' not in page
    figure = page[page.index('id="learning-section"') :].partition("</figure>")[0]
    assert len(re.findall("<polyline", figure)) == len(re.findall("<polygon", figure)) == 2
    assert len(re.findall("<circle", figure)) == 2 * 3
    assert "学习曲线" in figure


def drawn(comparison: Comparison, *means: float, half: float | None) -> str:
    """One arm on 100, 200, ... labels; without intervals where `half` is None."""
    ends = [(None, None) if half is None else (mean - half, mean + half) for mean in means]
    points = [
        records.LearningPoint(100 * 2**place, {}, Interval(mean, *ends[place], None, 1))
        for place, mean in enumerate(means)
    ]
    return curves.learning([replace(comparison.tasks[0].arms[0], learning_curve=points)], "x")


def test_labels_that_double_are_equally_far_apart_and_more_is_higher(comparison: Comparison) -> None:
    chart = drawn(comparison, 0.2, 0.4, 0.6, half=0.1)
    (path,) = re.findall(r'<polyline[^>]*points="([^"]+)"', chart)
    places = [tuple(map(float, place.split(","))) for place in path.split()]
    assert places[1][0] - places[0][0] == pytest.approx(places[2][0] - places[1][0], abs=0.02)
    assert places[0][1] > places[1][1] > places[2][1], "y grows downward"
    (band,) = re.findall(r'<polygon[^>]*points="([^"]+)"', chart)
    assert len(band.split()) == 6


def test_one_seed_has_a_line_without_a_band(comparison: Comparison) -> None:
    assert re.findall(r'<polygon[^>]*points="([^"]*)"', drawn(comparison, 0.2, 0.4, half=None)) == [""]
