"""What `adaptbert` exports for the results of a recipe; tests/project/test_own_recipe.py runs the notebook."""

from pathlib import Path
from typing import Any

import pytest

import adaptbert
from adaptbert.core.files import read_json, write_json
from tests.support.imports import ROOT

COMPARISON = ROOT / "metrics/comparison.json"

ENDS = {"mean": "score", "low": "low", "high": "high"}
"""Names of an interval in the file -> in the table of scores."""


def test_the_comparison_is_a_table(tmp_path: Path) -> None:
    """Every number of the file, under the name that it has there."""
    written = read_json(COMPARISON)
    section = written["tasks"][0]
    arms = section["arms"].copy()
    section["arms"].append({**arms[0], "name": "later", "runs": [], "interval": None})
    write_json(tmp_path / "comparison.json", written)
    scores = adaptbert.read_comparison(tmp_path / "comparison.json")
    assert len(scores) == sum(len(task["arms"]) + len(task["baselines"]) for task in written["tasks"])
    scores = scores[scores["task"] == "section"]
    rows: dict[Any, Any] = scores.set_index("arm").to_dict("index")
    for arm in arms:
        row = rows[arm["name"]]
        assert (row["base"], row["metric"]) == ("small", "f1_macro")
        assert {name: row[name] for name in ENDS.values()} == {ENDS[end]: arm["interval"][end] for end in ENDS}
        assert row["runs"] == [(run["replicate"], run["seed"], run["score"]) for run in arm["runs"]]
        assert row["score"] == pytest.approx(sum(score for _, _, score in row["runs"]) / len(row["runs"]))
    assert (rows["domain"]["replicates"], rows["domain"]["seeds"]) == (2, 5)
    assert rows["majority"]["score"] == section["baselines"]["majority"]["mean"]
    assert (rows["majority"]["seeds"], rows["later"]["runs"]) == (0, [])
    assert [*scores[scores["score"].isna()]["arm"]] == ["later"]
    assert section["chosen"] == scores.sort_values("dev").dropna(subset="dev")["arm"].iloc[-1]


def test_the_differences_are_a_table() -> None:
    written = [(task, answer) for task in read_json(COMPARISON)["tasks"] for answer in task["answers"]]
    differences = adaptbert.read_differences(COMPARISON).to_dict("records")
    for row, (task, answer) in zip(differences, written, strict=True):
        assert (row["task"], row["base"], row["question"]) == (task["task"], task["base"], answer["name"])
        kept = ("arm", "other", "verdict", "at_least")
        assert [row[name] for name in kept] == [answer[name] for name in kept]
        ends = [row[name] for name in ("difference", "low", "high", "p")]
        assert ends == [answer["difference"][name] for name in ("mean", "low", "high", "p")]
        p, expected = row["p_adjusted"], answer["p_adjusted"]
        assert p != p if expected is None else p == expected
