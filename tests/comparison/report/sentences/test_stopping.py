"""Rungs that a stop rule ended: what the page says of them, their cost, and the budgets that differ for it."""

import dataclasses
from pathlib import Path

import pytest

from adaptbert.base.files import read_json, write_json
from adaptbert.comparison.records import Comparison
from adaptbert.comparison.report.page import render
from adaptbert.comparison.report.sentences import captions, steps, stopping
from tests.support.simulated import compared, simulate

DOMAIN = "domain_transfer/domain-small-1"
STOP = {"planned_steps": 976, "kept_step": 244, "kept_tokens": 500_000, "reason": "patience"}
"""Of a rung of 2,000,000 tokens that ended half way: 488 steps of 2,048."""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """The domain rung ended early, and the rungs above it began with what it kept."""
    made = simulate(tmp_path_factory.mktemp("stopped"))
    path = made.root / f"metrics/{DOMAIN}.json"
    metrics = read_json(path)
    assert metrics["steps"] == STOP["planned_steps"]
    curve = [point | {"tokens": point["tokens"] // 2, "step": point["step"] // 2} for point in metrics["curve"]]
    fill_in = metrics["fill_in"] | {"steps": [0, 1, 3, 244, 488]}
    cut = {"steps": 488, "tokens": 1_000_000, "curve": curve, "stop": STOP, "fill_in": fill_in}
    write_json(path, metrics | cut)
    return compared(made)


def texts(comparison: Comparison) -> list[str]:
    return [sentence.en for sentence in stopping.ended(comparison)]


def test_it_says_when_and_why_and_what_is_kept(stopped: Comparison, comparison: Comparison) -> None:
    expected = (
        "The stop rule ended domain_transfer/domain after step 488 of 976, because held-out text was no longer "
        "predicted better. Its weights are those after step 244 (0.500 M tokens), the best measured; its cost counts "
        "1.00 M tokens."
    )
    assert texts(stopped) == [expected]
    assert expected in render(stopped)
    assert texts(comparison) == [], "no rung has a rule"


@pytest.mark.parametrize(
    ("changes", "phrases"),
    [
        ({"reason": "forgetting"}, ["because general text had got worse than the limit allows", "step 244"]),
        ({"kept_step": 0, "kept_tokens": 0}, ["No measurement was better than before", "began with"]),
        ({"reason": None}, ["was trained for all 976 steps", "those after step 244"]),
    ],
)
def test_other_reasons(stopped: Comparison, changes: dict[str, object], phrases: list[str]) -> None:
    rung = next(rung for rung in stopped.rungs if rung.stop is not None)
    assert rung.stop is not None
    other = dataclasses.replace(rung, stop=rung.stop.model_copy(update=changes))
    (text,) = texts(dataclasses.replace(stopped, rungs=[other]))
    assert all(phrase in text for phrase in phrases), text


def test_the_last_weights_of_the_budget_are_no_news(stopped: Comparison) -> None:
    rung = next(rung for rung in stopped.rungs if rung.stop is not None)
    assert rung.stop is not None
    whole = rung.stop.model_copy(update={"reason": None, "kept_step": 976})
    assert texts(dataclasses.replace(stopped, rungs=[dataclasses.replace(rung, stop=whole)])) == []


def test_an_arm_shows_the_tokens_that_were_trained(stopped: Comparison, comparison: Comparison) -> None:
    for task in stopped.tasks:
        costs = {arm.name: arm.cost.tokens for arm in task.arms if arm.cost is not None}
        assert costs["general_long"] - costs["domain"] == 1_000_000
    rung = stopped.rung("domain_transfer/domain")
    assert rung.tokens == 1_000_000
    last, kept = rung.curve[-2:]
    assert last[0] == kept[0] == rung.tokens, "the line ends with the weights that are kept"
    assert kept[1] == rung.after
    assert "a line that ends upright goes back to the weights that the stop rule kept" in captions.curve(stopped).en
    assert "upright" not in captions.curve(comparison).en
    whole = comparison.rung("domain_transfer/domain").curve
    assert whole[-1][0] > whole[-2][0]


def test_the_comparison_of_equal_budgets_says_that_they_differ(stopped: Comparison, comparison: Comparison) -> None:
    sentence = "The budgets of the two arms are not equal: the stop rule ended domain_transfer/domain early."
    for task in stopped.tasks:
        said = {step.name: steps.step(step, task, 0.95, 0.01).en for step in task.steps}
        assert [name for name, text in said.items() if sentence in text] == ["domain_text"]
        assert "Cost: 1.00 M fewer training tokens." in said["domain_text"]
        after = next(step for step in task.steps if step.name == "task_transfer_after_domain")
        assert {arm.name for arm in task.arms if arm.ended_early} == {"domain", "domain_task"}
        assert stopping.unequal_budgets(after, task).en == ""
    for task in comparison.tasks:
        assert {stopping.unequal_budgets(step, task).en for step in task.steps} == {""}


def test_each_draw_is_named(tmp_path: Path) -> None:
    made = simulate(tmp_path, draws=2, tasks=["section"])
    path = made.root / "metrics/domain_transfer/domain-small-2.json"
    write_json(path, read_json(path) | {"stop": STOP, "steps": 488, "tokens": 1_000_000, "fill_in": None})
    comparison = compared(made)
    (text,) = texts(comparison)
    assert "domain_transfer/domain-2" in text
    arm = comparison.tasks[0].arm("domain")
    assert arm is not None
    assert arm.ended_early == ["domain_transfer/domain-2"]
