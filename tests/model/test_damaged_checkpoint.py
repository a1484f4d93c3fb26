"""A fine-tuned checkpoint in which something is wrong: one line and exit code 65, at once; never random weights.

After each damage the card gets the digests of the damaged files, so that the digest check does not fail first. After
random damage there is an answer to every row, or an error of the user's, and nothing else.
"""

import json
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import BertForMaskedLM

from adaptbert.core.files import read_json
from adaptbert.errors import BadData, UserError
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import Architecture, check_architecture
from adaptbert.prediction.predictor import Predictor
from tests.support import tiny
from tests.support.cells import Project
from tests.support.checkpoint_edits import edit, sealed
from tests.support.harming import harmed
from tests.support.predicting import ANSWER, CLASS, KINDS, model

TAGS = "sequence_labelling_tags"
ROWS = [{"text": "The shape of the array."}, {"text": "bread, or \ue000 fish"}]
Harm = Callable[[Path], object]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    tasks = (CLASS, ANSWER, TAGS)
    trained_project = Project(tmp_path_factory.mktemp("project"), {task: KINDS[task] for task in tasks}, (48, 24, 24))
    for task in tasks:
        trained_project.finetune(task, "general", seeds=[1], epochs=1.0)
    return trained_project


@pytest.fixture
def folder(project: Project, tmp_path: Path) -> Path:
    return shutil.copytree(model(project, CLASS), tmp_path / "model")


config, card = partial(edit, name="config.json"), partial(edit, name="card.json")


def tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


QUERY = "bert.encoder.layer.0.attention.self.query.weight"
IN_CONFIG: list[tuple[dict[str, Any], int, str]] = [
    ({"hidden_size": 1_000_000_000}, 122, r"config.json: hidden_size: .*, found 1000000000\n  copy"),
    ({"hidden_size": 64}, 133, "weights and config.json disagree"),
    ({"hidden_size": "32"}, 122, "hidden_size: expected a valid integer, found \"32\""),
    ({"hidden_size": ...}, 133, "disagree"),
    ({"num_hidden_layers": 900, "hidden_size": 65_536}, 122, "parameters, more than"),
    ({"num_hidden_layers": 3}, 133, "bert.encoder.layer.2"),
    ({"num_attention_heads": 3}, 122, "no multiple of 3 heads"),
    ({"max_position_embeddings": 128}, 133, "position_embeddings"),
    ({"vocab_size": 151}, 133, "word_embeddings"),
    ({"vocab_size": 10}, 127, "tokenizer"),
    ({"id2label": {"x": "code"}}, 122, "id2label"),
    ({"id2label": {"0": "a", "1": "b", "2": "c"}}, 134, "head has 3 labels, task has 2"),
    ({"id2label": {"0": "prose", "1": "code"}}, 134, "the labels of config.json are not those of card.json"),
    ({"hidden_act": "gelo"}, 122, "gelo"),
    ({"layer_norm_eps": float("nan")}, 122, "layer_norm_eps"),
    ({"pad_token_id": 10**6}, 122, "pad_token_id"),
    ({"problem_type": "guess"}, 122, "problem_type"),
    ({"model_type": {"a": 1}}, 132, "model_type"),
    ({"quantization_config": {"load_in_4bit": True}}, 132, "quantized"),
]  # fmt: skip


@pytest.mark.parametrize("key", Architecture.model_fields)
def test_no_value_of_the_config_is_without_type_and_bounds(key: str) -> None:
    for value in (10**12, -2, [1]):
        with pytest.raises(BadData, match=rf"^AB-124 config.json: .*{key}"):
            check_architecture({"model_type": "bert", "vocab_size": 60, key: value}, "config.json")


@pytest.mark.parametrize(("changes", "code", "words"), IN_CONFIG, ids=lambda value: str(value)[:40])
def test_config(folder: Path, changes: dict[str, Any], code: int, words: str) -> None:
    config(folder, **changes)
    sealed(folder)
    refused(folder, code, words)


IN_CARD: list[tuple[dict[str, Any], int, str]] = [
    ({"weights": None}, 190, "`weights` is null, but finetune/.* was trained: its answers would be those of random"),
    ({"weights": None, "rung": "scratch"}, 190, "`weights` is null"),
    ({"weights": None, "rung": "scratch", "task": ...}, 190, "there is model.safetensors, which would not be read"),
    ({"weights": "abc"}, 122, "card.json: weights"),
    ({"weights": "0" * 64}, 124, "sha256 mismatch"),
    ({"config": "0" * 64}, 124, "config.json: sha256 mismatch"),
    ({"tokenizer": "0" * 64}, 129, "card says 000"),
    ({"params": []}, 122, "card.json: params"),
    ({"params__block_size": 10**12}, 122, "block_size"),
    ({"params__block_size": 8}, 122, "task.max_length 64, but the encoder reads 8"),
    ({"params__precision": "8-bit"}, 122, "precision"),
    ({"texts": {}}, 122, "texts"),
    ({"task": ...}, 181, "not a checkpoint that was fine-tuned"),
    ({"task": 5}, 122, "task"),
    ({"task__options": ...}, 181, "does not say how the task was read"),
    ({"task__type": "circle"}, 122, "task.type"),
    ({"task__type": "text-pair-classification", "task__options": {}}, 181, "does not say"),
    ({"task__type": "regression"}, 134, "head has 2 labels, task has 1"),
    ({"task__labels": ["code", "code"]}, 122, "a label twice"),
    ({"task__labels": ["prose", "code"]}, 134, "not those of card.json"),
    ({"task__max_length": 512}, 122, "task.max_length 512, but the encoder reads 64"),
    ({"task__tuned": {"threshold": "hot"}}, 122, "task.tuned.threshold"),
    ({"task__replace": [["("]]}, 122, "task.replace"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "code", "words"), IN_CARD, ids=lambda value: str(value)[:40])
def test_card(folder: Path, changes: dict[str, Any], code: int, words: str) -> None:
    card(folder, **changes)
    refused(folder, code, words)


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        (ANSWER, {"task__tuned": {}}),
        (ANSWER, {"task__no_answer": ...}),
        (TAGS, {"task__tuned": {}}),
        (TAGS, {"task__tuned": {"commonest_tag": 3.0}}),
    ],
)
def test_what_was_tuned_is_missing(project: Project, tmp_path: Path, task: str, changes: Any) -> None:
    folder = shutil.copytree(model(project, task), tmp_path / "model")
    card(folder, **changes)
    refused(folder, 181, "does not say how the task was read")


IN_WEIGHTS: list[tuple[Callable[[dict[str, torch.Tensor]], object], int, str]] = [
    (lambda part: part.pop(QUERY), 133, QUERY),
    (lambda part: part.update({"bert.encoder.layer.0.more": torch.ones(2)}), 133, "layer.0.more"),
    (lambda part: part.update({QUERY: torch.ones(32, 31)}), 133, QUERY),
    (lambda part: part.update({QUERY: torch.ones(32, 32, dtype=torch.int64)}), 133, f"{QUERY} is I64"),
    (lambda part: part.update({QUERY: torch.full((32, 32), torch.nan)}), 125, f"{QUERY} holds NaN"),
    (lambda part: part.pop("classifier.weight"), 133, "classifier.weight is missing"),
    (lambda part: part.update({"classifier.weight": torch.ones(3, 32)}), 133, "classifier.weight"),
    (lambda part: part.update({"classifier.bias": torch.tensor([0.0, torch.inf])}), 125, "classifier.bias holds NaN"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "code", "words"), IN_WEIGHTS, ids=range(len(IN_WEIGHTS)))
def test_weights(folder: Path, change: Any, code: int, words: str) -> None:
    tensors(folder, change)
    sealed(folder)
    refused(folder, code, words)


def vocabulary(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    values = read_json(folder / "tokenizer.json")
    change(values)
    (folder / "tokenizer.json").write_text(json.dumps(values), encoding="utf-8")


def another_class(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """One that takes all rules from tokenizer.json; BERT's own has them from elsewhere."""
    edit(folder, "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
    vocabulary(folder, change)


IN_TOKENIZER: list[tuple[Harm, int]] = [
    (lambda folder: (folder / "tokenizer.json").write_text("{}"), 128),
    (lambda folder: (folder / "tokenizer.json").write_bytes(b"\xff\xfe"), 128),
    (lambda folder: (folder / "tokenizer.json").write_text("[" * 100_000), 128),
    (lambda folder: (folder / "tokenizer_config.json").write_text("[]"), 128),
    (lambda folder: (folder / "tokenizer_config.json").write_text('{"tokenizer_class": 7'), 128),
    (lambda folder: (folder / "tokenizer.json").unlink(), 128),
    (lambda folder: vocabulary(folder, lambda content: content.pop("model")), 128),
    (lambda folder: vocabulary(folder, lambda content: content["model"].update(vocab={})), 130),
    (lambda folder: vocabulary(folder, lambda content: content["model"]["vocab"].update({"xy": 4_000_000_000})), 128),
    (lambda folder: vocabulary(folder, lambda content: content["model"]["vocab"].update({"xy": 150})), 127),
    (lambda folder: another_class(folder, lambda content: content["model"].update(unk_token="[UNJ]")), 128),
    (lambda folder: another_class(folder, lambda content: content.update(normalizer=None)), 129),
    (lambda folder: edit(folder, "tokenizer_config.json", do_lower_case=False), 129),
    (lambda folder: edit(folder, "tokenizer_config.json", do_lower_case="no"), 128),
    (lambda folder: tiny.tokenizer(lowercase=False).save(folder), 129),
]  # fmt: skip


@pytest.mark.parametrize(("harm", "code"), IN_TOKENIZER, ids=range(len(IN_TOKENIZER)))
def test_tokenizer(folder: Path, harm: Harm, code: int) -> None:
    harm(folder)
    refused(folder, code, "")


@pytest.mark.parametrize("kind", ["folder", "link"])
@pytest.mark.parametrize("name", ["config.json", "card.json", "model.safetensors", "tokenizer.json"])
def test_something_else_in_place_of_a_file(folder: Path, name: str, kind: str) -> None:
    (folder / name).unlink()
    if kind == "folder":
        (folder / name).mkdir()
    else:
        (folder / name).symlink_to("nowhere")
    refused(folder, 49, f"{name}: a {'folder' if kind == 'folder' else 'link to nowhere'}, not a file")


def test_links_to_files_are_files(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        path.rename(tmp_path / path.name)
        path.symlink_to(tmp_path / path.name)
    assert len(list(Predictor.load(folder).answers(ROWS))) == 2


def test_a_config_without_end(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"[" * 1_000_000)
    refused(folder, 122, "not a JSON object")
    with (folder / "config.json").open("wb") as file:
        file.truncate(1 << 34)
    refused(folder, 122, "17,179,869,184 bytes of JSON")


@pytest.mark.parametrize("start", [tiny.pretrained, tiny.scratch])
@pytest.mark.parametrize("changes", [{"hidden_size": 10**9}, {"hidden_act": "gelo"}])
def test_the_start_of_a_stage_is_checked_alike(tmp_path: Path, changes: dict[str, Any], start: Any) -> None:
    """models/init, a rung, and scratch, whose sizes no tensor confirms."""
    start(tmp_path)
    config(tmp_path, **changes)
    for remains in (lambda: card(tmp_path, config=...), (tmp_path / "card.json").unlink):
        remains()
        with pytest.raises(BadData):
            Checkpoint.load(tmp_path).model(BertForMaskedLM, 0)


def refused(folder: Path, code: int, words: str) -> None:
    """In seconds, as one error; numbers are cut of which a machine has not enough."""
    began = time.monotonic()
    with pytest.raises(BadData, match=rf"(?s)^AB-{code:03d} .*{words}") as caught:
        list(Predictor.load(folder).answers(ROWS))
    assert caught.value.exit_code == 65
    assert time.monotonic() - began < 20


# Random damage


@pytest.fixture(scope="module")
def intact(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property; each puts back what it harmed."""
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
