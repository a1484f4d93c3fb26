"""reports/index.html in Chromium: no network, no console error, languages, keyboard, print, both colour schemes."""

import re
from pathlib import Path

import pytest

from adaptbert.report.language import Text
from adaptbert.report.page import render
from tests.support.browsing import CHROMIUM, Watched
from tests.support.simulated import compared, simulate

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

ONCE = Text("No verdict yet: each step was trained once", "尚无结论：每一步只训练了一次")
"""The heading of a report of one draw."""

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


def test_print_opens_what_is_folded_and_keeps_the_colours(chromium: "playwright.Browser", report: Path) -> None:
    with Watched(chromium, report) as seen:
        seen.page.evaluate(
            """() => addEventListener("beforeprint", () => {
                window.open_in_print = document.querySelectorAll("details[open]").length;
            })"""
        )
        folds = seen.page.locator("details").count()
        assert seen.page.locator("details[open]").count() == 0
        assert seen.page.pdf(format="A4").startswith(b"%PDF")
        assert seen.page.evaluate("window.open_in_print") == folds > 0
        assert seen.page.locator("details[open]").count() == 0, "the screen is left as it was"
        seen.page.emulate_media(media="print", color_scheme="dark")
        drawn = ".key, .chip, .bar, .confusion td"
        styles = seen.page.locator(drawn).evaluate_all(
            "all => all.map(element => getComputedStyle(element).printColorAdjust)"
        )
        assert set(styles) == {"exact"}
        paper = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == "rgb(255, 255, 255)", "dark colours stay on the screen"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_tables_and_figures_have_names(chromium: "playwright.Browser", any_report: Path, language: str) -> None:
    """As a screen reader says them, in the language of the page."""
    with Watched(chromium, any_report, f"?lang={language}") as seen:
        seen.unfold()
        for role, selector in (("table", "table"), ("figure", "figure"), ("img", "svg.chart")):
            count = seen.page.locator(selector).count()
            named = seen.page.get_by_role(role, name=re.compile(r"\S"))
            assert named.count() == count > 0, role
        chinese = re.compile(r"[\u4e00-\u9fff]")
        assert seen.page.get_by_role("table", name=chinese).count() == (
            seen.page.locator("table").count() if language == "zh" else 0
        )


def test_language_changes_and_is_remembered(chromium: "playwright.Browser", report: Path) -> None:
    with Watched(chromium, report) as seen:
        heading = seen.page.locator("h1")
        assert heading.inner_text() == ONCE.en
        seen.page.locator("#language").focus()
        seen.page.keyboard.press("Enter")
        assert heading.inner_text() == ONCE.zh
        assert seen.page.title() == f"adaptbert：{ONCE.zh}"
        assert seen.page.evaluate("document.documentElement.lang") == "zh-Hans"
        assert "seed" not in seen.page.locator("#limits").inner_text()
        seen.page.reload()
        assert heading.inner_text() == ONCE.zh
        seen.page.get_by_role("button", name="English").click()
        assert heading.inner_text() == ONCE.en


def test_a_chinese_browser_gets_chinese(chromium: "playwright.Browser", report: Path) -> None:
    context = chromium.new_context(locale="zh-CN")
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("h1").inner_text() == ONCE.zh
    context.close()


def test_tables_sort_by_number_and_keep_the_empty_last(chromium: "playwright.Browser", tmp_path: Path) -> None:
    """Six arms, of which one has no result, and two baselines."""
    made = simulate(tmp_path, tasks=["section"])
    made.cell("task").unlink()
    path = tmp_path / "index.html"
    path.write_text(render(compared(made)), encoding="utf-8")
    with Watched(chromium, path) as seen:
        table = seen.page.locator("#task-section > .scroll table.sortable")
        button = table.get_by_role("button", name="high")
        bounds = "rows => rows.map(row => row.cells[3].dataset.value)"
        for direction in ("ascending", "descending"):
            button.press("Enter")
            assert button.locator("xpath=..").get_attribute("aria-sort") == direction
            values = table.locator("tbody tr").evaluate_all(bounds)
            numbers = [float(value) for value in values if value]
            assert numbers == sorted(numbers, reverse=direction == "descending")
            assert len(numbers) == 5 + 2
            assert values[7:] == [""]


def test_the_chosen_arm_unfolds_and_its_tables_sort(chromium: "playwright.Browser", report: Path) -> None:
    with Watched(chromium, report) as seen:
        fold = seen.page.locator("#closer-section")
        table = fold.locator("table.sortable").last
        assert not table.is_visible(), "the page opens with the answer, not with the details"
        fold.locator("summary").press("Enter")
        assert table.is_visible()
        for name, column in (("confidence", 2), ("runs wrong", 1)):
            table.get_by_role("button", name=name).press("Enter")
            cells = "(rows, column) => rows.map(row => row.cells[column].dataset.value)"
            values = table.locator("tbody tr").evaluate_all(cells, column)
            assert values == sorted(values, key=float)
            assert len(values) == 10


def test_no_row_of_the_folds_is_cut_off(chromium: "playwright.Browser", report: Path) -> None:
    """On a telephone, too, row, seeds and confidence of an error are seen without moving the table."""
    with Watched(chromium, report, viewport={"width": 360, "height": 900}) as seen:
        seen.unfold()
        outside = seen.page.evaluate(
            """() => [...document.querySelectorAll("details .scroll:last-of-type td")].filter(
                cell => cell.getBoundingClientRect().right > 360).length"""
        )
        assert outside == 0


@pytest.mark.parametrize("unfolded", [False, True])
def test_everything_can_be_reached_by_keyboard(
    chromium: "playwright.Browser", any_report: Path, unfolded: bool
) -> None:
    with Watched(chromium, any_report) as seen:
        if unfolded:
            seen.page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        expected = seen.page.evaluate(
            """[...document.querySelectorAll('a[href], button, summary, [tabindex="0"]')]
                .filter(element => element.checkVisibility()).length"""
        )
        reached = set()
        for _ in range(expected):
            seen.page.keyboard.press("Tab")
            here = "[...document.querySelectorAll('*')].indexOf(document.activeElement)"
            reached.add(seen.page.evaluate(here))
            outline = seen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline == "solid"
        assert len(reached) == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(chromium: "playwright.Browser", any_report: Path, scheme: str) -> None:
    """Contrast of at least 4.5 for all plain text (WCAG 2.2, 1.4.3)."""
    with Watched(chromium, any_report, color_scheme=scheme) as seen:
        seen.unfold()
        weak = seen.page.evaluate(
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
                const plain = "p, h1, h2, h3, summary, small, b, code, dt, .chip > span, th, td, a, "
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
