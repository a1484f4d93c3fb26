"""Every checkpoint is measured with the same masks; measures equal those of the stock model, document by document."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM

from adaptbert.config.schema.text import Measure
from adaptbert.errors import BadData
from adaptbert.mlm import token_loss
from adaptbert.mlm.heldout_evaluation import HeldOut, sets_in
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.token_writer import write
from adaptbert.training.stability import Diverged
from tests.support import tiny, tiny_params


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.heldout(tmp_path_factory.mktemp("heldout"))


def model(seed: int = 0) -> BertForMaskedLM:
    torch.manual_seed(seed)
    made = BertForMaskedLM(tiny.config(0.1))
    with torch.no_grad():  # weights as drawn give every token the same chance; these have something to say
        for parameter in made.parameters():
            parameter.mul_(4)
    return made


def naive(stock: BertForMaskedLM, corpus: TokenizedCorpus, config: Measure) -> dict[str, float]:
    """One document after the other, with all logits, loss by loss."""
    pieces = tiny.tokenizer()
    masker = tiny_params.masker(config.seed, probability=config.probability)
    stock.eval()
    losses, hits, tokens, characters, read = [], [], 0, 0, 0
    for number in range(len(corpus.lengths)):
        flat = corpus.read(np.array([number]))
        read += len(flat.ids)
        if read > config.max_tokens and number > 0:
            break
        corrupted, chosen, _ = masker.mask(flat, np.array([number]), np.array([0]))
        with torch.no_grad():
            logits = stock(input_ids=torch.as_tensor(corrupted)[None]).logits[0].double()
        for place in chosen.tolist():
            losses.append(-float(torch.log_softmax(logits[place], -1)[flat.ids[place]]))
            hits.append(int(logits[place].argmax()) == flat.ids[place])
        tokens += len([token for token in flat.ids if token not in (pieces.one.before[0], pieces.one.after[0])])
        characters += int(corpus.characters[number])
    mean = sum(losses) / len(losses)
    return {
        "bits_per_char": mean * tokens / characters / math.log(2),
        "mlm_loss": mean,
        "masked_accuracy": sum(hits) / len(hits),
    }


@pytest.mark.parametrize(("block", "scores"), [(64, 2**27), (96, 2**27), (64, 1_000)])
@pytest.mark.parametrize("max_tokens", [1, 150, 100_000])
def test_equals_the_stock_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, block: int, scores: int, max_tokens: int
) -> None:
    """As many documents as the limit allows, from the first on; at least one. Also with scores in parts."""
    monkeypatch.setattr(token_loss, "SCORES", scores)
    config = Measure(probability=0.4, max_tokens=max_tokens, seed=3)
    ours = model()
    measures = HeldOut(sets_in(folder), config, tiny.tokenizer(), block).measure(ours, "32-true")
    assert set(measures) == {"domain", "general"}
    for name, values in measures.items():
        expected = naive(model(), TokenizedCorpus.load(folder / name), config)
        assert values == pytest.approx(expected, abs=2e-5), name
    assert measures["domain"] != measures["general"]


def test_a_loss_that_is_no_number(folder: Path) -> None:
    ours = model()
    with torch.no_grad():
        ours.bert.embeddings.word_embeddings.weight[7] = torch.nan
    with pytest.raises(Diverged, match="AB-158 heldout/domain: the loss is nan"):
        HeldOut(sets_in(folder), tiny_params.MEASURE, tiny.tokenizer(), 64).measure(ours, "32-true")


def test_text_too_short_for_a_mask(tmp_path: Path) -> None:
    write(tmp_path / "short", [("a", "the")], tiny.tokenizer(), 16)
    ours = model()
    heldout = HeldOut(sets_in(tmp_path), Measure(probability=0.01, max_tokens=10, seed=0), tiny.tokenizer(), 64)
    with pytest.raises(
        BadData, match=r"AB-018 heldout/short: none of its 1 tokens is masked\n  hold out more text: .*"
    ):
        heldout.measure(ours, "32-true")
