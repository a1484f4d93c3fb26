"""reports/index.html in Chromium: no network, no console error, three widths, both languages, both colour schemes."""

import dataclasses
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from adaptbert.comparison.assemble import compare_all
from adaptbert.comparison.report.page import render
from tests.support.simulated import ACCURACY, rearmed, simulate

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

ARMS_OF_A_TASK: list[dict[str, tuple[str, str]]] = [
    {"domain": ("domain", "domain_transfer/domain")},
    {
        "general": ("general", "pretrain"),
        "general_long": ("general_long", "domain_transfer/general"),
        "domain": ("domain", "domain_transfer/domain"),
        "clinical_notes_2024": ("task", "domain_transfer/clinical_notes_2024"),
    },
]

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = simulate(tmp_path_factory.mktemp("recipe"))
    path = made.root / "index.html"
    comparison = compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1)
    path.write_text(render(comparison), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chromium() -> Iterator["playwright.Browser"]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """A page that refuses every request but its own file, and keeps what went wrong."""

    def __init__(self, browser: "playwright.Browser", report: Path, query: str = "", **context: object) -> None:
        self.context = browser.new_context(locale="en-GB", **context)
        self.page = self.context.new_page()
        self.trouble: list[str] = []
        self.page.on("console", lambda message: self.trouble.append(message.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.address = report.as_uri() + query
        self.page.route("**/*", self._answer)
        self.page.goto(self.address)

    def unfold(self) -> None:
        """Open everything that is folded, as a reader does."""
        for fold in self.page.locator("details > summary").all():
            fold.click()
        assert self.page.locator("details:not([open])").count() == 0

    def _answer(self, route: "playwright.Route") -> None:
        if route.request.url == self.address:
            route.continue_()
        else:
            self.trouble.append(f"asked for {route.request.url}")
            route.abort()

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.trouble == []


@pytest.mark.parametrize("width", [360, 768, 1400])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_fits_its_width(chromium: "playwright.Browser", report: Path, width: int, language: str) -> None:
    with Watched(chromium, report, f"?lang={language}", viewport={"width": width, "height": 900}) as seen:
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


COVERED = """() => [...document.querySelectorAll("svg.chart")].flatMap(chart => {
    const names = [...chart.querySelectorAll(".row-label, .row-value")];
    const boxes = names.map(element => [element.textContent, element.getBoundingClientRect()]);
    return boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
        .filter(([, b]) => a.left < b.right && b.left < a.right
            && a.top + 3 < b.bottom && b.top + 3 < a.bottom)
        .map(([other]) => one + " / " + other));
})"""
# A broken line that comes within 3 pixels of letters above and below it seems to run through them.
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


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_the_line_of_a_baseline_keeps_away_from_the_values_at_the_edge(
    chromium: "playwright.Browser", tmp_path: Path, width: int
) -> None:
    """The best baseline is at the end of the axis, below the values with their intervals; all arms are equal."""
    made = simulate(tmp_path, tasks=["section"], accuracy=dict.fromkeys(ACCURACY, 0.25))
    comparison = compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1)
    scores = {"majority": 0.077, "tfidf_logistic": 0.497}
    comparison = dataclasses.replace(
        comparison, tasks=[dataclasses.replace(comparison.tasks[0], baselines=scores)], suite=[]
    )
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
def test_no_line_of_a_chart_runs_through_a_label(chromium: "playwright.Browser", report: Path, width: int) -> None:
    with Watched(chromium, report, viewport={"width": width, "height": 900}) as seen:
        seen.unfold()
        assert seen.page.locator("svg.chart").count() > 8
        assert seen.page.evaluate(LINES_THROUGH_LABELS) == []
        bands = seen.page.locator("svg .unseen").evaluate_all(
            "all => all.map(band => getComputedStyle(band).clipPath == 'none' && band.getBoundingClientRect().width)"
        )
        assert min(bands) > 2, "what could not have been found is drawn"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_figure_of_a_table_is_seen_without_scrolling(
    chromium: "playwright.Browser", report: Path, language: str
) -> None:
    """On a telephone the score stands beside the name of its arm; the same holds of all other tables."""
    with Watched(chromium, report, f"?lang={language}", viewport={"width": 360, "height": 900}) as seen:
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
def test_tables_and_figures_have_names(chromium: "playwright.Browser", report: Path, language: str) -> None:
    """As a screen reader says them, in the language of the page."""
    with Watched(chromium, report, f"?lang={language}") as seen:
        seen.unfold()
        for role, selector in (("table", "table"), ("figure", "figure"), ("img", "svg.chart")):
            count = seen.page.locator(selector).count()
            named = seen.page.get_by_role(role, name=re.compile(r"\S"))
            assert named.count() == count > 0, role
        chinese = re.compile(r"[\u4e00-\u9fff]")
        assert seen.page.get_by_role("table", name=chinese).count() == (
            seen.page.locator("table").count() if language == "zh" else 0
        )


@pytest.mark.parametrize("width", [360, 800, 1280])
@pytest.mark.parametrize("arms", ARMS_OF_A_TASK, ids=len)
def test_small_ladders_fit_their_width(
    chromium: "playwright.Browser", tmp_path: Path, width: int, arms: dict[str, tuple[str, str]]
) -> None:
    """One arm with two seeds, and two domain corpora with long names."""
    made = rearmed(simulate(tmp_path, seeds=(1, 2), tasks=["section"]), arms)
    path = tmp_path / "index.html"
    path.write_text(render(compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1)), "utf-8")
    with Watched(chromium, path, viewport={"width": width, "height": 900}) as seen:
        seen.unfold()
        assert seen.page.evaluate("document.documentElement.scrollWidth") == width
        assert seen.page.evaluate(LINES_THROUGH_LABELS) == []
        assert seen.page.evaluate(COVERED) == []


@pytest.mark.parametrize("width", [360, 1400])
def test_names_and_numbers_in_charts_do_not_cover_each_other(
    chromium: "playwright.Browser", report: Path, width: int
) -> None:
    with Watched(chromium, report, viewport={"width": width, "height": 900}) as seen:
        assert seen.page.evaluate(COVERED) == []


def test_language_changes_and_is_remembered(chromium: "playwright.Browser", report: Path) -> None:
    with Watched(chromium, report) as seen:
        heading = seen.page.locator("h1")
        assert heading.inner_text() == "Which steps helped?"
        seen.page.locator("#language").focus()
        seen.page.keyboard.press("Enter")
        assert heading.inner_text() == "哪些步骤有效？"
        assert seen.page.title() == "adaptbert：哪些步骤有效？"
        assert seen.page.evaluate("document.documentElement.lang") == "zh-Hans"
        assert "seed" not in seen.page.locator("#limits").inner_text()
        seen.page.reload()
        assert heading.inner_text() == "哪些步骤有效？"
        seen.page.get_by_role("button", name="English").click()
        assert heading.inner_text() == "Which steps helped?"


def test_a_chinese_browser_gets_chinese(chromium: "playwright.Browser", report: Path) -> None:
    context = chromium.new_context(locale="zh-CN")
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("h1").inner_text() == "哪些步骤有效？"
    context.close()


def test_tables_sort_by_number_and_keep_the_empty_last(chromium: "playwright.Browser", report: Path) -> None:
    with Watched(chromium, report) as seen:
        table = seen.page.locator("#task-section > .scroll table.sortable")
        button = table.get_by_role("button", name="high")
        bounds = "rows => rows.map(row => row.cells[3].dataset.value)"
        for direction in ("ascending", "descending"):
            button.press("Enter")
            assert button.locator("xpath=..").get_attribute("aria-sort") == direction
            values = table.locator("tbody tr").evaluate_all(bounds)
            numbers = [float(value) for value in values if value]
            assert numbers == sorted(numbers, reverse=direction == "descending")
            assert len(numbers) == 6
            assert values[6:] == ["", ""]


def test_the_chosen_arm_unfolds_and_its_tables_sort(chromium: "playwright.Browser", report: Path) -> None:
    with Watched(chromium, report) as seen:
        fold = seen.page.locator("#closer-section")
        table = fold.locator("table.sortable").last
        assert not table.is_visible(), "the page opens with the answer, not with the details"
        fold.locator("summary").press("Enter")
        assert table.is_visible()
        for name, column in (("confidence", 2), ("seeds wrong", 1)):
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
def test_everything_can_be_reached_by_keyboard(chromium: "playwright.Browser", report: Path, unfolded: bool) -> None:
    with Watched(chromium, report) as seen:
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
def test_text_stands_out_from_its_ground(chromium: "playwright.Browser", report: Path, scheme: str) -> None:
    """Contrast of at least 4.5 for all plain text (WCAG 2.2, 1.4.3)."""
    with Watched(chromium, report, color_scheme=scheme) as seen:
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
