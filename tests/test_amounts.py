"""What was spent is not told as 0, and no chance is 0.000."""

import dataclasses
import re

import pytest

from adaptbert.amounts import amount, at_least, bytes_of
from adaptbert.comparison import Comparison, Cost
from adaptbert.comparison_table import comparison_table
from adaptbert.report.page import render
from adaptbert.summary import summary


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "0.0"),
        (0.037, "0.037"),
        (0.0004, "0.0004"),
        (0.0996, "0.1"),
        (0.1, "0.1"),
        (6.64, "6.6"),
        (1e4, "10,000.0"),
    ],
)
def test_amounts(value: float, told: str) -> None:
    assert amount(value, 1) == told
    assert amount(-0.037, 1) == "-0.037"


@pytest.mark.parametrize(("value", "told"), [(0.0, "0.000"), (1e-9, "<0.001"), (0.0012, "0.001"), (1.0, "1.000")])
def test_chances(value: float, told: str) -> None:
    assert at_least(value, 3) == told


@pytest.mark.parametrize(
    ("size", "told"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (4_640_000, "4.6 MB"), (1_203_400_000_000, "1,203.4 GB")],
)
def test_sizes(size: int, told: str) -> None:
    assert bytes_of(size) == told


@pytest.fixture
def cheap(comparison: Comparison) -> Comparison:
    """A ladder of hardly any training, with a difference that is certain and a class that is rarely mistaken."""
    cost, task = Cost(2_048, 0.037), comparison.tasks[0]
    assert task.inspection is not None
    assert task.inspection.confusion is not None
    first, *others = task.inspection.confusion.labels
    counts = {label: dict(row) for label, row in task.inspection.confusion.counts.items()}
    counts[first] = {first: 999.0, **dict.fromkeys(others, 0.0), others[0]: 1.0}
    confusion = dataclasses.replace(task.inspection.confusion, counts=counts)
    arms = [dataclasses.replace(arm, cost=cost if arm.cost and arm.cost.tokens else Cost(0, 0.0)) for arm in task.arms]
    steps = [dataclasses.replace(step, p_holm=1e-6) for step in task.steps]
    inspection = dataclasses.replace(task.inspection, confusion=confusion)
    task = dataclasses.replace(task, arms=arms, steps=steps, inspection=inspection)
    rungs = [dataclasses.replace(rung, total=cost) if rung.start else rung for rung in comparison.rungs]
    return dataclasses.replace(comparison, tasks=[task], rungs=rungs, suite=[])


def test_the_text_table(cheap: Comparison) -> None:
    lines = comparison_table(summary(cheap)).splitlines()
    spent = {line.split()[0]: line.split()[-2:] for line in lines if "," in line or line.startswith("scratch ")}
    assert spent["domain"] == ["2,048", "0.037"]
    assert ["0", "0.0"] in [line.split()[-2:] for line in lines if line.startswith("scratch ")]
    assert any("<0.001" in line for line in lines)
    assert not any(" 0.000 " in line for line in lines)


def test_the_page(cheap: Comparison) -> None:
    page = render(cheap)
    assert page.count('<td data-value="0.037">0.037</td>') == len(cheap.tasks[0].arms) - 1 + len(cheap.rungs) - 1
    assert '<td data-value="2048">0.002</td>' in page
    assert "Price: 0.002 M more tokens of training." in page
    assert "0.002 M tokens" in page
    assert re.findall(r"(?<![\d.])0\.00 M", page) == []
    assert 'title="1.0">&lt;1</td>' in page, "one row of a thousand is mistaken"
    assert 'title="0.0">0</td>' in page
