"""For the tests of the report: a simulated recipe of their own, and the page of the one that all look at."""

from pathlib import Path

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.report.page import render
from tests.support.simulated import Simulated, simulate


@pytest.fixture
def made(tmp_path: Path) -> Simulated:
    """Of one task, one draw and three seeds; a test may spoil it."""
    return simulate(tmp_path / "recipe", tasks=["section"])


@pytest.fixture(scope="session")
def page(comparison: Comparison) -> str:
    return render(comparison)
