"""Batches and loss: what is counted, what heads learn, what the warm-up of a head trains, resume; test_parity.py
compares the loss with that of the stock model."""

import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional
from transformers import BertConfig, BertForMaskedLM, BertForPreTraining, BertLMHeadModel

from adaptbert.config.schema.mlm import SentenceObjective
from adaptbert.mlm.masked_lm import (
    CHOSEN_STEP,
    PAIR_PARTS,
    MaskedBatches,
    MaskedLM,
)
from adaptbert.mlm.token_loss import NO_ANSWER
from adaptbert.model.encoder import scores_with_spare_columns, token_scores
from adaptbert.model.optimizer import Optimization
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.token_writer import write
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from tests.support import tiny, tiny_params
from tests.support.short_runs import Stop, changed, masked_batches, masked_lm, until, weights

HEAD = 4


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


def test_spare_columns_of_a_decoder_without_a_bias() -> None:
    """As EuroBERT's, and ModernBERT's if `decoder_bias` is false."""
    hidden, decoder = torch.randn(7, 16), torch.nn.Linear(16, 13, bias=False)
    torch.testing.assert_close(scores_with_spare_columns(decoder, hidden), decoder(hidden))


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


@pytest.mark.parametrize("objective", ["nsp", "sop"])
def test_the_parts_of_the_loss(corpus: TokenizedCorpus, objective: SentenceObjective) -> None:
    """Losses of pairs are the stock model's, pair by pair; the sum is compared in test_parity.py."""
    torch.manual_seed(0)
    stock, batch = (
        BertForPreTraining(tiny.config(0.0, initializer_range=0.3)),
        masked_batches(corpus, 900, objective)(0),
    )
    parts = MaskedLM(stock, Optimization(tiny_params.optim(), 1)).training_step(batch, 0)
    assert isinstance(parts, dict)
    assert batch.pairs is not None
    scores, borders = [], batch.rows.bounds[1:-1].tolist()
    texts = zip(batch.ids.tensor_split(borders), batch.pairs.segments.tensor_split(borders), strict=True)
    for ids, segments in texts:
        if segments.any():
            scores.append(stock(ids[None], token_type_ids=segments[None]).seq_relationship_logits[0])
    logits, labels = torch.stack(scores), batch.pairs.labels
    torch.testing.assert_close(parts["train/sentence_loss"], torch.nn.functional.cross_entropy(logits, labels))
    assert 0 < parts["train/sentence_accuracy"] == (logits.argmax(-1) == labels).float().mean() < 1
    torch.testing.assert_close(parts["loss"], parts["train/mlm_loss"] + parts["train/sentence_loss"])


# ---- the warm-up of a head


def warmed(steps: int, kind: Any = BertForMaskedLM) -> MaskedLM:
    torch.manual_seed(0)
    return MaskedLM(kind(tiny.config()), Optimization(tiny_params.optim(), steps, HEAD))


def with_warm_up(batches: MaskedBatches) -> MaskedBatches:
    """Two micro-batches a step."""
    return replace(batches, head_count=2 * HEAD)


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
def test_a_stopped_run_goes_on_with_equal_bits(corpus: TokenizedCorpus, stop: int, tmp_path: Path) -> None:
    """Within, at the end of and after the warm-up, where the optimizer has no means of the encoder yet or they just
    begin; with pairs of sentences: the weights, and the parts of the loss on the curve."""
    batches = with_warm_up(masked_batches(corpus, 150, "nsp"))
    whole, cut, resumed = (warmed(4, BertForPreTraining) for _ in range(3))
    curve = train(whole, batches, 4)
    train(cut, until(batches, 2 * stop), 4, tmp_path)
    savepoint = Savepoints(tmp_path).latest()
    assert savepoint is not None
    assert savepoint.step == stop
    assert train(resumed, batches, 4, tmp_path) == curve
    assert curve
    assert not changed(weights(whole), weights(resumed))


def test_batches_are_the_same_in_another_process(corpus: TokenizedCorpus) -> None:
    """They are sent there; with pairs as well."""
    for batches in (with_warm_up(masked_batches(corpus, 150)), masked_batches(corpus, 150, "nsp")):
        for k in (0, 2 * HEAD, 9):
            sent = pickle.loads(pickle.dumps(batches))(k)  # noqa: S301
            assert torch.equal(sent.ids, batches(k).ids)
            assert sent.head_only is batches(k).head_only


def test_fewer_tokens_are_masked_while_the_rate_falls(corpus: TokenizedCorpus) -> None:
    """From the first micro-batch of the decay phase on; those that are still masked are masked as they were."""
    masking = {"probability": 0.4, "unit": "word"}
    values: dict[str, Any] = {"steps": 10, "schedule": "wsd", "decay_fraction": 0.3, "global_batch_tokens": 256}
    usual, lowered = (
        MaskedBatches.of(params, corpus, tiny.tokenizer(), 64, 0, Optimization(params, 10, 2), 256 // 128)
        for params in (
            tiny_params.step(**values, masking=masking),
            tiny_params.step(**values, masking=masking | {"decay_probability": 0.1}),
        )
    )
    for k in range(24):
        one, other = usual(k), lowered(k)
        if k < 2 * (2 + 7):
            assert torch.equal(one.ids, other.ids)
            continue
        chosen = [set(batch.chosen[batch.expected != NO_ANSWER].tolist()) for batch in (one, other)]
        assert chosen[1] < chosen[0]
        masked = sorted(chosen[1])
        assert torch.equal(one.ids[masked], other.ids[masked])


def test_causal_training_is_that_of_a_decoder(corpus: TokenizedCorpus) -> None:
    """The loss is that of the stock class as a decoder, for each token that could be masked, from those before it."""
    batches, module = replace(masked_batches(corpus, 300), causal_ends=1), masked_lm(1, 0.0)
    decoder = BertLMHeadModel(BertConfig(**module.model.config.to_dict() | {"is_decoder": True}))
    decoder.load_state_dict(module.model.state_dict())
    batch, maskable, losses = batches(0), tiny.tokenizer().maskable, []
    assert batch.causal
    for ids in torch.tensor_split(batch.ids, batch.rows.bounds[1:-1].tolist()):
        logits = decoder(input_ids=ids[None]).logits[0, :-1]
        each = functional.cross_entropy(logits, ids[1:], reduction="none")
        losses += each[torch.from_numpy(maskable[ids[1:].numpy()])].tolist()
    assert batch.counts["predicted"] == len(losses)
    loss = module.training_step(batch, 0)
    assert isinstance(loss, torch.Tensor)
    assert loss.item() == pytest.approx(sum(losses) / len(losses), abs=1e-5)
    assert not batches(1).causal
    assert torch.equal(batches(1).ids, masked_batches(corpus, 300)(1).ids)
