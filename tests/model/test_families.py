"""What a family says is enough: with RoBERTa as one more entry the encoder gives what its stock model gives."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import gelu
from transformers import RobertaConfig, RobertaForMaskedLM, RobertaForSequenceClassification

from adaptbert.errors import BadParams
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.encoder import Tokens, encode, token_scores
from adaptbert.model.families import BERT, FAMILIES, Family, family_of
from adaptbert.model.optimizer import adamw
from adaptbert.model.packing import pack
from adaptbert.project.importing import import_checkpoint
from tests.support import tiny, tiny_params


def transformed(head: Any, hidden: torch.Tensor) -> torch.Tensor:
    normed: torch.Tensor = head.layer_norm(gelu(head.dense(hidden)))
    return normed


ROBERTA = Family(
    name="roberta",
    classes={head: name.replace("Bert", "Roberta") for head, name in BERT.classes.items() if head != "pretraining"},
    prefix="roberta.",
    pretrained={"masked-LM head": "lm_head."},
    decoder="lm_head.decoder.",
    heads=("lm_head.", "classifier.", "pooler.", "qa_outputs."),
    buffers=("embeddings.position_ids",),
    first_position=lambda config: config.pad_token_id + 1,
    sentence_vectors=lambda model, hidden: torch.tanh(model.classifier.dense(hidden)),
    last_layer=lambda model: model.classifier.out_proj,
    token_head=lambda model: (partial(transformed, model.lm_head), model.lm_head.decoder),
    pair_scores=lambda model, hidden: hidden[:, :2],  # it has none
)


@pytest.mark.parametrize("pad", [0, 1])
def test_roberta_would_be_one_more_entry(pad: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its positions begin behind that of the padding, and it has no segments."""
    monkeypatch.setitem(FAMILIES, ROBERTA.name, ROBERTA)
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=18, type_vocab_size=1, initializer_range=0.15, pad_token_id=pad,
    )  # fmt: skip
    model, family = RobertaForSequenceClassification(config).eval(), family_of(config)
    assert isinstance(model, family.hugging_face("sequence"))
    lengths = [7, 16, 3, family.longest(config)]
    ids = torch.as_tensor(np.random.default_rng(1).integers(5, 60, sum(lengths)))
    segments = (torch.arange(sum(lengths)) % 7 > 3).long()
    hidden = encode(model.base_model, pack(np.array(lengths), 24), Tokens(ids, segments))
    texts = [text[None] for text in ids.split(lengths)]
    torch.testing.assert_close(
        hidden, torch.cat([model.roberta(text).last_hidden_state[0] for text in texts]), atol=2e-6, rtol=0
    )
    firsts = hidden[torch.tensor([0, *np.cumsum(lengths)[:-1]])]
    scores = family.last_layer(model)(family.sentence_vectors(model, firsts))
    torch.testing.assert_close(scores, torch.cat([model(text).logits for text in texts]), atol=2e-6, rtol=0)
    masked = RobertaForMaskedLM(config).eval()
    encoded = encode(masked.base_model, pack(np.array(lengths), 24), Tokens(ids))
    expected = torch.cat([masked(text).logits[0] for text in texts])
    torch.testing.assert_close(token_scores(masked, encoded), expected, atol=2e-6, rtol=0)
    groups = adamw(model, tiny_params.optim(layer_decay=0.5, learning_rate=0.8)).param_groups
    assert {group["lr"] for group in groups} == {0.8, 0.4, 0.2, 0.1}, "of head, layers and embeddings"


def test_a_checkpoint_of_another_family_is_brought_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has no head for is the user's error."""
    monkeypatch.setitem(FAMILIES, ROBERTA.name, ROBERTA)
    monkeypatch.chdir(tmp_path)
    Path(".dvc").mkdir()
    config = {**tiny.config().to_dict(), "model_type": "roberta", "type_vocab_size": 1}
    RobertaForMaskedLM(RobertaConfig.from_dict(config)).save_pretrained("source")
    tiny.tokenizer().save(Path("source"))
    assert "with masked-LM head" in import_checkpoint(Path("source"), "other")
    checkpoint = Checkpoint.load("models/init/other")
    assert checkpoint.model_and_drawn("masked_lm", 0)[1] == frozenset()
    with pytest.raises(BadParams, match="roberta has no head for pairs"):
        checkpoint.model("pretraining", 0)


@pytest.mark.parametrize("head", BERT.classes)
def test_the_names_of_weights_are_those_of_the_classes(head: str) -> None:
    model = BERT.hugging_face(head)(tiny.config())  # type: ignore[arg-type]
    names = [name for name, _ in model.named_parameters()]
    encoder = {f"encoder.{name}" for name, _ in model.base_model.encoder.named_parameters()}
    inside = {name.removeprefix(BERT.prefix) for name in names if not name.startswith(BERT.heads)}
    assert encoder < inside
    assert {name.partition(".")[0] for name in inside} == {"embeddings", "encoder"}
