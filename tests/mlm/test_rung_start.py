"""Where a rung begins: a checkpoint, its pooler, a vocabulary that has grown; and what is refused before it begins."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import BertForMaskedLM, BertForSequenceClassification, BertModel

from adaptbert.config.schema.text import Extension
from adaptbert.core.files import read_json
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.vocabulary_extension import extend_vocabulary
from tests.support import tiny
from tests.support.rungs import DOMAIN, PRETRAIN, SCRATCH, SMALL, Ladder, refused


def test_a_local_checkpoint_is_the_start(ladder: Ladder, trained_ladder: Ladder) -> None:
    shutil.copytree(trained_ladder.root / "models" / PRETRAIN, ladder.root / "models/init/small")
    ladder.pretrain(checkpoint="models/init/small", steps=2)
    assert ladder.metrics(PRETRAIN)["before"] == trained_ladder.metrics(PRETRAIN)["after"]
    assert not Checkpoint.load(ladder.root / "models" / SCRATCH).has_weights


@pytest.mark.parametrize("steps", [0, 2])
def test_a_pooler_is_passed_on_to_fine_tuning(ladder: Ladder, steps: int) -> None:
    """As BertModel saves itself it has one, which masked-language modelling does not use."""
    torch.manual_seed(0)
    public = BertModel(tiny.config())
    public.save_pretrained(str(ladder.made("models/init/small")))
    tiny.tokenizer().save(ladder.root / "models/init/small")
    ladder.pretrain(checkpoint="models/init/small", steps=steps)
    ladder.domain_transfer(steps=2)
    for rung in (PRETRAIN, DOMAIN):
        start = Checkpoint.load(ladder.root / "models" / rung)
        model, drawn = start.model_and_drawn(BertForSequenceClassification, 1)
        assert torch.equal(model.bert.pooler.dense.weight, public.pooler.dense.weight), rung
        assert torch.equal(model.bert.pooler.dense.bias, public.pooler.dense.bias), rung
        assert not any("pooler" in name for name in drawn), rung
        assert BertForMaskedLM.from_pretrained(start.source).bert.pooler is None


def test_without_a_pooler_there_is_none_to_pass_on(trained_ladder: Ladder) -> None:
    for name, content in trained_ladder.outputs().items():
        assert not (name.endswith(".safetensors") and b"pooler" in content), name


def extended(ladder: Ladder) -> Tokenizer:
    """data/tokenizer and all texts by a tokenizer with more words than that of models/init."""
    shutil.copytree(ladder.root / "models" / PRETRAIN, ladder.root / "models/init/small")
    words = [text for _, text in tiny.rows("domain", 60)]
    config = Extension(corpora=["domain"], num_new_tokens=12, min_frequency=2)
    pieces = extend_vocabulary(tiny.tokenizer(), words, config).tokenizer
    pieces.save(ladder.root / "data/tokenizer")
    for kind in tiny.WORDS:
        tiny.corpus(ladder.root / "data/corpora" / kind, kind, 120, pieces=pieces)
    tiny.heldout(ladder.root / "data/heldout", pieces)
    return pieces


def test_a_checkpoint_takes_an_extended_vocabulary_by_an_explicit_step(
    ladder: Ladder, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a step of training: old rows as they were, new ones the means; the next rung finds nothing special."""
    pieces, old = extended(ladder), tiny.tokenizer()
    assert pieces.size > old.size
    changes = {"checkpoint": "models/init/small", "steps": 0}
    ladder.pretrain(**changes)
    assert f"vocabulary: {old.size} -> {pieces.size} tokens" in capsys.readouterr().out
    rung, card = ladder.metrics(PRETRAIN), read_json(ladder.root / f"models/{PRETRAIN}/card.json")
    assert rung["vocabulary"] == card["vocabulary"] == {"from": old.fingerprint, "new_tokens": pieces.size - old.size}
    assert (card["tokenizer"], rung["before"]) == (pieces.fingerprint, rung["after"])
    before, after = (load_file(ladder.root / f"models/{rung}/model.safetensors") for rung in ("init/small", PRETRAIN))
    name = "bert.embeddings.word_embeddings.weight"
    assert torch.equal(after[name][: old.size], before[name])
    ids = old.encode([pieces.tokens[-1]])[0].ids
    torch.testing.assert_close(after[name][-1], before[name][ids].mean(0))
    assert all(torch.equal(before[key], after[key]) for key in before if before[key].shape == after[key].shape)
    assert Checkpoint.load(ladder.root / "models" / SCRATCH).config().vocab_size == pieces.size

    ladder.domain_transfer()
    above = ladder.metrics(DOMAIN)
    assert above["before"]["general"] == rung["after"]["general"]
    assert "vocabulary" not in above


@pytest.mark.usefixtures("no_training")
def test_a_vocabulary_that_is_no_extension_is_refused(ladder: Ladder) -> None:
    """Two old tokens have changed ids, or a text is of the old tokenizer: the check has no hole."""
    pieces = extended(ladder)
    file = ladder.root / "data/tokenizer/tokenizer.json"
    content = read_json(file)
    vocabulary = content["model"]["vocab"]
    vocabulary["the"], vocabulary["of"] = vocabulary["of"], vocabulary["the"]
    file.write_text(json.dumps(content), encoding="utf-8")
    start = {"checkpoint": "models/init/small", "steps": 0}
    both = r"made with tokenizer \w{12}, the checkpoint .* has \w{12}"
    refused(ladder, lambda: ladder.pretrain(**start), rf"AB-129 .*data/tokenizer: {both}")
    pieces.save(ladder.root / "data/tokenizer")
    refused(ladder, lambda: ladder.domain_transfer(replay=0), "AB-129 domain: made with tokenizer")
    tiny.corpus(ladder.root / "data/corpora/general", "general", 120)
    refused(ladder, lambda: ladder.pretrain(**start), "AB-129 general: made with tokenizer")


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(*_: object) -> None:
        raise AssertionError("training has begun")

    monkeypatch.setattr("adaptbert.mlm.rung.fit", fit)


@pytest.mark.usefixtures("no_training")
def test_documents_that_do_not_fit_are_refused(ladder: Ladder) -> None:
    longest = max(
        int(length)
        for kind in tiny.WORDS
        for length in np.diff(np.fromfile(ladder.root / f"data/corpora/{kind}/offsets.bin", np.int64))
    )
    refused(
        ladder,
        lambda: ladder.domain_transfer(block_size=16, replay=0.9),
        rf"AB-111 params.yaml: domain_transfer: a document has {longest} tokens, block_size is 16\n  lower tokenize",
    )
    small = SMALL.model_copy(update={"max_positions": 32})
    refused(
        ladder,
        lambda: ladder.pretrain(base=small),
        r"AB-111 params.yaml: pretrain: a document has \d+ tokens, max_positions is 32\n.* or raise max_positions",
    )
