"""The decoder at the masked positions, and what a batch counts; test_parity.py compares its loss."""

from pathlib import Path

import torch
from transformers import BertForMaskedLM

from adaptbert.mlm.masked_lm import CHOSEN_STEP, NO_ANSWER, scores_with_spare_columns
from adaptbert.text.corpus_writer import write
from adaptbert.text.token_store import TokenizedCorpus
from tests.support import tiny
from tests.support.short_runs import masked_batches, masked_lm


def test_spare_columns_change_no_score_and_no_gradient() -> None:
    """For GPUs; a vocabulary of 8 n + 5."""
    config = tiny.config(vocab_size=8 * (tiny.tokenizer().size // 8) + 5)
    torch.manual_seed(0)
    ours = BertForMaskedLM(config)
    ours.cls.predictions.decoder.bias.data.normal_()
    hidden, head = torch.randn(7, config.hidden_size, requires_grad=True), ours.cls.predictions
    expected, scores = head(hidden), scores_with_spare_columns(head, hidden)
    assert scores.shape == (7, config.vocab_size)
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
    batches = masked_batches(short, 8, probability=0.01)
    module = masked_lm(10, 0.0)
    losses = []
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
