"""metrics/comparison.json is the tree itself: it comes back as it was, and what is no such tree is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.core.files import read_json, write_json
from adaptbert.errors import BadData


@pytest.mark.parametrize("name", ["comparison", "repeated", "several"])
def test_a_comparison_comes_back_to_the_last_digit(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    comparison: Comparison = request.getfixturevalue(name)
    write_json(tmp_path / "first.json", comparison.as_json())
    again = Comparison.read(tmp_path / "first.json")
    assert again == comparison
    write_json(tmp_path / "second.json", again.as_json())
    assert (tmp_path / "first.json").read_bytes() == (tmp_path / "second.json").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree.pop("min_gain"), "min_gain: Field required"),
        (lambda tree: tree.update(woth=1), "woth: Unexpected keyword argument, found 1"),
        (lambda tree: tree["tasks"][0].update(labels="250"), 'tasks.0.labels: expected a valid integer, found "250"'),
        (lambda tree: tree["tasks"][0]["arms"][1]["runs"][0].pop("seed"), "tasks.0.arms.1.runs.0.seed: Field required"),
        (
            lambda tree: tree["tasks"][0]["answers"][0].update(verdict="good"),
            "tasks.0.answers.0.verdict: expected 'gain",
        ),
        (lambda tree: tree["spent"].update(tflop=None), "spent.tflop: expected a valid number, found null"),
    ],
)
def test_what_is_no_such_tree_is_refused_with_its_place(
    comparison: Comparison, tmp_path: Path, change: Callable[[Any], Any], message: str
) -> None:
    path = tmp_path / "comparison.json"
    write_json(path, comparison.as_json())
    tree = read_json(path)
    change(tree)
    write_json(path, tree)
    with pytest.raises(BadData, match="restore the file") as error:
        Comparison.read(path)
    assert f"{path}: {message}" in str(error.value)


@pytest.mark.parametrize("content", ["", '{"tasks": [', json.dumps([1])])
def test_what_is_no_object_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "comparison.json").write_text(content)
    with pytest.raises(BadData, match=r"comparison\.json: "):
        Comparison.read(tmp_path / "comparison.json")
