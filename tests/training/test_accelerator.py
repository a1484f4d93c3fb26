"""Steps of every task type, option and objective on a device without numbers: nothing stays on the CPU, nothing waits.

On torch's device `meta` tensors have shapes and types, and no values. So what would wait on a GPU fails there: reading
a value (`item`, `if tensor`), and a result whose shape depends on values (`nonzero`, a mask as an index). `OneDevice`
adds what a GPU refuses: tensors of two devices.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from adaptbert.model import attention
from adaptbert.runtime.progress import StatusLine
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.monitor import Monitor
from adaptbert.training.optimizer_step import OptimizerStep
from adaptbert.training.ranks import Ranks
from adaptbert.training.savepoints import Savepoints
from tests.support import short_runs, tiny, tiny_tasks
from tests.support.pretended_device import without_autocast
from tests.support.short_runs import LoggedRun, masked_batches, masked_lm

META = torch.device("meta")


class OneDevice(TorchDispatchMode):
    """Refuses an operation on tensors of two devices, but for numbers and copies."""

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        tensors = [leaf for leaf in tree_leaves((arguments, keywords)) if isinstance(leaf, Tensor) and leaf.dim()]
        if len({tensor.device for tensor in tensors}) > 1 and "copy" not in function.overloadpacket.__name__:
            raise RuntimeError(f"{function}: tensors of two devices")
        return function(*arguments, **(keywords or {}))


@pytest.fixture(autouse=True)
def autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    without_autocast(monkeypatch)


def step(module: Any, batch: Any) -> None:
    """Forward and backward."""
    module, moved = module.to(META), batch.to(META)
    with OneDevice():
        loss = module.training_step(moved, 0)
        loss = loss["loss"] if isinstance(loss, dict) else loss
        assert loss.device == META
        loss.backward()
        module.on_after_backward()


CASES: list[tuple[str, str, dict[str, Any], list[float] | None]] = [
    *((kind, target, {}, None) for kind, target in tiny_tasks.KINDS),
    *((kind, target, {}, [1.0, 2.0]) for kind, target in tiny_tasks.KINDS if target in ("class", "labels")),
    *((kind, target, {"decoder": "crf"}, None) for kind, target in tiny_tasks.KINDS if kind == "sequence_labelling"),
    ("single_sentence", "class", {"long_text": "windows", "stride": 20}, None),
]
"""Kind and target, options, class weights."""


@pytest.mark.parametrize(("kind", "target", "options", "weights"), CASES, ids=str)
def test_fine_tuning(kind: str, target: str, options: dict[str, Any], weights: list[float] | None) -> None:
    module, batches = short_runs.made(kind, target, options, weights)
    step(module, batches(0))


@pytest.mark.parametrize("is_flat", [False, True])
@pytest.mark.parametrize("objective", ["none", "nsp", "sop"])
def test_masked_lm(tmp_path: Path, objective: Any, is_flat: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In rows; and flat, as on a CUDA device, where FlashAttention is used."""
    monkeypatch.setattr(attention, "flash_fits", lambda *_: is_flat)
    corpus = tiny.corpus(tmp_path / "domain", "domain", 60)
    step(masked_lm(10, 0.1, objective), masked_batches(corpus, 300, objective)(0))


MISTAKES: dict[str, Callable[[Tensor, Any], Tensor]] = {
    "reads its loss": lambda loss, _: loss * 2 if loss > 0 else loss,
    "leaves out places by their values": lambda loss, batch: loss + batch.ids[batch.ids > 0].sum(),
    "makes a tensor without a device": lambda loss, batch: loss + torch.ones(100)[batch.ids].sum(),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_noticed(mistake: Callable[[Tensor, Any], Tensor]) -> None:
    module, batches = short_runs.made()
    forward = module.training_step
    module.training_step = lambda batch, k: mistake(forward(batch, k), batch)  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        step(module, batches(0))


LAST = 25


def test_logging_and_savepoints_hardly_wait(tmp_path: Path) -> None:
    """At 20 for the interval that ended at 10; at the end for both that are left, and for the savepoint.

    A whole run: gradients, logging and a savepoint at the end, as `fit` has them. What the product waits for is copied
    before (`HostCopy`), so here it gets ones; every other way to a value fails.
    """
    module, batch = short_runs.made()
    plan = TrainingArguments(LAST, 1, 1.0, "bf16-mixed", 0, "train/loss")
    waited, run = [], LoggedRun()

    class Ones:
        def __init__(self, tensors: list[Tensor]) -> None:
            self._shapes = [tensor.shape for tensor in tensors]

        def tensors(self) -> list[Tensor]:
            waited.append(monitor.step)
            return [torch.ones(shape) for shape in self._shapes]

    # The progress line waits when a second has passed, here at another step each time.
    quiet = mock.patch.object(StatusLine, "is_due", return_value=False)
    with quiet, mock.patch("adaptbert.training.monitor.HostCopy", Ones):
        moved, module = batch(0).to(META), module.to(META)
        monitor = Monitor(plan, run, {}, Savepoints(tmp_path))
        optimizer: Any = SimpleNamespace(
            step=lambda: None, zero_grad=lambda **_: module.zero_grad(), state_dict=lambda: {"state": {}}
        )
        step = OptimizerStep(module, plan, Ranks(), optimizer)
        with monitor.closing():
            for k in range(LAST):
                losses, norm = step([moved], [k])
                monitor.after_step(module, optimizer, 0.1, losses, norm, moved.counts)
    assert waited == [20, LAST, LAST, LAST]
    assert [step for name, _, step in run.metrics if name == "train/loss"] == [10, 20, LAST]
    (saved,) = tmp_path.glob("*.safetensors")
    assert saved.name.startswith(f"000000{LAST}-")
