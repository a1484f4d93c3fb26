"""Training with a question on sentence pairs: what heads learn, resume, what is saved; test_parity.py has its loss."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForPreTraining, BertForMaskedLM, BertForPreTraining

from adaptbert.config.schema.mlm import SentenceObjective
from adaptbert.mlm.batch_schedule import ScheduledBatches
from adaptbert.mlm.length_schedule import ShortDocuments
from adaptbert.mlm.masked_lm import PAIR_PARTS, MaskedBatches, MaskedLM
from adaptbert.mlm.sentence_pairs import SentencePairs
from adaptbert.model import checkpoint
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.text.token_store import Documents, Flat
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from tests.support import short_runs, tiny, tiny_params
from tests.support.numbered import Numbered
from tests.support.short_runs import Stop, changed, until, weights


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
    steps, corpus = 300, Telling(objective)
    torch.manual_seed(0)
    pairs = SentencePairs(corpus, objective, 0, 64)
    batches = MaskedBatches(corpus, DocumentStream(pairs.lengths, 0, 512), tiny_params.masker(), 64, pairs=pairs)
    module = MaskedLM(BertForPreTraining(tiny.config(0.0)), tiny_params.optim(), steps)
    plan = TrainingArguments(steps, 1, 1.0, "32-true", 0, "train/loss", PAIR_PARTS)
    curve = fit(module, batches, plan, tiny.no_record(), {step: lambda _: {} for step in (50, 250, steps)}).curve
    assert curve[0]["train/sentence_accuracy"] == pytest.approx(0.5, abs=0.06)
    assert curve[-1]["train/sentence_accuracy"] == pytest.approx(best, abs=0.06)
    for point in curve:
        assert point["train/loss"] == pytest.approx(point["train/mlm_loss"] + point["train/sentence_loss"], abs=1e-5)


@pytest.mark.usefixtures("save_every_step")
def test_a_stopped_run_goes_on_with_equal_bits(tmp_path: Path) -> None:
    """Weights and the parts of the loss on the curve, over short pieces first and whole documents then."""
    corpus = tiny.corpus(tmp_path / "domain", "domain", 60)

    def batches(documents: Documents, block: int) -> MaskedBatches:
        pairs = SentencePairs(documents, "nsp", 0, block)
        return MaskedBatches(documents, DocumentStream(pairs.lengths, 0, 150), tiny_params.masker(), block, pairs=pairs)

    both = ScheduledBatches(batches(corpus, 64), batches(ShortDocuments(corpus, 16), 16), 6)
    sent = pickle.dumps(both)  # to the process of another device
    assert len(sent) < 10_000
    for k in (0, 5, 6, 9):
        assert torch.equal(pickle.loads(sent)(k).ids, both(k).ids)  # noqa: S301

    def run(folder: Path, stop: int | None = None) -> tuple[list[dict[str, float]], dict[str, torch.Tensor]]:
        torch.manual_seed(0)
        module = MaskedLM(BertForPreTraining(tiny.config()), tiny_params.optim(), 6)
        plan, points = replace(short_runs.plan(6), parts=PAIR_PARTS), dict.fromkeys([4, 6], lambda _: {})
        curve = fit(module, until(both, stop), plan, tiny.no_record(), points, Savepoints(folder)).curve
        return curve, weights(module)

    curve, whole = run(tmp_path / "whole")
    with pytest.raises(Stop):
        run(tmp_path / "cut", stop=5)
    savepoint = Savepoints(tmp_path / "cut").latest()
    assert savepoint is not None
    assert savepoint.step == 2
    again, resumed = run(tmp_path / "cut")
    assert again == curve
    assert set(PAIR_PARTS) < set(curve[0])
    assert not changed(whole, resumed)


def test_what_is_saved_opens_as_bert_with_both_heads(tmp_path: Path) -> None:
    start = tiny.pretrained(tmp_path / "plain")
    model = start.model(BertForPreTraining, 7)
    again = start.model(BertForPreTraining, 7)
    assert torch.equal(model.cls.seq_relationship.weight, again.cls.seq_relationship.weight), "drawn with the seed"
    checkpoint.save(tmp_path / "pairs", model, tiny.tokenizer(), tiny.card("pretrain"))
    opened, info = AutoModelForPreTraining.from_pretrained(str(tmp_path / "pairs"), output_loading_info=True)
    assert isinstance(opened, BertForPreTraining)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert torch.equal(opened.cls.seq_relationship.weight, model.cls.seq_relationship.weight)
    bert = AutoModel.from_pretrained(str(tmp_path / "pairs"))
    assert torch.equal(bert.pooler.dense.weight, model.bert.pooler.dense.weight)
    without = Checkpoint.load(tmp_path / "pairs").model(BertForMaskedLM, 7)
    assert torch.equal(without.cls.predictions.bias, model.cls.predictions.bias)
