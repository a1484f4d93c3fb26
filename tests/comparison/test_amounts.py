"""What was spent is not told as 0, and no chance is 0.000."""

import pytest

from adaptbert.comparison.amounts import amount, at_least, bytes_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.037, "0.0370"),
        (0.0004, "0.000400"),
        (0.09996, "0.100"),
        (0.1, "0.100"),
        (6.64, "6.64"),
        (9.996, "10.0"),
        (456.78, "457"),
        (999.6, "1,000"),
        (1e4, "10,000"),
        (-0.037, "-0.0370"),
    ],
)
def test_amounts(value: float, text: str) -> None:
    assert amount(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.0, "0.000"), (1e-9, "<0.001"), (0.0012, "0.001"), (1.0, "1.000")])
def test_chances(value: float, text: str) -> None:
    assert at_least(value, 3) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (4_640_000, "4.6 MB"), (1_203_400_000_000, "1,203.4 GB")],
)
def test_sizes(size: int, text: str) -> None:
    assert bytes_of(size) == text
