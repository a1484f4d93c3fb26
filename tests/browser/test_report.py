"""reports/index.html in Chromium: it fits screens and paper, needs no network, can be read and used by everyone."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.report.language import Text
from tests.browser.conftest import COVERED, FIRST_VALUE_UNSEEN, LINES_THROUGH_LABELS, OUTSIDE, OpenPage, unfold, write
from tests.support.known import known

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ONCE = Text("The recipe: not tested on section and mention", "全部步骤：section 和 mention 上未检验")
"""The heading of a report of one replicate."""

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_fits_its_width_and_no_line_crosses_a_text(
    open_page: OpenPage, any_report: Path, width: int, language: str
) -> None:
    """On a telephone, too, the first value of a table is seen beside its name without scrolling."""
    page = open_page(any_report, language, width)
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for wrong in (LINES_THROUGH_LABELS, COVERED, OUTSIDE, FIRST_VALUE_UNSEEN):
        assert page.evaluate(wrong, width) == []


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_the_line_of_a_baseline_keeps_away_from_the_values_at_the_edge(
    open_page: OpenPage, comparison: Comparison, tmp_path: Path, width: int
) -> None:
    """The best baseline is at the end of the axis, below the values with their intervals."""
    task = comparison.tasks[0]
    arms = [
        replace(
            arm,
            runs=[replace(arm.runs[0], score=0.25)],
            interval=replace(known(arm.interval), mean=0.25, low=0.2, high=0.3),
        )
        for arm in task.arms
    ]
    scores = {
        name: replace(task.baselines["majority"], mean=mean)
        for name, mean in (("majority", 0.08), ("tfidf_logistic", 0.497))
    }
    path = write(replace(comparison, tasks=[replace(task, arms=arms, baselines=scores)]), tmp_path)
    page = open_page(path, width=width)
    lines = page.locator("figure:has(#arms-section) line.control").evaluate_all(
        "lines => lines.map(line => line.x1.baseVal.valueInSpecifiedUnits)"
    )
    assert max(lines) > 99, "at the right edge"
    assert page.evaluate(LINES_THROUGH_LABELS) == []
    assert page.evaluate(COVERED) == []


def test_what_could_not_have_been_found_is_drawn_where_there_is_a_verdict(
    open_page: OpenPage, any_report: Path
) -> None:
    page = open_page(any_report)
    bands = page.locator("svg .unseen").evaluate_all(
        "all => all.map(band => getComputedStyle(band).clipPath == 'none' && band.getBoundingClientRect().width)"
    )
    judged = page.locator("#answers .chip").evaluate_all(
        "all => all.some(chip => !/verdict-not_tested/.test(chip.className))"
    )
    assert bool(bands) == judged
    assert all(width > 2 for width in bands)


def test_print_opens_what_is_folded_and_keeps_the_colours(open_page: OpenPage, report: Path) -> None:
    page = open_page(report)
    page.evaluate(
        """() => addEventListener("beforeprint", () => {
            window.open_in_print = document.querySelectorAll("details[open]").length;
        })"""
    )
    folds = page.locator("details").count()
    assert page.locator("details[open]").count() == 0
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.evaluate("window.open_in_print") == folds > 0
    assert page.locator("details[open]").count() == 0, "the screen is left as it was"
    page.emulate_media(media="print", color_scheme="dark")
    styles = page.locator(".key, .chip, .bar, .confusion td").evaluate_all(
        "all => all.map(element => getComputedStyle(element).printColorAdjust)"
    )
    assert set(styles) == {"exact"}
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)", "dark colours stay on the screen"


def test_paper_has_no_controls_and_no_table_is_cut_off(open_page: OpenPage, report: Path) -> None:
    page = open_page(report, width=718)  # A4 less margins
    unfold(page)
    page.emulate_media(media="print")
    controls = page.locator("nav, #language, .files, .arrow")
    assert [each for each in controls.all() if each.is_visible()] == []
    split = "all => all.filter(each => getComputedStyle(each).breakInside !== 'avoid-page').length"
    assert page.locator("figure").evaluate_all(split) == 0
    cut = page.locator("table").evaluate_all(
        "all => all.filter(each => each.getBoundingClientRect().right > 719).map(each => each.caption.textContent)"
    )
    assert cut == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_tables_and_figures_have_names(open_page: OpenPage, any_report: Path, language: str) -> None:
    """As a screen reader says them, in the language of the page."""
    page = open_page(any_report, language)
    unfold(page)
    for role, selector in (("table", "table"), ("figure", "figure"), ("img", "svg.chart")):
        count = page.locator(selector).count()
        assert page.get_by_role(role, name=re.compile(r"\S")).count() == count > 0, role
    chinese = page.get_by_role("table", name=re.compile(r"[\u4e00-\u9fff]"))
    assert chinese.count() == (page.locator("table").count() if language == "zh" else 0)


def test_language_changes_and_is_remembered(open_page: OpenPage, report: Path) -> None:
    page = open_page(report)
    heading = page.locator("h1")
    assert heading.inner_text() == ONCE.en
    page.locator("#language").focus()
    page.keyboard.press("Enter")
    assert heading.inner_text() == ONCE.zh
    assert page.title() == f"adaptbert：{ONCE.zh}"
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    assert "seed" not in page.locator("#limits").inner_text()
    page.reload()
    assert heading.inner_text() == ONCE.zh
    page.get_by_role("button", name="English").click()
    assert heading.inner_text() == ONCE.en
    chinese = open_page(report, locale="zh-CN")
    assert chinese.locator("h1").inner_text() == ONCE.zh, "a Chinese browser gets Chinese"


def test_tables_sort_by_number_and_keep_the_empty_last(
    open_page: OpenPage, comparison: Comparison, tmp_path: Path
) -> None:
    """Six arms, of which one has no result, and two baselines."""
    task = comparison.tasks[0]
    arms = [replace(arm, runs=[], interval=None) if arm.name == "task" else arm for arm in task.arms]
    path = write(replace(comparison, tasks=[replace(task, arms=arms)]), tmp_path)
    page = open_page(path)
    table = page.locator("#task-section > .scroll table")
    button = table.get_by_role("button", name="Interval")
    for direction in ("ascending", "descending"):
        button.press("Enter")
        assert button.locator("xpath=..").get_attribute("aria-sort") == direction
        values = table.locator("tbody tr").evaluate_all("rows => rows.map(row => row.cells[2].dataset.value)")
        numbers = [float(value) for value in values if value]
        assert numbers == sorted(numbers, reverse=direction == "descending")
        assert len(numbers) == 5 + 2
        assert values[7:] == [""]


def test_the_chosen_arm_unfolds_and_its_tables_sort(open_page: OpenPage, report: Path) -> None:
    """On a telephone, too, row, runs and confidence of an error are seen without moving the table."""
    page = open_page(report, width=360)
    fold = page.locator("#closer-section")
    table = fold.locator("table").last
    assert not table.is_visible(), "the page opens with the answer, not with the details"
    fold.locator("summary").press("Enter")
    assert table.is_visible()
    for name, column in (("confidence", 2), ("runs wrong", 1)):
        table.get_by_role("button", name=name).press("Enter")
        cells = "(rows, column) => rows.map(row => row.cells[column].dataset.value)"
        values = table.locator("tbody tr").evaluate_all(cells, column)
        assert values == sorted(values, key=float)
        assert len(values) == 10
    right = table.locator("td").evaluate_all("all => Math.max(...all.map(cell => cell.getBoundingClientRect().right))")
    assert right <= 360


@pytest.mark.parametrize("unfolded", [False, True])
def test_everything_can_be_reached_by_keyboard(open_page: OpenPage, any_report: Path, unfolded: bool) -> None:
    page = open_page(any_report)
    if unfolded:
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    expected = page.evaluate(
        """[...document.querySelectorAll('a[href], button, summary, [tabindex="0"]')]
            .filter(element => element.checkVisibility()).length"""
    )
    reached = set()
    for _ in range(expected):
        page.keyboard.press("Tab")
        here = "[...document.querySelectorAll('*')].indexOf(document.activeElement)"
        reached.add(page.evaluate(here))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert len(reached) == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(open_page: OpenPage, any_report: Path, scheme: str) -> None:
    """Contrast of at least 4.5 for all plain text (WCAG 2.2, 1.4.3)."""
    page = open_page(any_report, color_scheme=scheme)
    unfold(page)
    weak = page.evaluate(
        """() => {
            const channels = text => text.match(/[\\d.]+/g).map(Number);
            const light = colour => {
                const [r, g, b] = colour.slice(0, 3).map(c => c / 255)
                    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const ground = element => {
                for (let here = element; here; here = here.parentElement) {
                    const colour = channels(getComputedStyle(here).backgroundColor);
                    if (colour.length === 3 || colour[3] === 1) return colour;
                }
                return channels(getComputedStyle(document.body).backgroundColor);
            };
            const plain = "p, li, h1, h2, h3, summary, small, b, code, .chip, .chip > span, th, td, a, "
                + "figcaption, svg text";
            return [...document.querySelectorAll(plain)]
                .filter(element => element.getBoundingClientRect().width > 0
                    && !element.closest(".confusion tbody"))
                .map(element => {
                    const style = getComputedStyle(element);
                    const ink = light(channels(element.closest("svg") ? style.fill : style.color));
                    const paper = light(ground(element));
                    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
                    return [ratio, element.textContent.trim().slice(0, 40), String(element.className)];
                })
                .filter(([ratio]) => ratio < 4.5);
        }"""
    )
    assert weak == []


@pytest.mark.parametrize(("language", "end"), [("en", ".svg"), ("zh", ".zh.svg")])
def test_the_file_of_a_figure_opens_from_the_keyboard(
    chromium: "Browser", report: Path, language: str, end: str
) -> None:
    page = chromium.new_page()
    page.goto(f"{report.as_uri()}?lang={language}")
    link = page.locator("figure", has=page.locator("#arms-section")).get_by_role("link", name="SVG")
    assert link.count() == 1, "one language"
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/arms-section{end}")
    assert page.locator("svg text", has_text="domain").count() > 0
    page.close()


def test_every_file_is_drawn_within_its_own_edges(chromium: "Browser", report: Path) -> None:
    """Nothing but letters and bars: no text is cut off, none covers another, and all have the colours of paper."""
    page = chromium.new_page(color_scheme="dark")
    for path in sorted((report.parent / "figures").glob("*.svg")):
        page.goto(path.as_uri())
        width = page.evaluate("document.documentElement.width.baseVal.value")
        for wrong in (OUTSIDE, COVERED, LINES_THROUGH_LABELS):
            assert page.evaluate(wrong, width) == [], path.name
        assert page.evaluate("getComputedStyle(document.querySelector('.paper')).fill") == "rgb(255, 255, 255)"
        black = page.evaluate(
            """() => [...document.querySelectorAll(".bar, .curve, .end")].filter(shape => {
                const style = getComputedStyle(shape);
                return [style.fill, style.stroke].includes("rgb(0, 0, 0)");
            }).length"""
        )
        assert black == 0, f"{path.name}: a shape without its colour"
    page.close()
