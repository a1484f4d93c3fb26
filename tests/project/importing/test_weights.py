"""Weights of an import: every number as it was, under the names of today; what is no BERT of its config is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM, BertForPreTraining, BertModel

from adaptbert.base.files import read_json
from adaptbert.model import checkpoint
from adaptbert.model.checkpoint import Checkpoint
from tests.support import tiny
from tests.support.public_checkpoints import (
    BIN,
    DECODER,
    EMBEDDINGS,
    INIT,
    MODEL,
    README,
    STARTS,
    State,
    bias_of_the_decoder,
    brought,
    encoder_alone,
    hidden,
    of_2019,
    refused,
    run,
    same_encoder,
    same_head,
    save_source,
    state,
    tied,
    whole,
    with_buffers,
    with_other_heads,
    without,
)

QUERY = "bert.encoder.layer.0.attention.self.query.weight"

ODDITIES: dict[str, tuple[Callable[[State], State], bool, bool]] = {
    "tied": (tied, True, True),
    "no decoder": (lambda weights: weights, True, True),
    "names of 2019": (lambda weights: of_2019(tied(weights)), True, True),
    "encoder alone": (encoder_alone, False, True),
    "encoder alone, names of 2019": (lambda weights: of_2019(encoder_alone(weights)), False, True),
    "no head": (without("cls."), False, True),
    "no pooler": (without("bert.pooler.", "cls.seq"), True, False),
    "neither": (without("bert.pooler.", "cls."), False, False),
    "buffers": (with_buffers, True, True),
    "other heads": (with_other_heads, True, True),
    "bias of the decoder": (bias_of_the_decoder, True, True),
}
"""The change, and whether a masked-LM head and a pooler come out of it."""


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize("oddity", ODDITIES)
def test_a_pickle_is_the_same_model(project: Path, oddity: str, legacy: bool) -> None:
    change, has_head, has_pooler = ODDITIES[oddity]
    source = save_source(project / "source", change(state()), legacy=legacy)
    said = brought(str(source))
    assert same_encoder(has_pooler)
    assert not has_head or same_head()
    assert ("no head for masked-language modelling" in said, "no pooler" in said) == (not has_head, not has_pooler)
    assert sorted(path.name for path in INIT.iterdir()) == [
        "config.json", "model.safetensors", "tokenizer.json",
        "tokenizer_config.json", "vocab.txt",
    ]  # fmt: skip
    assert (STARTS / "README.md").read_text() == README
    written = load_file(INIT / "model.safetensors")
    assert not [name for name in written if not name.startswith(("bert.", "cls.")) or name.endswith("position_ids")]
    _, drawn = Checkpoint.load(INIT).model_and_drawn(BertForMaskedLM, 0)
    assert bool(drawn) == (not has_head)


def test_what_is_said(project: Path) -> None:
    source = save_source(project / "tiny-roberta-wwm", with_other_heads(state()))
    for name in ("tf_model.h5", "flax_model.msgpack"):
        (source / name).touch()
    said = brought(str(source))
    parameters = sum(parameter.numel() for parameter in MODEL.parameters())
    size = (INIT / "model.safetensors").stat().st_size / 1000
    assert said.splitlines() == [
        "models/init/source: config.json, model.safetensors, tokenizer.json, tokenizer_config.json, vocab.txt",
        f"BERT with 2 layers of 32, 64 positions; {parameters:,} parameters, float32, {size:.1f} kB",
        "vocabulary: 150 tokens",
        "its name says RoBERTa, its architecture is BERT: it was trained in RoBERTa's way and works here",
        "notice: assumed: Latin letters are lower-cased (no file says so; BERT lower-cases by default, and the "
        "vocabulary has 0 of the 26 capital letters). Chinese characters have no case",
        "with masked-LM head, pooler, next-sentence head",
        "files left out: flax_model.msgpack, tf_model.h5",
        "in the weights but not used: classifier.weight, classifier.bias",
        "params.yaml is unchanged, because of an error in it: AB-108 params.yaml: expected a mapping, found nothing",
        "add it below ladder.starts, then run `adaptbert ladder`:  source: {init: models/init/source}",
        "now run: adaptbert check",
    ]


def test_what_a_model_without_head_and_pooler_needs_is_said(project: Path) -> None:
    said = brought(str(save_source(project / "source", without("bert.pooler.", "cls.")(state()))))
    assert (
        "notice: no head for masked-language modelling: it begins untrained; `pretrain.source.head_warmup_steps: 300` "
        "trains it first\nnotice: no pooler: fine-tuning on sentences and pairs begins with an untrained one\n"
    ) in said
    assert "\nwith " not in said


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays(project: Path, dtype: torch.dtype) -> None:
    half = {name: tensor.to(dtype) for name, tensor in state().items()}
    said = brought(str(save_source(project / "source", tied(half))))
    assert f"parameters, {str(dtype).removeprefix('torch.')}, " in said
    written = load_file(INIT / "model.safetensors")
    assert written
    assert all(torch.equal(tensor, half[name]) for name, tensor in written.items())
    model = Checkpoint.load(INIT).model(BertForMaskedLM, 0)
    assert all(tensor.dtype == torch.float32 for tensor in model.parameters())


def test_a_decoder_of_its_own_is_named(project: Path) -> None:
    odd = {**state(), DECODER: state()[EMBEDDINGS] + 1}
    said = brought(str(save_source(project / "source", odd)))
    assert f"notice: {DECODER} was left out: config.json ties it to the word embeddings, from which its values" in said
    assert "differ" not in brought(str(save_source(project / "as it should be")), "--force")


@pytest.mark.parametrize("suffix", ["bin", "safetensors"])
def test_parts_become_one_file(project: Path, suffix: str) -> None:
    source = save_source(project / "source")
    (source / "pytorch_model.bin").unlink()
    stem = "pytorch_model" if suffix == "bin" else "model"
    names = sorted(state())
    table = {name: f"{stem}-0000{1 + number % 2}-of-00002.{suffix}" for number, name in enumerate(names)}
    for file in set(table.values()):
        part = {name: tensor for name, tensor in state().items() if table[name] == file}
        (torch.save if suffix == "bin" else save_file)(part, source / file)
    index = source / f"{stem}.{suffix}.index.json"
    index.write_text(json.dumps({"weight_map": table}))
    brought(str(source))
    assert same_encoder()
    assert same_head()
    (source / f"{stem}-00002-of-00002.{suffix}").unlink()
    assert (
        f"AB-137 {source}: {index.name} names {stem}-00002-of-00002.{suffix}, which is missing"
        in run(str(source)).output
    )
    index.write_text(json.dumps({"weight_map": {"a": f"../x.{suffix}"}}))
    assert f"AB-122 {index}: names no files of weights (*.{suffix})" in run(str(source)).output


def test_safetensors_are_copied(project: Path) -> None:
    source = save_source(project / "source")
    save_file(with_other_heads(of_2019(state())), source / "model.safetensors")
    said = brought(str(source))
    assert (INIT / "model.safetensors").read_bytes() == (source / "model.safetensors").read_bytes()
    assert "files left out: pytorch_model.bin\n" in said
    assert "in the weights but not used: classifier.bias, classifier.weight\n" in said
    assert "with masked-LM head, pooler, next-sentence head\n" in said
    assert same_encoder()


def test_a_rung_of_this_project_keeps_its_card(project: Path) -> None:
    tiny.pretrained(project / "models/domain")
    shutil.move(project / "models/domain", project / "rung")
    brought("rung")
    assert Checkpoint.load(INIT).digest == Checkpoint.load(project / "rung").digest
    assert Checkpoint.load(INIT).name == "pretrain"


def test_an_archive_of_2019(project: Path) -> None:
    """HFL's: bert_config.json, in which no kind of model is named."""
    source = save_source(project / "source", of_2019(tied(state())), legacy=True)
    config = {name: value for name, value in read_json(source / "config.json").items() if name != "model_type"}
    (source / "config.json").unlink()
    (source / "bert_config.json").write_text(json.dumps({**config, "architectures": None}))
    note = "bert_config.json names no model_type: bert was added, because the weights have the shapes of a BERT"
    assert f"notice: {note}\n" in brought(str(source))
    assert same_encoder()


def test_tensors_that_share_memory(project: Path) -> None:
    """Safetensors stores each apart."""
    weights = state()
    layers = [f"bert.encoder.layer.{number}.output.dense.bias" for number in range(2)]
    weights[layers[1]] = weights[layers[0]]
    several = torch.stack([weights[name] for name in sorted(weights) if name.endswith("query.bias")])
    for number in range(2):
        weights[f"bert.encoder.layer.{number}.attention.self.query.bias"] = several[number]
    brought(str(save_source(project / "source", weights)))
    written = load_file(INIT / "model.safetensors")
    assert weights.keys() - written.keys() == {"cls.predictions.decoder.bias"}
    assert all(torch.equal(written[name], weights[name]) for name in written)


def test_whoever_may_read_the_config_may_read_the_weights(project: Path) -> None:
    brought(str(save_source(project / "source")))
    assert (INIT / "model.safetensors").stat().st_mode == (INIT / "config.json").stat().st_mode


def changed(**changes: Any) -> State:
    """The tensors with others in their place; None takes one out."""
    weights = {**whole(), **{name.replace("__", "."): value for name, value in changes.items()}}
    return {name: value for name, value in weights.items() if value is not None}


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (lambda: {**whole(), QUERY: torch.ones(32, 31)}, f"AB-133 source: weights and config.json disagree: {QUERY}\n"),
        (lambda: {**whole(), QUERY: torch.ones(10, 10).to_sparse()}, f"AB-133 {BIN}: {QUERY} is no plain tensor\n"),
        (lambda: {**whole(), QUERY: torch.ones(1).expand(10**9, 32)}, f"AB-133 {BIN}: {QUERY} is larger than the file"),
        (
            lambda: {**whole(), QUERY: torch.ones(32, 32).int()},
            f"AB-133 {BIN}: {QUERY} is I32, expected floating-point",
        ),
        (lambda: {**whole(), QUERY: torch.full((32, 32), torch.nan)}, f"AB-125 {BIN}: {QUERY} holds NaN or Inf\n"),
        (lambda: {name: value for name, value in whole().items() if name != QUERY}, f"disagree: {QUERY}\n"),
        (lambda: {**whole(), "bert.adapter.weight": torch.ones(3)}, "disagree: bert.adapter.weight\n"),
        (
            lambda: {**whole(), "cls.predictions.bias": torch.ones(151)},
            f"AB-133 {BIN}: weights and config.json disagree: cls.predictions.bias\n",
        ),
        (
            lambda: {**whole(), "bert.pooler.dense.weight": torch.ones(32, 31)},
            f"AB-133 {BIN}: weights and config.json disagree: bert.pooler.dense.weight\n",
        ),
        (
            lambda: {**whole(), "bert.embeddings.LayerNorm.gamma": torch.ones(32)},
            f"AB-133 {BIN}: holds bert.embeddings.LayerNorm.weight twice, under two names\n",
        ),
    ],
    ids=["shape", "sparse", "huge", "integers", "nan", "missing", "more", "head", "pooler", "twice"],
)
@pytest.mark.usefixtures("source")
def test_tensors_that_are_none_of_this_bert(weights: Callable[[], State], words: str) -> None:
    torch.save(weights(), BIN)
    assert words in refused()


@pytest.mark.usefixtures("source")
def test_safetensors_are_held_as_pickles_are() -> None:
    weights = {name: value for name, value in whole().items() if "decoder" not in name}
    file = Path("source/model.safetensors")
    save_file({**weights, "cls.predictions.bias": torch.ones(151)}, file)
    assert "disagree: cls.predictions.bias\n" in refused()
    save_file({**weights, QUERY: torch.full((32, 32), torch.inf)}, file)
    assert refused().startswith(f"AB-125 source/model.safetensors: {QUERY} holds NaN or Inf\n")
    file.write_bytes(file.read_bytes()[:-1])
    assert refused().startswith("AB-123 source/model.safetensors: bad safetensors file: ")


@pytest.mark.slow
def test_bert_base_chinese(project: Path) -> None:
    """Random weights in its real shape; the vocabulary has its size, and 5,000 Chinese characters."""
    shape = BertConfig(vocab_size=21128, hidden_size=768, num_hidden_layers=12, num_attention_heads=12)
    torch.manual_seed(1)
    model = BertForPreTraining(shape).eval()
    source = project / "bert-base-chinese"
    source.mkdir()
    shape.save_pretrained(str(source))
    config = read_json(source / "config.json")
    (source / "config.json").write_text(json.dumps({**config, "model_type": "bert", "directionality": "bidi"}))
    characters = [chr(0x4E00 + number) for number in range(5000)]
    tokens = ["[PAD]", *(f"[unused{n}]" for n in range(1, 100)), "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters]
    tokens += [f"##{number}" for number in range(21128 - len(tokens))]
    (source / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    weights = of_2019({**model.state_dict(), "bert.embeddings.position_ids": torch.arange(512)[None]})
    torch.save(weights, source / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    said = brought(str(source))
    assert "BERT with 12 layers of 768, 512 positions; 102,882,442 parameters, float32, 411.6 MB\n" in said
    ours = BertModel.from_pretrained(str(INIT)).eval()
    assert torch.equal(hidden(ours), hidden(model.bert))
    assert checkpoint.Checkpoint.load(INIT).tokenizer.size == 21128
