"""For the tests in Chromium: the browser, the page of a simulated recipe, what a reader would see go wrong in it."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.report.drawing import write_figures
from adaptbert.report.figures import all_figures
from adaptbert.report.page import render
from tests.support.known import answer_to

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

OpenPage = Callable[..., "Page"]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
COVERED = """() => [...document.querySelectorAll("svg.chart")].flatMap(chart => {
    const names = [...chart.querySelectorAll(".row-label, .row-value")];
    const boxes = names.map(element => [element.textContent, element.getBoundingClientRect()]);
    return boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
        .filter(([, b]) => a.left < b.right && b.left < a.right
            && a.top + 3 < b.bottom && b.top + 3 < a.bottom)
        .map(([other]) => one + " / " + other));
})"""
"""Names and values of a figure that lie on each other."""
LINES_THROUGH_LABELS = """() => [...document.querySelectorAll("svg.chart")].flatMap(chart => {
    const labels = [...chart.querySelectorAll("text")]
        .map(label => [label.textContent, label.getBoundingClientRect()])
        .filter(([, box]) => box.width > 0);
    const points = [...chart.querySelectorAll("line, polyline")].flatMap(line => {
        const matrix = line.getScreenCTM(), length = line.getTotalLength();
        return [...Array(401).keys()].map(place => {
            const at = line.getPointAtLength(length * place / 400).matrixTransform(matrix);
            return [line.getAttribute("class"), at.x, at.y];
        });
    });
    return labels.flatMap(([text, box]) => points
        .filter(([, x, y]) => box.left - 1 < x && x < box.right + 1 && box.top - 3 < y && y < box.bottom + 3)
        .slice(0, 1).map(([css]) => css + " through " + text));
})"""
"""A broken line that comes within 3 pixels of letters above and below it seems to run through them."""
OUTSIDE = """width => [...document.querySelectorAll("svg text, h1, h2, p, dd, .chip, summary")].filter(element => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && !element.closest(".scroll") && (box.left < -1 || box.right > width + 1);
}).map(element => element.textContent)"""
"""Letters in figures keep their size, and none is cut off at the edge of the screen."""
FIRST_VALUE_UNSEEN = """width => [...document.querySelectorAll("table:not(.confusion)")].flatMap(table => {
    const frame = table.closest(".scroll").getBoundingClientRect();
    return [...table.tBodies[0].rows].filter(row => {
        const first = row.cells[1].getBoundingClientRect();
        return first.right > frame.right + 1 || first.width < 5 || frame.right > width;
    }).map(row => row.textContent.trim().slice(0, 60));
})"""
"""Rows whose first value does not stand beside its name."""


def write(comparison: Comparison, folder: Path) -> Path:
    """The page and its figures."""
    path = folder / "index.html"
    path.write_text(render(comparison), encoding="utf-8")
    write_figures(all_figures(comparison), folder / "figures")
    return path


@pytest.fixture(scope="session")
def report(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of one replicate, so that nothing has a verdict."""
    return write(comparison, tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="session", params=["one replicate", "three replicates", "two bases", "few arms"])
def any_report(
    request: pytest.FixtureRequest,
    report: Path,
    repeated: Comparison,
    several: Comparison,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    if request.param == "one replicate":
        return report
    folder = tmp_path_factory.mktemp("other")
    if request.param == "three replicates":  # with verdicts, and what would settle the undecided one
        return write(repeated, folder)
    if request.param == "two bases":
        return write(several, folder)
    task = repeated.tasks[0]
    name = "clinical_notes_2024_and_their_abbreviations"
    arms = [task.arms[2], replace(task.arms[3], name=name, runs=task.arms[3].runs[:2], interval=None)]
    own = replace(answer_to(task, "domain_text"), name=name, question=name, arm=name)
    few = replace(task, arms=arms, answers=[own], chosen="general_long", baselines={}, beside_baselines={})
    return write(replace(repeated, tasks=[few]), folder)


@pytest.fixture(scope="session")
def chromium() -> Iterator["Browser"]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: "Browser") -> Iterator[OpenPage]:
    """Opens a report in a language, in a context of this width with these options. Every request but that of the file
    itself is refused, and what went wrong fails the test."""
    contexts, trouble = [], list[str]()

    def opened(report: Path, language: str = "", width: int = 1280, **options: Any) -> "Page":
        address = report.as_uri() + (f"?lang={language}" if language else "")

        def answer(route: "Route") -> None:
            if route.request.url == address:
                route.continue_()
            else:
                trouble.append(f"asked for {route.request.url}")
                route.abort()

        options = {"locale": "en-GB", "viewport": {"width": width, "height": 900}, **options}
        contexts.append(chromium.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.route("**/*", answer)
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []


def unfold(page: "Page") -> None:
    """Open everything that is folded, as a reader does."""
    for fold in page.locator("details > summary").all():
        fold.click()
    assert page.locator("details:not([open])").count() == 0
