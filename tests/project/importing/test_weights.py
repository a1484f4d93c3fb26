"""Weights of an import: every number as it was, under the names of today; what is no BERT of its config is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from adaptbert.core.files import read_json
from adaptbert.model.checkpoint import Checkpoint
from tests.support import tiny
from tests.support.public_checkpoints import (
    BIN,
    CONFIG,
    DECODER,
    INIT,
    MODEL,
    State,
    bias_of_the_decoder,
    brought,
    encoder_alone,
    of_2019,
    refused,
    same_encoder,
    same_head,
    state,
    tied,
    whole,
    with_buffers,
    with_other_heads,
    without,
)

QUERY = "bert.encoder.layer.0.attention.self.query.weight"
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2

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
def test_a_pickle_is_the_same_model(oddity: str, legacy: bool) -> None:
    change, has_head, has_pooler = ODDITIES[oddity]
    torch.save(change(state()), BIN, _use_new_zipfile_serialization=not legacy)
    said = brought("source")
    assert same_encoder(has_pooler)
    assert not has_head or same_head()
    assert ("no head for masked-language modelling" in said, "no pooler" in said) == (not has_head, not has_pooler)
    files = ["config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt"]
    assert sorted(path.name for path in INIT.iterdir()) == files
    written = load_file(INIT / "model.safetensors")
    assert not [name for name in written if not name.startswith(("bert.", "cls.")) or name.endswith("position_ids")]
    _, drawn = Checkpoint.load(INIT).model_and_drawn("masked_lm", 0)
    assert bool(drawn) == (not has_head)


def test_what_is_said() -> None:
    torch.save(with_other_heads(state()), BIN)
    for name in ("tf_model.h5", "flax_model.msgpack"):
        Path("source", name).touch()
    parameters = sum(parameter.numel() for parameter in MODEL.parameters())
    assert brought("source").splitlines() == [
        "models/init/source:",
        "BERT with 2 layers of 32, 64 positions; vocabulary: 150 tokens, embeddings: 150 rows",
        "notice: assumed: Latin letters are lower-cased (no file says so; BERT lower-cases by default, and the "
        "vocabulary has 0 of the 26 capital letters). Chinese characters have no case",
        f"{parameters:,} parameters, float32",
        "with masked-LM head, pooler, next-sentence head",
        "in the weights but not used: classifier.bias, classifier.weight",
        "files left out: flax_model.msgpack, tf_model.h5",
        "to train from it, write into params.yaml, then run `adaptbert plan` and `adaptbert check`:",
        "  base: models/init/source    (beside other bases: source: models/init/source below `bases`)",
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays(dtype: torch.dtype) -> None:
    half = {name: tensor.to(dtype) for name, tensor in state().items()}
    torch.save(half, BIN)
    assert f" parameters, {str(dtype).removeprefix('torch.')}\n" in brought("source")
    written = load_file(INIT / "model.safetensors")
    assert written
    assert all(torch.equal(tensor, half[name]) for name, tensor in written.items())
    model = Checkpoint.load(INIT).model("masked_lm", 0)
    assert all(tensor.dtype == torch.float32 for tensor in model.parameters())


def test_safetensors_are_copied(source: Path) -> None:
    save_file(with_other_heads(of_2019(state())), source / "model.safetensors")
    said = brought(str(source))
    assert (INIT / "model.safetensors").read_bytes() == (source / "model.safetensors").read_bytes()
    assert "files left out: pytorch_model.bin\n" in said
    assert "in the weights but not used: classifier.bias, classifier.weight\n" in said
    assert same_encoder()


def test_a_rung_of_this_project_keeps_its_card() -> None:
    tiny.pretrained(Path("rung").absolute())
    brought("rung")
    assert Checkpoint.load(INIT).digest == Checkpoint.load(Path("rung")).digest
    assert Checkpoint.load(INIT).name == "pretrain"


def test_an_archive_of_2019() -> None:
    """HFL's: bert_config.json, in which no kind of model is named."""
    torch.save(of_2019(tied(state())), BIN, _use_new_zipfile_serialization=False)
    config = {name: value for name, value in read_json(Path(CONFIG)).items() if name != "model_type"}
    Path(CONFIG).unlink()
    Path("source/bert_config.json").write_text(json.dumps({**config, "architectures": None}))
    brought("source")
    assert same_encoder()


def test_tensors_that_share_memory() -> None:
    """Safetensors stores each apart."""
    weights = state()
    layers = [f"bert.encoder.layer.{number}.output.dense.bias" for number in range(2)]
    weights[layers[1]] = weights[layers[0]]
    torch.save(weights, BIN)
    brought("source")
    written = load_file(INIT / "model.safetensors")
    assert weights.keys() - written.keys() == {"cls.predictions.decoder.bias"}
    assert all(torch.equal(written[name], weights[name]) for name in written)


def test_whoever_may_read_the_config_may_read_the_weights() -> None:
    brought("source")
    assert (INIT / "model.safetensors").stat().st_mode == (INIT / "config.json").stat().st_mode


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (lambda: {**whole(), QUERY: torch.ones(32, 31)}, f"AB-132 source: weights and config.json disagree: {QUERY}\n"),
        (
            lambda: {**whole(), QUERY: torch.ones(10, 10).to_sparse()},
            f"AB-132 {BIN}: {QUERY} is no plain tensor of float",
        ),
        (lambda: {**whole(), QUERY: torch.ones(1).expand(10**9, 32)}, f"weights and config.json disagree: {QUERY}\n"),
        (lambda: {**whole(), QUERY: torch.ones(32, 32).int()}, f"AB-132 {BIN}: {QUERY} holds int32: the weights are q"),
        (lambda: {**whole(), QUERY: torch.ones(32, 32).to(E4M3)}, f"AB-132 {BIN}: {QUERY} holds float8_e4m3fn: the w"),
        (
            lambda: {name: value.to(E5M2 if name == QUERY else E4M3) for name, value in whole().items()},
            f"AB-132 {BIN}: bert.embeddings.word_embeddings.weight holds float8_e4m3fn: the weights are quantized\n",
        ),
        (
            lambda: {name: value.to(E4M3) for name, value in whole().items()},
            "holds float8_e4m3fn: the weights are quantized\n  name the checkpoint that they were made from",
        ),
        (lambda: {DECODER: whole()[DECODER]}, "AB-132 source: weights and config.json disagree: bert.embeddings."),
        (lambda: {**whole(), QUERY: torch.full((32, 32), torch.nan)}, f"AB-124 {BIN}: {QUERY} holds NaN or Inf\n"),
        (lambda: {name: value for name, value in whole().items() if name != QUERY}, f"disagree: {QUERY}\n"),
        (lambda: {**whole(), "bert.adapter.weight": torch.ones(3)}, "disagree: bert.adapter.weight\n"),
        (
            lambda: {**whole(), "cls.predictions.bias": torch.ones(151)},
            "AB-132 source: weights and config.json disagree: cls.predictions.",
        ),
        (
            lambda: {**whole(), "bert.pooler.dense.weight": torch.ones(32, 31)},
            "AB-132 source: weights and config.json disagree: bert.pooler.dense.weight\n",
        ),
    ],
    ids=[
        "shape",
        "sparse",
        "huge",
        "integers",
        "float8",
        "two of float8",
        "all of float8",
        "decoder alone",
        "nan",
        "missing",
        "more",
        "head",
        "pooler",
    ],
)
def test_tensors_that_are_none_of_this_bert(weights: Callable[[], State], words: str) -> None:
    torch.save(weights(), BIN)
    assert words in refused()


def test_safetensors_are_held_as_pickles_are() -> None:
    weights = {name: value for name, value in whole().items() if "decoder" not in name}
    file = Path("source/model.safetensors")
    save_file({**weights, "cls.predictions.bias": torch.ones(151)}, file)
    assert "disagree: cls.predictions." in refused()
    save_file({**weights, QUERY: torch.full((32, 32), torch.inf)}, file)
    assert refused().startswith(f"AB-124 source/model.safetensors: {QUERY} holds NaN or Inf\n")
    file.write_bytes(file.read_bytes()[:-1])
    assert refused().startswith("AB-124 source/model.safetensors: bad safetensors file: ")
