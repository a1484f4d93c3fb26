"""For the tests in Chromium: the browser, and the page of a simulated recipe."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adaptbert.report.page import render
from tests.support.browsing import CHROMIUM
from tests.support.simulated import Simulated, compared, simulate

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = simulate(tmp_path_factory.mktemp("recipe"))
    path = made.root / "index.html"
    comparison = compared(made)
    path.write_text(render(comparison), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def report_of_draws(repeated_recipe: Simulated, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With verdicts, what would settle the undecided ones, and a question of the user's own."""
    path = tmp_path_factory.mktemp("repeated") / "index.html"
    questions = {"which_of_two_texts_is_better": ("task", "domain_task")}
    path.write_text(render(compared(repeated_recipe, questions=questions)), encoding="utf-8")
    return path


@pytest.fixture(params=["one draw", "three draws"])
def any_report(request: pytest.FixtureRequest, report: Path, report_of_draws: Path) -> Path:
    return report if request.param == "one draw" else report_of_draws


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
