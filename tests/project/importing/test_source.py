"""What an import is pointed at: a folder, a model of the hub, options; what is missing or is no BERT is refused."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from adaptbert.core.files import read_json
from adaptbert.project.importing import name_of
from tests.support import tiny
from tests.support.hub_cache import REVISION, in_cache
from tests.support.messages import messages_in
from tests.support.public_checkpoints import (
    BIN,
    CONFIG,
    INIT,
    VOCABULARY,
    Runs,
    brought,
    refused,
    run,
    same_encoder,
    state,
)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("google-bert/bert-base-chinese", "bert_base_chinese"),
        ("hfl/chinese-roberta-wwm-ext", "chinese_roberta_wwm_ext"),
        ("MacBERT-v1.1/", "macbert_v1_1"),
        ("a/2024-bert", "bert"),
        ("模型", "public"),
        ("x" * 60, "x" * 40),
    ],
)
def test_the_name_of_the_base_is_that_of_the_model(model: str, name: str) -> None:
    assert name_of(model) == name


def test_what_is_there_is_not_replaced() -> None:
    brought("source")
    before = {path.name: path.read_bytes() for path in INIT.iterdir()}
    torch.save({name: value + 1 for name, value in state().items()}, BIN)
    done = run("source")
    assert (done.exit_code, messages_in(done.output)) == (
        65,
        [
            "error: AB-197 models/init/source: is there already, and is not replaced\n"
            "  remove it to import again, or give the base another name: --base NAME"
        ],
    )
    assert {path.name: path.read_bytes() for path in INIT.iterdir()} == before


def test_a_linked_target_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    INIT.symlink_to(tmp_path / "disk")
    brought("source")
    assert INIT.is_symlink()
    assert (tmp_path / "disk/model.safetensors").is_file()


def test_a_model_of_the_hub(source: Path) -> None:
    in_cache("tiny-bert", source)
    for revision in ([], ["--revision", REVISION]):
        said = brought("acme/tiny-bert", *revision)
        assert said.startswith(f"models/init/source:\nacme/tiny-bert: commit {REVISION}\nBERT with 2 layers")
        assert same_encoder()
        shutil.rmtree(INIT)
    (source / "pytorch_model.bin").unlink()
    in_cache("no-weights", source)
    for index in ("model.safetensors.index.json", "pytorch_model.bin.index.json"):
        (source / index).touch()
        in_cache("parts", source)
        assert refused("acme/parts").startswith(f"AB-124 acme/parts: weights in several parts ({index}) are not read\n")
        (source / index).unlink()
    torch.save({"weights": Runs()}, source / "pytorch_model.bin")
    in_cache("code", source)
    (source / "config.json").write_text(json.dumps({"model_type": "roberta"}))
    in_cache("roberta", source)
    said = refused("acme/typo")
    assert said.startswith("AB-128 acme/typo: cannot be loaded from the hub: ")
    assert "HF_HUB_OFFLINE=1 allows only what was downloaded before" in said
    assert refused("acme/tiny-bert", "--revision", "v2").startswith("AB-128 acme/tiny-bert: ")
    assert refused("acme/roberta").startswith("AB-132 acme/roberta/config.json: a model of the kind roberta, ")
    assert refused("acme/no-weights").startswith("AB-124 acme/no-weights: no weights of torch: neither ")
    assert refused("acme/code").startswith("AB-119 acme/code/pytorch_model.bin: the pickle holds more than tensors")
    assert not Path("ran").exists()


def test_a_config_of_another_size() -> None:
    config = read_json(Path(CONFIG))
    Path(CONFIG).write_text(json.dumps({**config, "hidden_size": 64}))
    assert refused().startswith("AB-132 source: weights and config.json disagree: bert.embeddings.LayerNorm.bias, ")
    Path(CONFIG).write_text(json.dumps({**config, "vocab_size": 149}))
    assert refused().startswith("AB-129 source: tokenizer 150 tokens, embeddings 149\n")
    Path(CONFIG).write_text(json.dumps({**config, "hidden_size": "32"}))
    assert refused().startswith("AB-124 source/config.json: hidden_size: ")
    Path(CONFIG).write_text(json.dumps({**config, "hidden_act": "gelo"}))
    assert refused("./source").startswith("AB-124 source: config.json cannot be used: KeyError: ")
    Path(CONFIG).write_text("{")
    assert refused().startswith("AB-124 source/config.json: not a JSON object\n")


@pytest.mark.parametrize(
    ("kind", "classes", "shown"),
    [("roberta", [], "roberta"), ("ernie", [], "ernie"), (None, ["RobertaForMaskedLM"], "RobertaForMaskedLM")],
)
def test_another_architecture(kind: str | None, classes: list[str], shown: str) -> None:
    values = {**read_json(Path(CONFIG)), "model_type": kind, "architectures": classes}
    Path(CONFIG).write_text(json.dumps({name: value for name, value in values.items() if value is not None}))
    assert refused() == (
        f"AB-132 source/config.json: a model of the kind {shown}, which is another architecture than BERT\n"
        "  take a BERT; by their config.json, MacBERT and the Chinese RoBERTa-wwm are (model_type bert)"
    )


def test_a_vocabulary_without_special_tokens() -> None:
    tokens = [token for token in tiny.tokenizer().tokens if token != "[MASK]"]
    Path(VOCABULARY).write_text("\n".join(tokens) + "\n", encoding="utf-8")
    assert refused().startswith("AB-129 source: the vocabulary has no [MASK]\n  take a tokenizer made for BERT")


@pytest.mark.parametrize(
    ("missing", "beside", "words"),
    [
        (
            CONFIG,
            None,
            "AB-128 source: no config.json: not a Hugging Face folder\n  there are pytorch_model.bin, vocab.",
        ),
        (
            VOCABULARY,
            None,
            "AB-128 source: no tokenizer: neither tokenizer.json nor vocab.txt\n  there are config.json",
        ),
        (
            BIN,
            "source/tf_model.h5",
            "AB-124 source: no weights of torch: neither model.safetensors nor pytorch_model.bin (those of TensorFlow "
            "or Flax are not read)\n  there are config.json, tf_model.h5, vocab.txt",
        ),
        (
            BIN,
            "source/model-00001-of-00003.safetensors",
            "AB-124 source: weights in several parts (model-00001-of-00003.safetensors) are not read\n"
            '  load the model, write it as one file, and import DIR: model.save_pretrained(DIR, max_shard_size="100G',
        ),
    ],
)
def test_a_file_that_is_missing(missing: str, beside: str | None, words: str) -> None:
    Path(missing).unlink()
    if beside:
        Path(beside).touch()
    assert refused().startswith(words)


@pytest.mark.parametrize("name", [BIN, CONFIG, VOCABULARY])
def test_something_else_in_place_of_a_file(name: str) -> None:
    Path(name).unlink()
    Path(name).mkdir()
    assert refused() == f"AB-050 {name}: not a file\n  copy the whole checkpoint again"
    Path(name).rmdir()
    Path(name).symlink_to("nowhere")
    assert refused().startswith(f"AB-050 {name}: not a file\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["./nowhere/bert"], 65, "AB-128 ./nowhere/bert: no such folder, and no name of a model on the hub\n  name a "),
        (
            ["https://huggingface.co/a/b"],
            65,
            "AB-128 https://huggingface.co/a/b: no such folder, and no name of a model",
        ),
        ([""], 65, "AB-128 SOURCE: the name is empty\n  name a folder, or a model as the hub does: "),
        (["source", "--base", ""], 78, "AB-112 --base : '' cannot be the name of a"),
        ([BIN], 65, f"AB-128 {BIN}: is a file, and a checkpoint is a folder\n  unpack it, or name its folder: source"),
        (
            ["source", "--revision", "main"],
            78,
            "AB-111 --revision: main is the revision of a model on the hub, and source",
        ),
        (
            ["source", "--base", "My-Bert"],
            78,
            "AB-112 --base My-Bert: 'My-Bert' cannot be the name of a",
        ),
    ],
)
def test_names_and_options(arguments: list[str], code: int, words: str) -> None:
    assert refused(*arguments, code=code).startswith(words)
    assert Path(BIN).is_file()


def test_not_in_a_project() -> None:
    Path("params.yaml").unlink()
    assert refused(code=78).endswith(
        ": no params.yaml: not the folder of the project\n  change to the folder of the project"
    )
