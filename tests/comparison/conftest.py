"""For the tests of the comparison: a simulated recipe of their own."""

from pathlib import Path

import pytest

from tests.support.simulated import Simulated, simulate


@pytest.fixture
def made(tmp_path: Path) -> Simulated:
    """Of one task, one replicate and three seeds; a test may spoil it."""
    return simulate(tmp_path / "recipe", tasks=["section"])
