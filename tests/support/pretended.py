"""An accelerator that is not there: steps of training run on it without numbers, so that mistakes of a GPU path show.

torch's backend of user devices (PrivateUse1) is registered under the name `pretended`. Its tensors are fake: they have
a shape, a type and a device, and no values. So these fail, as on a GPU they would fail or wait:

- an operation on tensors of two devices: a tensor was left on the CPU;
- reading a value (`item`, `tolist`, `if tensor`), and a result whose shape depends on values (`nonzero`, a mask as an
  index): the processor would wait for the device.

Torch counts its devices at the first backward pass of a process, so all of this happens in a process of its own.
"""

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from adaptbert.model import to_device

NAME = "pretended"


class _Device:
    """What torch asks of the module of a backend."""

    _is_in_bad_fork = staticmethod(lambda: False)
    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 1)
    current_device = staticmethod(lambda: 0)
    manual_seed_all = staticmethod(lambda _seed: None)
    get_amp_supported_dtype = staticmethod(lambda: [torch.bfloat16])


@cache
def _registered() -> tuple[torch.device, torch.library.Library]:
    """The device; once a process. Autocast has no rules for it, as the encoder casts by itself."""
    backend_registration._setup_privateuseone_for_python_backend(NAME, backend_module=_Device())
    rules = torch.library.Library("_", "IMPL", "AutocastPrivateUse1")
    rules.fallback(torch.library.fallthrough_kernel)
    return torch.device(NAME, 0), rules


COPIES = ("copy_", "_to_copy")


class Operations(TorchDispatchMode):
    """Counts the operations that a device would be told to do, by name; views and questions cost it nothing."""

    FREE = ("view", "_unsafe_view", "alias", "detach", "expand", "unsqueeze", "select", "slice", "split", "unbind", "t")
    FREE += ("transpose", "permute", "device")

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        name = function.overloadpacket.__name__
        tensors = [value for value in tree_leaves((arguments, keywords)) if isinstance(value, Tensor)]
        places = {tensor.device.type for tensor in tensors}
        if NAME in places and name not in self.FREE:
            self.counts[name] += 1
        # Torch's own rule for fake tensors overlooks indices.
        if len(places) > 1 and name not in COPIES and any(t.dim() and t.device.type != NAME for t in tensors):
            raise RuntimeError(f"{name}: tensors on {' and '.join(sorted(places))}")
        return function(*arguments, **(keywords or {}))


class Pretended:
    """Inside of `pretended`: puts modules and batches on the device, and takes optimizer steps."""

    def __init__(self, mode: FakeTensorMode, device: torch.device) -> None:
        self._mode, self.device = mode, device

    def placed(self, module: nn.Module) -> nn.Module:
        """The module itself, with fake parameters and buffers; tied ones stay tied."""
        fakes: dict[int, nn.Parameter] = {}
        for child in module.modules():
            for name, value in child._parameters.items():
                if value is not None:
                    fake = torch.empty(value.shape, dtype=value.dtype, device=self.device)
                    child._parameters[name] = fakes.setdefault(id(value), nn.Parameter(fake, value.requires_grad))
            for name, value in child._buffers.items():
                if value is not None:
                    child._buffers[name] = torch.empty(value.shape, dtype=value.dtype, device=self.device)
        return module

    def moved(self, batch: Any) -> Any:
        """The batch on the device, by its own method `to`."""
        return to_device._each(batch, lambda value: self._mode.from_tensor(value)).to(self.device)

    def step(self, module: Any, batch: Any) -> Counter[str]:
        """One optimizer step, as Lightning takes it with bfloat16; the operations on the device."""
        optimizer = module.configure_optimizers()["optimizer"]
        with Operations() as operations:
            with torch.autocast(NAME, dtype=torch.bfloat16):
                loss = module.training_step(batch, 0)
            loss = loss["loss"] if isinstance(loss, dict) else loss
            assert loss.device == self.device
            loss.backward()
            module.on_after_backward()
            optimizer.step()
        return operations.counts


@contextmanager
def pretended() -> Iterator[Pretended]:
    """Everything that is made in this block has no values."""
    device, _ = _registered()
    with FakeTensorMode() as mode:
        yield Pretended(mode, device)


def step(module: Any, batch: Any) -> Counter[str]:
    """One optimizer step of a module with a batch, both made on the CPU."""
    with pretended() as device:
        return device.step(device.placed(module), device.moved(batch))


def mistake(function: Callable[..., Any], *arguments: Any) -> str:
    """The name of the exception that a call raises; exceptions of torch do not pickle."""
    try:
        function(*arguments)
    except Exception as error:
        return type(error).__name__
    return "none"


@contextmanager
def apart() -> Iterator[Callable[..., Any]]:
    """A process with the device; what is yielded calls functions of modules there."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _registered) as pool:
        yield lambda function, *arguments: pool.submit(function, *arguments).result()
