"""What leads out of the page in Chromium: the files of its figures, the runs in MLflow, and paper."""

from pathlib import Path
from urllib.parse import parse_qs

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.report.charts.figure import write_figures
from adaptbert.report.mlflow_runs import ADDRESS, cells_of_arm
from adaptbert.report.page import figures_of, render
from tests.support.browsing import CHROMIUM, COVERED, LINES_THROUGH_LABELS, Watched
from tests.support.known import known

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


@pytest.fixture(scope="module")
def reports(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder reports/ of a simulated recipe."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "index.html").write_text(render(comparison), encoding="utf-8")
    write_figures(figures_of(comparison), folder / "figures")
    return folder


@pytest.mark.parametrize(("language", "end"), [("en", ".svg"), ("zh", ".zh.svg")])
def test_the_file_of_a_figure_opens_from_the_keyboard(
    chromium: "playwright.Browser", reports: Path, language: str, end: str
) -> None:
    page = chromium.new_page()
    page.goto(f"{(reports / 'index.html').as_uri()}?lang={language}")
    figure = page.locator("figure", has=page.locator("#arms-section"))
    link = figure.get_by_role("link", name="SVG")
    assert link.count() == 1, "one language"
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/arms-section{end}")
    assert page.locator("svg text", has_text="domain").count() > 0
    page.close()


def test_every_file_is_drawn_within_its_own_edges(chromium: "playwright.Browser", reports: Path) -> None:
    """Nothing but letters and bars: no text is cut off, none covers another, and all have the colours of paper."""
    page = chromium.new_page(color_scheme="dark")
    for path in sorted((reports / "figures").glob("*.svg")):
        page.goto(path.as_uri())
        width = page.evaluate("document.documentElement.width.baseVal.value")
        outside = page.evaluate(
            """width => [...document.querySelectorAll("text")]
                .map(text => [text.textContent, text.getBoundingClientRect()])
                .filter(([, box]) => box.left < 0 || box.right > width).map(([text]) => text)""",
            width,
        )
        assert outside == [], path.name
        assert page.evaluate(COVERED) == [], path.name
        assert page.evaluate(LINES_THROUGH_LABELS) == [], path.name
        assert page.evaluate("getComputedStyle(document.querySelector('.paper')).fill") == "rgb(255, 255, 255)"
        black = page.evaluate(
            """() => [...document.querySelectorAll(".bar, .curve, .end")].filter(shape => {
                const style = getComputedStyle(shape);
                return [style.fill, style.stroke].includes("rgb(0, 0, 0)");
            }).length"""
        )
        assert black == 0, f"{path.name}: a shape without its colour"
    page.close()


def test_an_arm_leads_to_its_runs_at_the_address_of_the_reader(
    chromium: "playwright.Browser", reports: Path, comparison: Comparison
) -> None:
    task = comparison.tasks[0]
    arm = known(task.arm("domain"))
    with Watched(chromium, reports / "index.html") as seen:
        link = seen.page.locator("#task-section a.run").nth([each.name for each in task.arms].index("domain"))
        address, _, query = (link.get_attribute("href") or "").partition("/runs?")
        assert address == ADDRESS
        query_of = parse_qs(query)
        assert query_of["searchFilter"] == [cells_of_arm(task, arm)]
        assert query_of["orderByKey"] == ["metrics.`test/f1_macro`"]
        field = seen.page.get_by_label("Address of the experiment")
        for typed, base in (
            ("https://mlflow.example:8443/", "https://mlflow.example:8443/#/experiments/1"),
            ("http://here/#/experiments/27/runs?searchFilter=x", "http://here/#/experiments/27"),
        ):
            field.fill(typed)
            assert (link.get_attribute("href") or "").startswith(f"{base}/runs?searchFilter=")
        field.fill("javascript:alert(1)")
        assert link.get_attribute("href") == "#mlflow"


def test_paper_has_no_controls_and_no_table_is_cut_off(chromium: "playwright.Browser", reports: Path) -> None:
    with Watched(chromium, reports / "index.html", viewport={"width": 718, "height": 1000}) as seen:  # A4 less margins
        seen.unfold()
        seen.page.emulate_media(media="print")
        controls = seen.page.locator("nav, #language, .files, .address, .arrow, [data-choice]")
        assert [each for each in controls.all() if each.is_visible()] == []
        split = "all => all.filter(each => getComputedStyle(each).breakInside !== 'avoid-page').length"
        assert seen.page.locator("figure").evaluate_all(split) == 0
        cut = seen.page.locator("table").evaluate_all(
            "all => all.filter(each => each.getBoundingClientRect().right > 719).map(each => each.caption.textContent)"
        )
        assert cut == []
