"""Padded micro-batches: few sizes in a run, operations of one kind each, and the results of those without padding."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from adaptbert.mlm.masked_lm import MaskedBatches
from adaptbert.model.encoder import Tokens, document_scores, way_of
from adaptbert.model.packing import pack
from adaptbert.model.proof import prepare
from adaptbert.tasks.batches import LabelledBatches
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.graphs import size_of
from adaptbert.training.micro_batches import Batches, MicroBatch
from adaptbert.training.padding import FEW, SIDE, Padding
from tests.support import short_runs, tiny, tiny_tasks
from tests.support.encoders import NAMED
from tests.support.pretended_device import without_autocast, without_rows
from tests.support.short_runs import masked_batches, masked_lm
from tests.training.test_accelerator import META

COUNT = 40
TASKS = [case for case in tiny_tasks.KINDS if case[0] != "extractive_answer"]


def masked(folder: Path, tokens: int = 300) -> MaskedBatches:
    return masked_batches(tiny.corpus(folder, "domain", 200), tokens)


def static(batches: Any) -> Any:
    """The same batches, padded."""
    if isinstance(batches, MaskedBatches):
        return replace(batches, padding=Padding.of_stream(batches.stream))
    return LabelledBatches(batches._examples, 3, 8, 64, is_static=True)


# ---- sizes


@given(st.lists(st.integers(1, 300), min_size=1, max_size=60), st.integers(0, 5000), st.integers(0, 80))
@settings(max_examples=200, deadline=None)
def test_the_layout_of_any_documents(lengths: list[int], least_tokens: int, least_documents: int) -> None:
    """The documents as they are, then at least one token of padding in documents no longer than the longest."""
    longest, real = max(lengths), sum(lengths)
    rows = Padding(longest, least_tokens // SIDE * SIDE, least_documents // FEW * FEW).rows(np.array(lengths))
    sizes, tokens = np.diff(rows.bounds), len(rows.positions)
    assert sizes[: len(lengths)].tolist() == lengths
    assert tokens > real
    assert sizes.sum() == tokens
    assert sizes.max() == longest == rows.longest
    assert rows.positions.tolist() == [place for size in sizes for place in range(size)]
    assert (tokens % SIDE, len(sizes) % FEW) == (0, 0)


@pytest.mark.parametrize("spread", [0.0, 0.6, 1.2])
def test_one_size_serves_a_run_of_masked_lm(spread: float) -> None:
    """Of 2,000 micro-batches, with documents of one length and of very different ones, hardly any is larger."""
    draw = np.random.default_rng(0)
    lengths = np.clip(draw.lognormal(3.1, spread, 20_000).round().astype(np.int64), 4, 128)
    stream = DocumentStream(lengths, 0, 3 * 4096, 3)
    padding = Padding.of_stream(stream)
    sizes = [(len(rows.positions), len(rows.bounds)) for k in range(2000) for rows in [padding.rows(of(stream, k))]]
    assert len(set(sizes)) == 1
    assert sizes[0][0] <= 4096 + 128 + SIDE
    chosen = np.random.default_rng(1).binomial(4096, 0.15, 2000)
    assert len({padding.predicted(int(count), 0.15) for count in chosen}) == 1
    assert padding.predicted(4000, 0.15) >= 4000, "an overflow takes a larger size"


@pytest.mark.parametrize("documents", [8, 32, 256])
def test_few_sizes_serve_a_run_of_fine_tuning(documents: int) -> None:
    draw = np.random.default_rng(0)
    lengths = np.clip(draw.lognormal(3.1, 0.6, 20_000).round().astype(np.int64), 4, 128)
    stream, padding = DocumentStream(np.ones_like(lengths), 0, documents), Padding.of_documents(lengths, documents)
    rows = [padding.rows(lengths[stream.batch(k)[0]]) for k in range(2000)]
    sizes = [(len(each.positions), len(each.bounds)) for each in rows]
    usual = {size for size in set(sizes) if sizes.count(size) > 20}
    assert len(usual) <= 6
    assert len(set(sizes)) <= 8
    real = sum(int(each.bounds[documents]) for each in rows)
    assert real / sum(tokens for tokens, _ in sizes) > (0.8 if documents > 8 else 0.7)


def of(stream: DocumentStream, k: int) -> Any:
    return stream.lengths[stream.batch(k)[0]]


# ---- operations


class Trace(TorchDispatchMode):
    """All operations with the shapes, strides and types of their tensors, and all other arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        def shown(value: Any) -> Any:
            return (value.shape, value.stride(), value.dtype) if isinstance(value, Tensor) else value

        if "profiler" not in str(function):
            self.operations.append(f"{function} {tree_map(shown, (arguments, keywords))}")
        return function(*arguments, **(keywords or {}))


def traces(module: Any, batches: Batches) -> int:
    """Different traces of forward and backward passes on a device without numbers, or different sizes."""
    module, found, sizes = module.to(META), set(), set()
    for k in range(COUNT):
        batch = batches(k).of_step(batches(k).counts, 1).to(META)
        sizes.add(size_of(batch))
        with Trace() as trace:
            loss = module.training_step(batch, 0)
            (loss["loss"] if isinstance(loss, dict) else loss).backward()
        module.zero_grad()
        found.add("\n".join(trace.operations))
    return max(len(found), len(sizes))


def test_traces_of_masked_lm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One; without padding, as many as there are micro-batches."""
    without_autocast(monkeypatch)
    monkeypatch.setattr("adaptbert.model.encoder.flash_fits", lambda *_: True)
    batches = masked(tmp_path)
    assert traces(masked_lm(10, 0.1), static(batches)) == 1
    assert traces(masked_lm(10, 0.1), batches) == COUNT


@pytest.mark.parametrize(("kind", "target"), TASKS)
def test_traces_of_fine_tuning(kind: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without_autocast(monkeypatch)
    monkeypatch.setattr("adaptbert.model.encoder.flash_fits", lambda *_: True)
    module, batches = short_runs.made(kind, target)
    assert 1 <= traces(module, static(batches)) <= 6
    assert traces(module, batches) > 20


# ---- results


def gradients(module: Any, batch: MicroBatch) -> tuple[float, Tensor]:
    loss = module.training_step(batch.of_step(batch.counts, 1), 0)
    loss.backward()
    flat = torch.cat([each.grad.flatten() for each in module.parameters() if each.grad is not None])
    module.zero_grad()
    return float(loss.detach()), flat


def assert_alike(module: Any, batches: Batches) -> None:
    """Padded micro-batches have the loss and the gradients of the others, and the same counts."""
    padded = static(batches)
    for k in range(4):
        (loss, expected), (again, actual) = gradients(module, batches(k)), gradients(module, padded(k))
        assert again == pytest.approx(loss, rel=2e-6)
        torch.testing.assert_close(actual, expected, rtol=0, atol=2e-6 * float(expected.abs().max()))
        assert padded(k).counts == batches(k).counts
        assert size_of(padded(k)) != size_of(batches(k))


def still(module: Any) -> Any:
    """The same without dropout."""
    for dropout in (each for each in module.modules() if isinstance(each, torch.nn.Dropout)):
        dropout.p = 0.0
    return module


def test_masked_lm_gives_what_it_gives_without_padding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_rows(monkeypatch)
    batches = masked(tmp_path)
    assert_alike(masked_lm(10, 0.0), batches)
    assert_alike(masked_lm(10, 0.0), replace(batches, causal_ends=4))


@pytest.mark.parametrize(("kind", "target"), TASKS)
def test_fine_tuning_gives_what_it_gives_without_padding(
    kind: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_rows(monkeypatch)
    module, batches = short_runs.made(kind, target)
    assert_alike(still(module), batches)


SABOTAGES: dict[str, Callable[[Any], Any]] = {
    "a target at the padding": lambda batch: replace(batch, targets=batch.targets.clamp(min=0)),
    "a divisor that counts the padding": lambda batch: replace(batch, counts={**batch.counts, "places": 999}),
}


@pytest.mark.parametrize("spoil", SABOTAGES.values(), ids=SABOTAGES)
def test_the_comparison_sees_what_is_wrong(spoil: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    without_rows(monkeypatch)
    module, batches = short_runs.made("sequence_labelling", "spans")
    padded = static(batches)
    monkeypatch.setattr("tests.training.test_padding.static", lambda _: lambda k: spoil(padded(k)))
    with pytest.raises(AssertionError):
        assert_alike(still(module), batches)


@pytest.mark.parametrize("name", ["roberta", "electra"])
def test_scores_of_texts_by_classes_of_transformers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their head reads all tokens of a text, none of the padding."""
    model = NAMED[name].model("sequence", num_labels=3).eval()
    prepare(model)
    assert way_of(model.base_model) == "packed"
    lengths = np.array([11, 9, 40, 10])
    ids = torch.randint(5, model.config.vocab_size - 5, (70,), generator=torch.Generator().manual_seed(0))
    expected = document_scores(model, pack(lengths, 70), Tokens(ids))
    without_rows(monkeypatch)
    rows = Padding.of_documents(lengths, 4).rows(lengths)
    filled = Tokens(functional.pad(ids, (0, len(rows.positions) - len(ids))))
    torch.testing.assert_close(document_scores(model, rows, filled, 4), expected, rtol=0, atol=2e-6)
