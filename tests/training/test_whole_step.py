"""The gradient of an optimizer step is that of its whole batch, however many micro-batches and devices share it."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import pytest
import pytorch_lightning as pl
import torch

from adaptbert.tasks.batches import LabelledBatches
from adaptbert.tasks.texts import Texts
from adaptbert.training import loop
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.micro_batches import Batches, CountedBatches, MicroBatch
from adaptbert.training.monitor import Monitor
from adaptbert.training.ranks import Ranks, joined, started
from tests.support import short_runs, tiny
from tests.support.short_runs import flat_weights, masked_batches, masked_lm

PARTS = 4
TOKENS, EXAMPLES = 600, 32
"""The size of an optimizer step."""
RATE = 0.5
Made = tuple[pl.LightningModule, Callable[[int], Batches]]
"""A module, and the batches of a step in so many parts."""


def masked(folder: Path, objective: Any) -> Made:
    corpus = tiny.corpus(folder, "domain", 60)
    return masked_lm(1, 0.0, objective), lambda parts: masked_batches(corpus, TOKENS // parts, objective)


def causal(folder: Path) -> Made:
    module, batches = masked(folder, "none")
    return module, lambda parts: replace(batches(parts), causal_ends=parts)  # type: ignore[type-var]


def labelled(folder: Path, kind: str, target: str, weights: list[float] | None = None, **options: Any) -> Made:
    module, batches = short_runs.made(kind, target, options, weights, dropout=0.0)
    for dropout in (each for each in module.modules() if isinstance(each, torch.nn.Dropout)):
        dropout.p = 0.0
    if weights is not None:
        assert isinstance(module.head, Texts)
        module.head._placed[torch.device("cpu")] = torch.tensor(weights, dtype=torch.float64)
    examples = batches._examples
    return module, lambda parts: LabelledBatches(examples, 3, EXAMPLES // parts, 64)


CASES: dict[str, Callable[[Path], Made]] = {
    "masked LM": lambda folder: masked(folder, "none"),
    "causal LM": lambda folder: causal(folder),
    "masked LM and pairs": lambda folder: masked(folder, "nsp"),
    "text classification with class weights": lambda _: labelled(_, "single_sentence", "class", [0.3, 1.9]),
    "multi-label with class weights": lambda _: labelled(_, "single_sentence", "labels", [0.3, 1.9]),
    "regression": lambda _: labelled(_, "sentence_pair", "number"),
    "NER": lambda _: labelled(_, "sequence_labelling", "spans"),
    "NER with a CRF": lambda _: labelled(_, "sequence_labelling", "spans", decoder="crf"),
    "question answering": lambda _: labelled(_, "extractive_answer", "answer"),
}
UNEVEN = {
    "masked LM": "chosen",
    "causal LM": "predicted",
    "masked LM and pairs": "pairs",
    "NER": "places",
    "NER with a CRF": "places",
}
"""What is counted, where micro-batches of one size differ in it."""


class Double(pl.LightningModule):
    """A module in float64, by plain gradient descent: after a step its weights are its gradient away."""

    def __init__(self, inner: pl.LightningModule) -> None:
        super().__init__()
        self.inner = inner.double()

    def training_step(self, batch: MicroBatch, k: int) -> Any:
        whole = batch.each(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)
        with in_double():
            return self.inner.training_step(whole, k)

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.SGD(self.parameters(), lr=RATE, fused=True)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


@contextmanager
def in_double() -> Iterator[None]:
    """Where float32 is asked for, float64."""
    other = SimpleNamespace(**{**vars(torch), "float32": torch.float64})
    with (
        mock.patch("adaptbert.model.encoder.torch", other),
        mock.patch.object(torch.Tensor, "float", torch.Tensor.double),
    ):
        yield


class Trained(NamedTuple):
    """The gradient of an optimizer step, and the loss that is logged; rank 0 alone knows that."""

    gradient: torch.Tensor
    loss: float


def trained(case: str, parts: int, ranks: Ranks = Ranks()) -> Trained:  # noqa: B008 - it is frozen
    """An optimizer step of so many micro-batches, by the loop of `fit`."""
    with TemporaryDirectory() as folder:
        inner, batches = CASES[case](Path(folder) / "text")
        module = Double(inner)
        before = flat_weights(module)
        plan = TrainingArguments(1, parts, 1e9, "32-true", 0, "train/loss")
        job = loop._Job(module, batches(parts), plan, 0, {}, torch.get_num_threads(), frozenset())
        monitor = Monitor(plan, tiny.no_record(), {1: lambda _: {}}, None) if ranks.rank == 0 else None
        loop._train(job, ranks, monitor)
        loss = monitor.fitted(module).curve[0]["train/loss"] if monitor else math.nan
    return Trained((before - flat_weights(module)) / RATE, loss)


def follow(rank: int, world: int, store: str) -> None:
    with joined(rank, world, store) as ranks:
        for case in CASES:
            trained(case, PARTS, ranks)


@pytest.fixture(scope="module")
def whole() -> dict[str, Trained]:
    return {case: trained(case, 1) for case in CASES}


def assert_equal(parts: Trained, whole: Trained) -> None:
    """The loss is logged in float32."""
    bound = 1e-12 * float(whole.gradient.abs().max())
    torch.testing.assert_close(parts.gradient, whole.gradient, rtol=0, atol=bound)
    assert parts.loss == pytest.approx(whole.loss, rel=1e-6)


def test_micro_batches(whole: dict[str, Trained], tmp_path: Path) -> None:
    for case, expected in whole.items():
        assert float(expected.gradient.norm()) > 1e-3
        assert_equal(trained(case, PARTS), expected)
        batches = CASES[case](tmp_path / case)[1](PARTS)
        assert case not in UNEVEN or len({batches(k).counts[UNEVEN[case]] for k in range(PARTS)}) > 1


def test_two_devices(whole: dict[str, Trained]) -> None:
    with started(2, follow) as ranks:
        for case, expected in whole.items():
            assert_equal(trained(case, PARTS, ranks), expected)


def test_the_comparison_sees_the_mean_of_means(whole: dict[str, Trained], monkeypatch: pytest.MonkeyPatch) -> None:
    def by_itself(batches: CountedBatches) -> Iterator[list[MicroBatch]]:
        return iter(batches.steps)

    monkeypatch.setattr(CountedBatches, "__iter__", by_itself)
    for case in UNEVEN:
        with pytest.raises(AssertionError):
            assert_equal(trained(case, PARTS), whole[case])
