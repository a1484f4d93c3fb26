"""What was spent is not told as 0, and no chance is 0.000."""

import dataclasses
import re

import pytest

from adaptbert.comparison.amounts import amount, at_least, bytes_of
from adaptbert.comparison.records import Comparison, Cost
from adaptbert.report.page import render
from tests.support.judged_steps import retrained
from tests.support.known import known


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
    ],
)
def test_amounts(value: float, text: str) -> None:
    assert amount(value) == text
    assert amount(-0.037) == "-0.0370"


@pytest.mark.parametrize(("value", "text"), [(0.0, "0.000"), (1e-9, "<0.001"), (0.0012, "0.001"), (1.0, "1.000")])
def test_chances(value: float, text: str) -> None:
    assert at_least(value, 3) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (4_640_000, "4.6 MB"), (1_203_400_000_000, "1,203.4 GB")],
)
def test_sizes(size: int, text: str) -> None:
    assert bytes_of(size) == text


@pytest.fixture
def cheap(comparison: Comparison) -> Comparison:
    """A ladder of hardly any training, with a class that is rarely mistaken."""
    cost, task = Cost(2_048, 0.037), comparison.tasks[0]
    inspection = known(task.inspection)
    confusion = known(inspection.confusion)
    first, *others = confusion.labels
    counts = {label: dict(row) for label, row in confusion.counts.items()}
    counts[first] = {first: 999.0, **dict.fromkeys(others, 0.0), others[0]: 1.0}
    confusion = dataclasses.replace(confusion, counts=counts)
    arms = [dataclasses.replace(arm, cost=cost if arm.cost and arm.cost.tokens else Cost(0, 0.0)) for arm in task.arms]
    inspection = dataclasses.replace(inspection, confusion=confusion)
    task = dataclasses.replace(task, arms=arms, inspection=inspection)
    totals = {each.name: {"total": cost} for checkpoint, each in comparison.trained() if checkpoint.below}
    return retrained(dataclasses.replace(comparison, tasks=[task]), totals)


def test_the_page(cheap: Comparison) -> None:
    page = render(cheap)
    arms, rungs = (
        page[page.index(f'id="{start}"') :].partition("</table>")[0] for start in ("table-section", "table-bits")
    )
    assert arms.count('<td data-value="0.037">0.0370</td>') == len(cheap.tasks[0].arms) - 1
    assert rungs.count('<td data-value="0.037">0.0370</td>') == len(cheap.checkpoints) - 1
    assert '<td data-value="2048">0.00205</td>' in page
    assert "0.00205 M tokens" in page
    assert re.findall(r"(?<![\d.])0\.00 M", page) == []
    assert 'title="1.0">&lt;1</td>' in page, "one row of a thousand is mistaken"
    assert 'title="0.0">0</td>' in page
