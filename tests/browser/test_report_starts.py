"""The page of several starts and draws in Chromium: the choice of a start, and that it fits."""

from pathlib import Path

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.report.page import render
from tests.support.browsing import CHROMIUM, COVERED, LINES_THROUGH_LABELS, Watched

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


@pytest.fixture(scope="module")
def page(several: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("several") / "index.html"
    path.write_text(render(several), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_several_starts_and_draws_fit(chromium: "playwright.Browser", page: Path, width: int, language: str) -> None:
    with Watched(chromium, page, f"?lang={language}", viewport={"width": width, "height": 900}) as seen:
        seen.unfold()
        assert seen.page.evaluate("document.documentElement.scrollWidth") == width
        assert seen.page.evaluate(LINES_THROUGH_LABELS) == []
        assert seen.page.evaluate(COVERED) == []


def test_a_start_is_chosen_and_all_are_shown_again(chromium: "playwright.Browser", page: Path) -> None:
    with Watched(chromium, page) as seen:
        own, other = seen.page.locator("#task-section-base"), seen.page.locator("#task-section-small")
        columns = seen.page.locator("#steps thead th:visible")
        assert (own.is_visible(), other.is_visible(), columns.count()) == (True, True, 5)
        chosen = seen.page.get_by_role("button", name="base", exact=True)
        chosen.press("Enter")
        assert (own.is_visible(), other.is_visible(), columns.count()) == (True, False, 3)
        assert chosen.get_attribute("aria-pressed") == "true"
        assert seen.page.locator("nav a:visible", has_text="section/small").count() == 0
        assert seen.page.locator("#starts").is_visible(), "the starts stay side by side"
        seen.page.get_by_role("button", name="all starts").press("Enter")
        assert (own.is_visible(), other.is_visible(), columns.count()) == (True, True, 5)
        assert chosen.get_attribute("aria-pressed") == "false"
