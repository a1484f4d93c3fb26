"""Unpadded training is the stock model's training: for every head, step after step, in losses and gradients.

The stock side is transformers' own forward pass on one padded batch with an attention mask, all positions decoded and
its own loss, in fp32 without dropout. That the comparison would notice documents that see each other is shown too.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import BertForMaskedLM, BertForPreTraining

from adaptbert.mlm import masked_lm
from adaptbert.mlm.masked_lm import MaskedBatches, MaskedLM
from adaptbert.mlm.sentence_pairs import SentencePairs
from adaptbert.model.classes import class_of
from adaptbert.model.optimizer import Optimization
from adaptbert.model.packing import Rows, pack
from adaptbert.tasks import batches
from adaptbert.tasks.batches import LabelledBatches
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.head import TaskHead
from adaptbert.tasks.heads import head_of
from adaptbert.tasks.module import FineTuning
from adaptbert.tasks.texts import FOLDED
from adaptbert.training.document_stream import DocumentStream
from tests.support import tiny, tiny_params, tiny_tasks

STEPS = 20
LOSS, GRADIENT = 2e-6, 1e-6
BLOCK = tiny.MAX_LENGTH
OPTIM = tiny_params.optim(learning_rate=1e-3)
LONGEST = 40  # some rows of answers and tags are several windows
HEADS = ["masked_lm", "masked_lm with pairs", *tiny_tasks.KINDS]
IGNORED = -100


@dataclass(frozen=True)
class Head:
    """One head, twice.

    Attributes:
        ours: the module that `fit` trains.
        stock: the same weights in a model of transformers.
        batch: the k-th micro-batch, as `fit` asks for it.
        padded: the same for the stock model.
        apart: whether the stock model sees one example at a time: its loss of starts and ends takes in the padding.
    """

    ours: pl.LightningModule
    stock: Any
    batch: Callable[[int], Any]
    padded: Callable[[int], dict[str, torch.Tensor]]
    apart: bool = False

    def losses(self, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Ours and the stock model's."""
        mine = self.ours.training_step(self.batch(k), k)
        mine = mine["loss"] if isinstance(mine, dict) else mine
        assert isinstance(mine, torch.Tensor)
        batch = self.padded(k)
        if not self.apart:
            return mine, self.stock(**batch).loss
        losses = []
        for row, length in enumerate(batch["attention_mask"].sum(1).tolist()):
            one = {name: values[row : row + 1] for name, values in batch.items()}
            losses.append(self.stock(**{n: v[:, :length] if v.dim() == 2 else v for n, v in one.items()}).loss)
        return mine, torch.stack(losses).mean()


def padded(lengths: np.ndarray, **flat: np.ndarray | None) -> dict[str, torch.Tensor]:
    """Flat values of tokens, as one batch of rows of the longest."""
    fills = {"input_ids": tiny.tokenizer().pad, "labels": IGNORED}
    flat["attention_mask"] = np.ones(lengths.sum(), np.int64)
    return {
        name: pad_sequence(
            torch.as_tensor(values).split(lengths.tolist()), batch_first=True, padding_value=fills.get(name, 0)
        )
        for name, values in flat.items()
        if values is not None
    }


def masked_head(folder: Path, with_pairs: bool) -> Head:
    """With a sentence objective or without."""
    corpus = tiny.corpus(folder / "domain", "domain", 60)
    pairs = SentencePairs(corpus, "nsp", 0, BLOCK) if with_pairs else None
    stream, masker = DocumentStream((pairs or corpus).lengths, 0, 300), tiny_params.masker()

    def stock_batch(k: int) -> dict[str, torch.Tensor]:
        documents, passes = stream.batch(k)
        flat, read = pairs.read(documents, passes) if pairs else (corpus.read(documents), None)
        ids, chosen, _ = masker.mask(flat, documents, passes)
        labels = np.full(len(ids), IGNORED)
        labels[chosen] = flat.ids[chosen]
        if read is None:
            return padded(flat.lengths, input_ids=ids, labels=labels)
        answers = torch.full((len(documents),), IGNORED)
        answers[np.searchsorted(np.cumsum(flat.lengths), read.first.numpy(), side="right")] = read.labels
        batch = padded(flat.lengths, input_ids=ids, labels=labels, token_type_ids=read.segments.numpy())
        return {**batch, "next_sentence_label": answers}

    kind = BertForPreTraining if with_pairs else BertForMaskedLM
    return Head(
        MaskedLM(model(kind), Optimization(OPTIM, STEPS)),
        model(kind),
        MaskedBatches(corpus, stream, masker, BLOCK, pairs=pairs),
        stock_batch,
    )


def labelled_head(name: str, target: str) -> Head:
    head, rows = small(name, target, 60)
    examples = head.examples(rows, tiny.tokenizer(), LONGEST)
    examples = examples.labelled(head.targets(rows, examples))
    size = 16
    stream = DocumentStream(np.ones(len(examples), np.int64), 0, size)

    def stock_batch(k: int) -> dict[str, torch.Tensor]:
        chosen, _ = stream.batch(k)
        part = examples.take(chosen)
        assert part.targets is not None
        batch = padded(part.lengths, input_ids=part.ids, token_type_ids=part.segments)
        if name == "extractive_answer":
            return batch | positions(part)
        if name != "sequence_labelling":
            return batch | {"labels": torch.as_tensor(part.targets)}
        labels = np.full(len(part.ids), IGNORED)
        labels[part.flat_places()] = part.targets
        return batch | padded(part.lengths, labels=labels)

    kind, more = class_of(tiny.config(), head.head), head.config()
    return Head(
        FineTuning(model(kind, **more), head, OPTIM, STEPS),
        model(kind, **more),
        LabelledBatches(examples, 0, size, BLOCK),
        stock_batch,
        apart=name == "extractive_answer",
    )


def small(name: str, target: str, count: int) -> tuple[TaskHead, list[dict[str, Any]]]:
    """A shape and rows for it; numbers between 0 and 1, so that differences of losses mean the same everywhere."""
    rows = tiny_tasks.labelled("domain", name, count, 1, target)
    if target != "number":
        return tiny_tasks.head_of(name, target), rows
    task = tiny_tasks.described(name, target, range=list(FOLDED))
    return head_of(task, tiny_tasks.options(name)), [{**row, "value": (row["value"] - 100) / 70} for row in rows]


def positions(part: Examples) -> dict[str, torch.Tensor]:
    """Where answers start and end in each window; all tokens are places."""
    assert part.targets is not None
    targets = np.split(part.targets, np.cumsum(part.counts)[:-1])
    start, end = (torch.as_tensor([int(inputs[:, side].argmax()) for inputs in targets]) for side in (0, 1))
    return {"start_positions": start, "end_positions": end}


def model(kind: Any, **more: Any) -> Any:
    """Without dropout; weights large enough for attention to matter, with the usual 0.02 a leak would hardly show."""
    torch.manual_seed(0)
    return kind(tiny.config(0.0, classifier_dropout=0.0, initializer_range=0.15, **more)).train()


@pytest.fixture
def head(request: pytest.FixtureRequest, tmp_path: Path) -> Head:
    if isinstance(request.param, str):
        return masked_head(tmp_path, with_pairs="pairs" in request.param)
    return labelled_head(*request.param)


def gradients(module: Any) -> dict[str, torch.Tensor]:
    return {name: parameter.grad for name, parameter in module.named_parameters() if parameter.grad is not None}


def one_document(lengths: np.ndarray, block_size: int) -> Rows:
    """Rows in which all documents see each other."""
    rows = pack(lengths, block_size)
    return replace(rows, documents=np.where(rows.documents < 0, -1, 0))


@pytest.mark.parametrize("head", HEADS, indirect=True, ids=str)
def test_losses_agree_over_a_run_and_gradients_at_its_start(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each side goes its own way, with its own gradients and its own optimizer."""
    with monkeypatch.context() as leaky:
        for module in (masked_lm, batches):
            leaky.setattr(module, "pack", one_document)
        loss, expected = head.losses(0)
        assert abs(loss.item() - expected.item()) > 50 * LOSS, "documents that see each other are noticed"
    ours = head.ours.configure_optimizers()["optimizer"]  # type: ignore[index, call-overload]
    stock = type(ours)([{**group, "params": []} for group in ours.param_groups])
    mine, theirs = dict(head.ours.model.named_parameters()), dict(head.stock.named_parameters())  # type: ignore
    names = {id(parameter): name for name, parameter in mine.items()}
    for group, own in zip(stock.param_groups, ours.param_groups, strict=True):
        group["params"] = [theirs[names[id(parameter)]] for parameter in own["params"]]
    losses = []
    for k in range(STEPS):
        for optimizer in (ours, stock):
            optimizer.zero_grad()
        loss, expected = head.losses(k)
        loss.backward()
        expected.backward()
        losses.append(expected.item())
        assert loss.item() == pytest.approx(losses[-1], abs=LOSS), f"step {k}"
        if k == 0:
            got, due = gradients(head.ours.model), gradients(head.stock)
            assert got.keys() == due.keys()
            for name in due:
                torch.testing.assert_close(got[name], due[name], atol=GRADIENT, rtol=0, msg=name)
        for optimizer in (ours, stock):
            optimizer.step()
    assert losses[-1] < losses[0] - min(0.05, losses[0] / 4), "something was learnt, so the steps did differ"
