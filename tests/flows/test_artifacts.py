"""The tables that a flow leaves in Prefect, of one start and of several."""

from pathlib import Path
from typing import Any

import pytest

from adaptbert.comparison.tables.metrics_json import summary
from adaptbert.comparison.tables.text_table import STANDINGS
from flows.artifacts import score_rows, start_rows, step_rows
from tests.support.simulated import compared, simulate


def summarized(root: Path, starts: tuple[str, ...]) -> dict[str, Any]:
    made = simulate(root, tasks=["section"], starts=starts)
    made.cell("scratch").unlink()
    return summary(compared(made))


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return summarized(tmp_path_factory.mktemp("one"), ("small",))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return summarized(tmp_path_factory.mktemp("two"), ("small", "base"))


def test_one_start_is_not_named(one: dict[str, Any]) -> None:
    rows = score_rows(one)
    assert list(rows[0]) == ["task", "arm", "metric", "mean", "low", "high"]
    domain = one["section"]["small"]["domain"]
    assert [row["mean"] for row in rows if row["arm"] == "domain"] == [round(100 * domain["f1_macro"], 1)]
    assert [row["mean"] for row in rows if row["arm"] == "scratch"] == [None], "an arm without metrics keeps its row"
    steps = {row["step"]: row for row in step_rows(one)}
    assert {row["verdict"] for row in steps.values()} == {"described only", "one draw, no verdict", "not testable"}
    low, high = one["section"]["small"]["steps"]["domain_transfer"]["interval"]
    assert (steps["domain_transfer"]["low"], steps["domain_transfer"]["high"]) == (
        round(100 * low, 1),
        round(100 * high, 1),
    ), "what is only described has an interval as well"
    baseline = next(row for row in rows if row["arm"] == "tfidf_logistic")
    assert baseline["low"] < baseline["mean"] < baseline["high"]
    assert list(steps["domain_transfer"]) == ["task", "step", "of", "difference", "low", "high", "verdict", "tflop"]
    assert steps["domain_transfer"]["of"] == "domain - general"
    assert steps["domain_transfer"]["tflop"] == pytest.approx(2_000_000 * 6 * 5.3e6 / 1e12, abs=0.001)
    assert steps["climb"]["tflop"] is None, "the cost of an arm without metrics is not known"


def test_several_starts_have_a_column_and_a_table(two: dict[str, Any]) -> None:
    scores = {(row["start"], row["arm"]): row["mean"] for row in score_rows(two)}
    assert len(scores) == 2 * (6 + 2)
    assert scores["base", "domain"] == round(100 * two["section"]["base"]["domain"]["f1_macro"], 1)
    assert {row["start"] for row in step_rows(two)} == {"small", "base"}
    rows = start_rows(two)
    ranking = two["starts"]["section"]
    assert [(row["arm"], row["start"]) for row in rows[:2]] == [
        (ranking["arm"][0], start) for start in ranking["order"]
    ]
    assert (rows[0]["difference"], rows[0]["verdict"]) == (None, None)
    assert rows[1]["difference"] == round(100 * ranking["arms"][rows[1]["arm"]][rows[1]["start"]]["difference"], 1)
    verdicts = {row["verdict"] for row in rows if row["difference"] is not None}
    assert verdicts == {STANDINGS["one_draw"]}, "what was trained once from each start has none"
