"""Batches and loss: what is counted, what heads learn, what the warm-up of a head trains, resume; test_parity.py
compares the loss with that of the stock model."""

import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM, BertForPreTraining

from adaptbert.config.schema.mlm import SentenceObjective
from adaptbert.mlm.masked_lm import (
    CHOSEN_STEP,
    NO_ANSWER,
    PAIR_PARTS,
    MaskedBatches,
    MaskedLM,
)
from adaptbert.mlm.sentence_pairs import SentencePairs
from adaptbert.model import optimizer
from adaptbert.model.token_scores import scores_with_spare_columns, token_scores
from adaptbert.text.token_store import Documents, Flat, TokenizedCorpus
from adaptbert.text.token_writer import write
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from tests.support import tiny, tiny_params
from tests.support.numbered import Numbered
from tests.support.short_runs import Stop, changed, masked_batches, masked_lm, until, weights

HEAD = 4


def paired(corpus: Documents, objective: SentenceObjective, tokens: int) -> MaskedBatches:
    pairs = SentencePairs(corpus, objective, 0, 64)
    return MaskedBatches(corpus, DocumentStream(pairs.lengths, 0, tokens), tiny_params.masker(), 64, pairs=pairs)


def test_spare_columns_change_no_score_and_no_gradient() -> None:
    """For GPUs; a vocabulary of 8 n + 5."""
    torch.manual_seed(0)
    ours = BertForMaskedLM(tiny.config(vocab_size=8 * (tiny.tokenizer().size // 8) + 5))
    ours.cls.predictions.decoder.bias.data.normal_()
    hidden, head = torch.randn(7, ours.config.hidden_size, requires_grad=True), ours.cls.predictions
    expected, scores = head(hidden), scores_with_spare_columns(head.decoder, head.transform(hidden))
    assert torch.equal(token_scores(ours, hidden), expected)
    assert scores.shape == (7, ours.config.vocab_size)
    torch.testing.assert_close(scores, expected)
    read = [hidden, head.decoder.weight, head.decoder.bias, *head.transform.parameters()]
    gradients = (torch.autograd.grad(each.square().mean(), read) for each in (scores, expected))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_a_batch_without_a_mask_costs_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    """One short document a batch: most of them have no mask, and one has no token that could have one."""
    pieces = tiny.tokenizer()
    assert pieces.encode(["日"])[0].ids == [pieces.unknown]
    write(tmp_path / "short", [*tiny.rows("domain", 60), ("unknown", "日")], pieces, 8)
    short = TokenizedCorpus.load(tmp_path / "short")
    batches, module, losses = masked_batches(short, 8, probability=0.01), masked_lm(10, 0.0), []
    for k in range(short.tokens // 8):
        batch = batches(k)
        loss = module.training_step(batch, k)
        loss.backward()
        assert torch.isfinite(loss)
        assert (float(loss.detach()) == 0) is (len(batch.chosen) == 0)
        losses.append(float(loss.detach()))
    assert 0 < sum(loss > 0 for loss in losses) < len(losses)
    assert all(torch.isfinite(p.grad).all() for p in module.parameters() if p.grad is not None)


def test_decoded_positions_are_counted(corpus: TokenizedCorpus) -> None:
    batches = masked_batches(corpus, 300)
    for k in range(20):
        batch = batches(k)
        assert 0 < batch.counts["chosen"] == int((batch.expected != NO_ANSWER).sum())
        assert len(batch.chosen) == len(batch.expected)
        assert len(batch.chosen) % CHOSEN_STEP == 0, "few sizes, so that the library's prepared products serve again"


# ---- a sentence objective


class Telling(Numbered):
    """Texts from which each question can be answered: all of one kind of token, or tokens that tell their place."""

    def __init__(self, objective: str) -> None:
        super().__init__([14] * 200)
        self._objective = objective

    def read(self, documents: np.ndarray) -> Flat:
        flat = super().read(documents)
        place, kind = flat.ids % 1000, flat.ids // 1000 % 2
        inner = 10 + (place if self._objective == "sop" else 10 * kind + place % 3)
        return replace(flat, ids=np.where(flat.ids >= 1000, inner, flat.ids))


@pytest.mark.parametrize(("objective", "best"), [("sop", 1.0), ("nsp", 0.75)])
def test_the_head_learns_what_the_text_tells(objective: SentenceObjective, best: float) -> None:
    """Of two kinds of documents a random partner is of the same kind half of the time: NSP cannot pass 3 of 4."""
    steps, batches = 120, paired(Telling(objective), objective, 512)
    torch.manual_seed(0)
    module = MaskedLM(BertForPreTraining(tiny.config(0.0, initializer_range=0.06)), tiny_params.optim(), steps)
    plan = TrainingArguments(steps, 1, 1.0, "32-true", 0, "train/loss", PAIR_PARTS)
    curve = fit(module, batches, plan, tiny.no_record(), {step: lambda _: {} for step in (30, 100, steps)}).curve
    assert curve[0]["train/sentence_accuracy"] == pytest.approx(0.5, abs=0.06)
    assert curve[-1]["train/sentence_accuracy"] == pytest.approx(best, abs=0.06)
    for point in curve:
        assert point["train/loss"] == pytest.approx(point["train/mlm_loss"] + point["train/sentence_loss"], abs=1e-5)


# ---- the warm-up of a head


def warmed(steps: int, kind: Any = BertForMaskedLM) -> MaskedLM:
    torch.manual_seed(0)
    return MaskedLM(kind(tiny.config()), tiny_params.optim(), steps, HEAD)


def with_warm_up(batches: MaskedBatches) -> MaskedBatches:
    """Two micro-batches a step."""
    batches._head_count = 2 * HEAD
    return batches


def train(module: MaskedLM, batches: Callable[[int], Any], steps: int, folder: Path | None = None) -> list[Any]:
    """The curve; until the batches end."""
    parts = PAIR_PARTS if isinstance(module.model, BertForPreTraining) else ()
    plan = TrainingArguments(HEAD + steps, 2, 1.0, "32-true", 0, "train/loss", parts)
    points = dict.fromkeys([HEAD + steps], lambda _: {})
    with suppress(Stop):
        return fit(module, batches, plan, tiny.no_record(), points, folder and Savepoints(folder)).curve
    return []


def test_the_warm_up_trains_nothing_but_the_head(corpus: TokenizedCorpus) -> None:
    before, batches = weights(warmed(0)), with_warm_up(masked_batches(corpus, 150))
    for steps, names in ((0, {name for name in before if name.startswith("cls.predictions.")}), (3, before.keys())):
        module = warmed(steps)
        train(module, batches, steps)
        assert changed(before, weights(module)) == names


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize("stop", [HEAD - 2, HEAD, HEAD + 2])
@pytest.mark.parametrize("kind", [BertForMaskedLM, BertForPreTraining])
def test_a_stopped_run_goes_on_with_equal_bits(corpus: TokenizedCorpus, kind: Any, stop: int, tmp_path: Path) -> None:
    """Within, at the end of and after the warm-up, where the optimizer has no means of the encoder yet or they just
    begin; with pairs of sentences or without: the weights, and the parts of the loss on the curve."""
    batches = with_warm_up(masked_batches(corpus, 150) if kind is BertForMaskedLM else paired(corpus, "nsp", 150))
    sent = pickle.dumps(batches)  # to the process of another device
    assert len(sent) < 10_000
    for k in (0, 2 * HEAD, 9):
        assert torch.equal(pickle.loads(sent)(k).ids, batches(k).ids)  # noqa: S301
    whole, cut, resumed = (warmed(4, kind) for _ in range(3))
    curve = train(whole, batches, 4)
    train(cut, until(batches, 2 * stop), 4, tmp_path)
    savepoint = Savepoints(tmp_path).latest()
    assert savepoint is not None
    assert savepoint.step == stop
    assert train(resumed, batches, 4, tmp_path) == curve
    assert curve
    assert not changed(weights(whole), weights(resumed))


def test_the_encoder_gets_a_schedule_of_its_own() -> None:
    plain = tiny_params.optim(warmup_fraction=0.2)
    made = MaskedLM(BertForMaskedLM(tiny.config()), plain, 10, HEAD)
    rate = made.configure_optimizers()["lr_scheduler"]["scheduler"].lr_lambdas[0]
    assert [rate(step) for step in range(HEAD)] == [optimizer.rate(plain, step, HEAD) for step in range(HEAD)]
    assert [rate(HEAD + step) for step in range(10)] == [optimizer.rate(plain, step, 10) for step in range(10)]
