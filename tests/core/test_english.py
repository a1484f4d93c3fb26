"""Lists and figures are written alike everywhere."""

from collections.abc import Callable
from typing import Any

import pytest

from adaptbert.core.english import amount, duration, listed, token_count


@pytest.mark.parametrize(
    ("write", "texts"),
    [
        (listed, {(): "", ("a",): "a", ("a", "b"): "a and b", ("a", "b", "c"): "a, b and c"}),
        (token_count, {74_800: "74,800", -2_048: "−2,048", 1_200_000: "1.20 M", 0: "0"}),
        (amount, {0.0: "0", 0.037: "0.0370", 0.0004: "0.000400", 0.09996: "0.100", 0.1: "0.100", 6.64: "6.64"}),
        (amount, {9.996: "10.0", 456.78: "457", 999.6: "1,000", 1e4: "10,000", -0.037: "-0.0370"}),
        (duration, {20: "less than a minute", 61: "about 1 minute", 95: "about 2 minutes", 3600: "about 60 minutes"}),
        (duration, {9000: "about 2.5 hours"}),
    ],
)
def test_what_is_written(write: Callable[[Any], str], texts: dict[Any, str]) -> None:
    assert {value: write(value) for value in texts} == texts
