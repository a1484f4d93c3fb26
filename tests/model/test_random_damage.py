"""A fine-tuned checkpoint with random damage: an answer to every row, or an error of the user's, and nothing else."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.base.files import read_json
from adaptbert.errors import UserError
from adaptbert.prediction import Predictor
from tests.support.cells import Project
from tests.support.checkpoint_edits import sealed
from tests.support.harming import harmed
from tests.support.predicting import CLASS, KINDS, model

ROWS = [{"text": "The shape of the array."}, {"text": "bread, or \ue000 fish"}]


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property; each puts back what it harmed."""
    project = Project(tmp_path_factory.mktemp("project"), {CLASS: KINDS[CLASS]}, (48, 24, 24))
    project.finetune(CLASS, "general", seeds=[1], epochs=1.0)
    return shutil.copytree(model(project, CLASS), tmp_path_factory.mktemp("intact") / "model")


def answers_or_says_why(folder: Path, name: str, content: bytes) -> None:
    """Nothing but a `UserError`, or an answer to every row."""
    whole = {file: (folder / file).read_bytes() for file in (name, "card.json")}
    (folder / name).write_bytes(content)
    answers: list[dict[str, Any]] = []
    try:
        if name == "config.json":
            sealed(folder)
        answers = list(Predictor.load(folder).answers(ROWS, probabilities=True))
    except UserError:
        return
    finally:
        for file, before in whole.items():
            (folder / file).write_bytes(before)
    assert [set(answer) for answer in answers] == [{"id", "label", "confidence", "probabilities"}] * 2


JSON_FILES = ["config.json", "card.json", "tokenizer.json", "tokenizer_config.json"]


@settings(max_examples=25, deadline=None)
@given(name=st.sampled_from(JSON_FILES), draw=st.data())
def test_changed_bytes(intact: Path, name: str, draw: st.DataObject) -> None:
    answers_or_says_why(intact, name, harmed(draw, (intact / name).read_bytes()))


@pytest.mark.nightly
@settings(max_examples=3_000, deadline=None)
@given(name=st.sampled_from(JSON_FILES), draw=st.data())
def test_many_changed_bytes(intact: Path, name: str, draw: st.DataObject) -> None:
    answers_or_says_why(intact, name, harmed(draw, (intact / name).read_bytes()))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(st.text(max_size=4), inside, max_size=2),
    max_leaves=3,
)


@settings(max_examples=25, deadline=None)
@given(name=st.sampled_from(["config.json", "card.json"]), draw=st.data(), value=VALUES)
def test_changed_values(intact: Path, name: str, draw: st.DataObject, value: Any) -> None:
    values = read_json(intact / name)
    values[draw.draw(st.sampled_from(sorted(values)))] = value
    answers_or_says_why(intact, name, json.dumps(values).encode())
