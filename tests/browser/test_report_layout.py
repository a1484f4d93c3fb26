"""The figures and tables of reports/index.html in Chromium: they fit, and nothing covers or crosses a text."""

import dataclasses
from pathlib import Path

import pytest

from adaptbert.report.page import render
from adaptbert.statistics.intervals import Interval
from tests.support.browsing import CHROMIUM, COVERED, LINES_THROUGH_LABELS, Watched
from tests.support.simulated import ACCURACY, ARMS, compared, rearmed, simulate

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

ARMS_OF_A_TASK: list[dict[str, tuple[str, dict[str, str]]]] = [
    {"domain": ("domain", ARMS["domain"])},
    {
        **{arm: (arm, ARMS[arm]) for arm in ("general", "general_long", "domain")},
        "clinical_notes_2024": ("task", {"domain_transfer": "clinical_notes_2024"}),
    },
]

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


@pytest.mark.parametrize("width", [360, 768, 1400])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_fits_its_width(chromium: "playwright.Browser", any_report: Path, width: int, language: str) -> None:
    with Watched(chromium, any_report, f"?lang={language}", viewport={"width": width, "height": 900}) as seen:
        seen.unfold()
        assert seen.page.evaluate("document.documentElement.scrollWidth") == width
        # Letters in charts keep their size, and none is cut off at the edge of the screen.
        outside = seen.page.evaluate(
            """width => [...document.querySelectorAll("svg text, h1, h2, p, dd, .chip, summary")].filter(element => {
                const box = element.getBoundingClientRect();
                return box.width > 0 && (box.left < -1 || box.right > width + 1);
            }).map(element => element.textContent)""",
            width,
        )
        assert outside == []


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_the_line_of_a_baseline_keeps_away_from_the_values_at_the_edge(
    chromium: "playwright.Browser", tmp_path: Path, width: int
) -> None:
    """The best baseline is at the end of the axis, below the values with their intervals; all arms are equal."""
    made = simulate(tmp_path, tasks=["section"], accuracy=dict.fromkeys(ACCURACY, 0.25))
    comparison = compared(made)
    scores = {
        name: Interval(score, score - 0.05, score + 0.05, 0.01, 3)
        for name, score in (("majority", 0.077), ("tfidf_logistic", 0.497))
    }
    comparison = dataclasses.replace(comparison, tasks=[dataclasses.replace(comparison.tasks[0], baselines=scores)])
    path = tmp_path / "index.html"
    path.write_text(render(comparison), encoding="utf-8")
    with Watched(chromium, path, viewport={"width": width, "height": 900}) as seen:
        seen.unfold()
        lines = seen.page.locator("#task-section line.control").evaluate_all(
            "lines => lines.map(line => line.x1.baseVal.valueInSpecifiedUnits)"
        )
        assert max(lines) > 99, "at the right edge"
        assert seen.page.evaluate(LINES_THROUGH_LABELS) == []
        assert seen.page.evaluate(COVERED) == []


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_no_line_of_a_chart_runs_through_a_label(chromium: "playwright.Browser", any_report: Path, width: int) -> None:
    with Watched(chromium, any_report, viewport={"width": width, "height": 900}) as seen:
        seen.unfold()
        assert seen.page.locator("svg.chart").count() > 8
        assert seen.page.evaluate(LINES_THROUGH_LABELS) == []
        assert seen.page.evaluate(COVERED) == []
        bands = seen.page.locator("svg .unseen").evaluate_all(
            "all => all.map(band => getComputedStyle(band).clipPath == 'none' && band.getBoundingClientRect().width)"
        )
        judged = seen.page.locator(".chip[class*=verdict-]").evaluate_all(
            "all => all.some(chip => !/verdict-(one_draw|descriptive|untested)/.test(chip.className))"
        )
        assert bool(bands) == judged, "what could not have been found is drawn where there is a verdict"
        assert all(width > 2 for width in bands)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_figure_of_a_table_is_seen_without_scrolling(
    chromium: "playwright.Browser", any_report: Path, language: str
) -> None:
    """On a telephone the score stands beside the name of its arm; the same holds of all other tables."""
    with Watched(chromium, any_report, f"?lang={language}", viewport={"width": 360, "height": 900}) as seen:
        seen.unfold()
        outside = seen.page.evaluate(
            """() => [...document.querySelectorAll("table.sortable")].flatMap(table => {
                const frame = table.closest(".scroll").getBoundingClientRect();
                return [...table.tBodies[0].rows].filter(row => {
                    const score = row.cells[1].getBoundingClientRect();
                    return score.right > frame.right + 1 || score.width < 5 || frame.right > 360;
                }).map(row => row.textContent.trim().slice(0, 60));
            })"""
        )
        assert outside == []
        matrix = seen.page.locator(".matrix td").evaluate_all(
            """cells => cells.filter(cell => {
                const difference = cell.querySelector("b").getBoundingClientRect();
                return cell.getBoundingClientRect().right > 360 || difference.height > 30;
            }).length"""
        )
        assert matrix == 0, "no difference is cut off or broken into two lines"


@pytest.mark.parametrize("width", [360, 800, 1280])
@pytest.mark.parametrize("arms", ARMS_OF_A_TASK, ids=len)
def test_small_ladders_fit_their_width(
    chromium: "playwright.Browser", tmp_path: Path, width: int, arms: dict[str, tuple[str, dict[str, str]]]
) -> None:
    """One arm with two seeds, and two domain corpora with long names."""
    made = rearmed(simulate(tmp_path, seeds=(1, 2), tasks=["section"]), arms)
    path = tmp_path / "index.html"
    path.write_text(render(compared(made)), "utf-8")
    with Watched(chromium, path, viewport={"width": width, "height": 900}) as seen:
        seen.unfold()
        assert seen.page.evaluate("document.documentElement.scrollWidth") == width
        assert seen.page.evaluate(LINES_THROUGH_LABELS) == []
        assert seen.page.evaluate(COVERED) == []
