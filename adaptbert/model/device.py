"""The device of a process: the type of matrix products there, evaluation there, and what is moved there and back.

The type is the one in params.yaml, or with `auto` the one that is fast:

cuda    bfloat16 where the device has instructions for it, else float32
cpu     the faster of both in one product of a training step, measured: docs/decisions/0015 says why no flag decides

Processors with instructions for bfloat16 were two to four times as fast in it, those without them three to six times as
slow, so a short measurement decides safely. It counts the processor time of one thread: neither other processes nor the
number of threads that train changes the answer.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cache, partial
from timeit import timeit
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    import torch
    from torch import Tensor

BF16, FLOAT32 = "bf16-mixed", "32-true"

ROWS, INPUTS, OUTPUTS = 512, 256, 1024
"""Tokens, and the widths of a small encoder's feed-forward layer."""
REPEATS = 5


@cache
def bf16_gain() -> float:
    """How many times as fast as float32 bfloat16 is, with operands that are cast first, as in training.

    Measured once a process, in a tenth of a second: the best of several products of each type, alternating.
    """
    import torch

    draw = torch.Generator().manual_seed(0)  # the global one belongs to training
    tokens, weight = torch.randn(ROWS, INPUTS, generator=draw), torch.randn(OUTPUTS, INPUTS, generator=draw)
    seconds = partial(timeit, timer=time.thread_time, number=1)  # without the time in which other processes run
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rounds = [
            (
                seconds(lambda: torch.nn.functional.linear(tokens.bfloat16(), weight.bfloat16())),
                seconds(lambda: torch.nn.functional.linear(tokens, weight)),
            )
            for _ in range(1 + REPEATS)
        ]
    finally:
        torch.set_num_threads(threads)
    del rounds[0]  # it warmed up caches and kernels
    return min(float32 for _, float32 in rounds) / min(bf16 for bf16, _ in rounds)


def best() -> tuple[str, str]:
    """The faster precision on this device, and the reason."""
    import torch

    if torch.cuda.is_available():
        if torch.cuda.is_bf16_supported(including_emulation=False):
            return BF16, "the device has bf16"
        return FLOAT32, "the device has no bf16"
    gain = bf16_gain()
    if gain > 1:
        return BF16, f"bf16 {gain:.1f} times as fast as float32 here"
    return FLOAT32, f"float32 {1 / gain:.1f} times as fast as bf16 here"


def chosen(precision: str) -> str:
    """The name of the precision, with `auto` resolved."""
    return best()[0] if precision == "auto" else precision


# ---- evaluation


def fastest_device() -> "torch.device":
    """The first CUDA device, or the processor."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def evaluating(model: Any, precision: str) -> Iterator[None]:
    """No dropout and no gradients, matrix products in `precision`; afterwards the model is as and where it was before.

    Outside of training a model is on the processor, as Lightning leaves it there.
    """
    import torch

    was_training, home = model.training, model.device
    model.eval()
    if home.type == "cpu":
        model.to(fastest_device())
    try:
        with torch.no_grad(), torch.autocast(model.device.type, torch.bfloat16, enabled=precision == BF16):
            yield
    finally:
        model.train(was_training)
        model.to(home)


# ---- there and back


class Movable:
    """A dataclass of tensors, arrays and others of its kind, as Lightning moves it; arrays become tensors."""

    def to(self, device: "torch.device") -> Self:
        """The same on a device; from pinned memory the copy is asynchronous."""
        return self.each(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> Self:
        """The same in memory that a CUDA device reads by itself."""
        return self.each(lambda tensor: tensor.pin_memory())

    def values(self) -> Iterator[Any]:
        """What it holds, and in the place of others of its kind what these hold."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            yield from value.values() if isinstance(value, Movable) else [value]

    def each(self, change: "Callable[[Tensor], Tensor]") -> Self:
        """The same of changed tensors."""
        import torch

        def changed(value: Any) -> Any:
            if isinstance(value, (torch.Tensor, np.ndarray)):
                return change(torch.as_tensor(value))
            return value.each(change) if isinstance(value, Movable) else value

        values = {field.name: changed(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        return replace(self, **values)  # type: ignore[type-var]


class HostCopy:
    """Copies of tensors on their way to the processor; the device goes on with its work.

    It copies in its turn, so that the copies have the values of now, whatever changes the tensors later.

    Args:
        tensors: of one device.
    """

    def __init__(self, tensors: "Sequence[Tensor]") -> None:
        import torch

        # From a CUDA device into pinned memory, or the copy would wait.
        self._copies = [tensor.detach().to("cpu", non_blocking=True, copy=True) for tensor in tensors]
        device = tensors[0].device
        self._done = None if device.type == "cpu" else torch.Event(device)
        if self._done is not None:
            self._done.record()

    def tensors(self) -> "list[Tensor]":
        """The copies; waits until the device has come so far."""
        if self._done is not None:
            self._done.synchronize()
        return self._copies
