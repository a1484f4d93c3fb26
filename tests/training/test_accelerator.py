"""A step of every task type, option and objective on a pretended accelerator: nothing stays on the CPU, nothing waits.

`tests.support.pretended` says what fails there.
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from transformers import BertForMaskedLM, BertForPreTraining

from adaptbert.mlm.masked_lm import MaskedBatches, MaskedLM
from adaptbert.mlm.sentence_pairs import SentencePairs
from adaptbert.model import attention
from adaptbert.model.to_device import HostCopy
from adaptbert.runtime.progress import Progress
from adaptbert.tasks import heads
from adaptbert.tasks.module import FineTuning
from adaptbert.training import loop
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.monitor import Monitor, Numbers
from adaptbert.training.ranks import Ranks
from adaptbert.training.savepoints import Savepoints
from tests.support import pretended, short_runs, tiny, tiny_params, tiny_tasks
from tests.support.short_runs import STEPS, LoggedRun, first_batch, model_of

OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "usual": ({}, {}),
    "crf": ({"decoder": "crf"}, {}),
    "windows": ({"long_text": "windows", "stride": 20}, {}),
    "class_weights": ({}, {"weights": [1.0, 2.0]}),
}
"""Of the shape, and of the run."""


def takes(kind: str, target: str, option: str) -> bool:
    return {
        "crf": kind == "sequence_labelling",
        "windows": kind == "single_sentence",
        "class_weights": target in ("class", "labels"),
    }.get(option, True)


CASES = [(*pair, option) for pair in tiny_tasks.KINDS for option in OPTIONS if takes(*pair, option)]


Apart = Callable[..., Any]


@pytest.fixture(scope="module")
def there() -> Iterator[Apart]:
    """Calls a function where the pretended accelerator is."""
    with pretended.apart() as call:
        yield call


def fine_tuned(kind: str, target: str, option: str) -> dict[str, int]:
    of_shape, of_run = OPTIONS[option]
    described, options = tiny_tasks.described(kind, target), tiny_tasks.options(kind, **of_shape)
    shape = heads.head_of(described, options, of_run.get("weights"))
    model = model_of(shape)
    trained = shape.extend(model)
    module = FineTuning(model, trained, tiny_params.optim(), STEPS)
    return dict(pretended.step(module, first_batch(trained, kind, target=target)))


@pytest.mark.parametrize(("kind", "target", "option"), CASES, ids=str)
def test_fine_tuning(there: Apart, kind: str, target: str, option: str) -> None:
    assert there(fine_tuned, kind, target, option)["_fused_adamw_"] > 0


def masked(folder: Path, objective: str, layers: int = 2, flat: bool = False) -> dict[str, int]:
    """The operations of a step.

    Args:
        flat: as on a CUDA device, where FlashAttention is used.
    """
    corpus = tiny.corpus(folder / "domain", "domain", 60)
    pairs = None if objective == "none" else SentencePairs(corpus, objective, 0, 64)
    stream = DocumentStream(corpus.lengths if pairs is None else pairs.lengths, 0, 300)
    batch = MaskedBatches(corpus, stream, tiny_params.masker(), 64, pairs=pairs)(0)
    model = (BertForMaskedLM if pairs is None else BertForPreTraining)(tiny.config(0.1, num_hidden_layers=layers))
    with mock.patch.object(attention, "flash_fits", return_value=flat):
        return dict(pretended.step(MaskedLM(model, tiny_params.optim(), 10), batch))


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("objective", ["none", "nsp", "sop"])
def test_masked_lm(there: Apart, tmp_path: Path, objective: str, flat: bool) -> None:
    counts = there(masked, tmp_path, objective, 2, flat)
    assert counts["_fused_adamw_"] > 0
    assert counts.get("_flash_attention_forward", 0) == 2 * flat


def averaged(tensors: int) -> tuple[dict[str, int], list[str]]:
    """The operations of a mean over three ranks, and the kinds of sum that were asked of the other ranks."""
    kinds: list[str] = []
    with pretended.pretended() as device, pretended.Operations() as operations:
        gradients = [torch.empty(2, number, device=device.device) for number in range(1, 1 + tensors)]
        with mock.patch("torch.distributed.all_reduce", side_effect=lambda _, kind="SUM": kinds.append(str(kind))):
            Ranks(0, 3).mean(gradients)
    return dict(operations.counts), kinds


def test_the_mean_of_gradients_takes_as_many_operations_for_many_as_for_few(there: Apart) -> None:
    few, kinds = there(averaged, 2)
    assert there(averaged, 50) == (few, kinds)
    assert few["cat"] == few["_foreach_copy_"] == 1
    assert kinds == ["RedOpType.AVG"]


CASTS = "_to_copy"
OF_A_LAYER = {
    "add": 4, "native_layer_norm": 2, "native_dropout": 2, "cat": 2, CASTS: 22, "addmm": 4, "gelu": 1, "sum": 4,
    "mm": 8, "native_layer_norm_backward": 2, "gelu_backward": 1, "native_dropout_backward": 2, "stack": 1,
    "_flash_attention_forward": 1, "_flash_attention_backward": 1,
}  # fmt: skip
"""Forward and backward, with FlashAttention and dropout. A GPU takes some microseconds for each, whatever its size."""
OF_A_STEP = 60
"""Besides the layers: embeddings, head, loss, clipping and optimizer."""


def test_operations_of_a_step(there: Apart, tmp_path: Path) -> None:
    few, many = (there(masked, tmp_path / f"{layers}", "none", layers, True) for layers in (2, 4))
    for counts in (few, many):
        del counts["zeros_like"]  # the optimizer's state, made in the first step
    grown = {name: (many[name] - few.get(name, 0)) / 2 for name in many if many[name] != few.get(name, 0)}
    assert grown == OF_A_LAYER
    assert sum(few.values()) - 2 * sum(OF_A_LAYER.values()) < OF_A_STEP


LAST = 25


def waits(folder: Path, sabotage: str = "") -> tuple[list[int], list[int]]:
    """The steps after which the processor waited for the device, and those that were logged.

    A whole run: gradients, logging and a savepoint at the end, as `fit` has them. What the product waits for is copied
    before (`HostCopy`), so here it gets ones; every other way to a value fails.
    """
    module, batch = short_runs.made()
    plan = TrainingArguments(LAST, 1, 1.0, "bf16-mixed", 0, "train/loss")
    waited, run = [], LoggedRun()

    def ones(copy: HostCopy) -> list[torch.Tensor]:
        waited.append(monitor.step)
        with unset_fake_temporarily():
            return [torch.ones(tensor.shape) for tensor in copy._copies]

    spoilt = {
        "": contextlib.nullcontext(),
        "logging": mock.patch.object(Numbers, "add", lambda _self, _step, norm, _losses: float(norm)),
        "saving": mock.patch(
            "adaptbert.training.monitor._largest", lambda weights: [bool(w.isfinite().all()) for w in weights]
        ),
    }[sabotage]
    # The progress line waits when a second has passed, here at another step each time.
    quiet = mock.patch.object(Progress, "is_due", return_value=False)
    with pretended.pretended() as device, mock.patch.object(HostCopy, "tensors", ones), quiet, spoilt:
        moved = device.moved(batch(0))
        optimizer = device.placed(module).configure_optimizers()["optimizer"]  # type: ignore[operator]
        module._device = device.device
        monitor = Monitor(plan, run, {}, Savepoints(folder))
        steps = loop._Steps(loop._Job(module, batch, plan, 0, {}, 1, frozenset()), Ranks(), range(LAST), monitor)
        trainer: Any = SimpleNamespace(accumulate_grad_batches=1, optimizers=[optimizer], should_stop=False)
        with monitor.closing():
            for k in range(LAST):
                loss = module.training_step(moved, k)
                loss.backward()
                steps.on_before_optimizer_step(trainer, module, optimizer)
                optimizer.step()
                optimizer.zero_grad()
                steps.on_train_batch_end(trainer, module, {"loss": loss}, moved, k)
    return waited, [step for name, _, step in run.metrics if name == "train/loss"]


def test_logging_and_savepoints_hardly_wait(there: Apart, tmp_path: Path) -> None:
    """At 20 for the interval that ended at 10; at the end for both that are left, and for the savepoint."""
    assert there(waits, tmp_path) == ([20, LAST, LAST, LAST], [10, 20, LAST])
    (saved,) = tmp_path.glob("*.safetensors")
    assert saved.name.startswith(f"000000{LAST}-")


@pytest.mark.parametrize("sabotage", ["logging", "saving"])
def test_a_wait_in_them_is_noticed(there: Apart, tmp_path: Path, sabotage: str) -> None:
    assert there(pretended.mistake, waits, tmp_path, sabotage) == "DataDependentOutputException"


class Mistaken(FineTuning):
    """Reads its loss, leaves out places by their values, or makes a tensor without a device."""

    mistake = ""

    def training_step(self, batch: Any, k: int) -> torch.Tensor:
        loss = super().training_step(batch, k)
        if self.mistake == "waits":
            return loss * 2 if loss > 0 else loss
        if self.mistake == "chooses":
            return loss + batch.ids[batch.ids > 0].sum()
        return loss + torch.ones(100)[batch.ids].sum() if self.mistake == "forgets" else loss


def sabotaged(mistake: str) -> None:
    shape = tiny_tasks.head_of("single_sentence")
    module = Mistaken(model_of(shape), shape, tiny_params.optim(), STEPS)
    module.mistake = mistake
    pretended.step(module, first_batch(shape, "single_sentence"))


@pytest.mark.parametrize(
    ("mistake", "error"),
    [
        ("", "none"),
        ("waits", "DataDependentOutputException"),
        ("chooses", "DynamicOutputShapeException"),
        ("forgets", "RuntimeError"),
    ],
)
def test_a_mistake_is_noticed(there: Apart, mistake: str, error: str) -> None:
    assert there(pretended.mistake, sabotaged, mistake) == error
