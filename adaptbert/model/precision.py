"""The type of the matrix products: the one in params.yaml, or with `auto` the one that is fast on the device.

cuda    bfloat16 where the device has instructions for it, else float32
cpu     the faster of both in one product of a training step, measured: docs/decisions/0015 says why no flag decides

Processors with instructions for bfloat16 were two to four times as fast in it, those without them three to six times as
slow, so a short measurement decides safely. It counts the processor time of one thread: neither other processes nor the
number of threads that train changes the answer.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

BF16, FLOAT32 = "bf16-mixed", "32-true"

ROWS, INPUTS, OUTPUTS = 512, 256, 1024
"""Tokens, and the widths of a small encoder's feed-forward layer."""
REPEATS = 5


@dataclass(frozen=True)
class Speeds:
    """Floating-point operations a second of one thread of the processor.

    Attributes:
        bf16: with operands that are cast to bfloat16 first, as in training.
        float32: with operands as they are.
    """

    bf16: float
    float32: float


@cache
def speeds() -> Speeds:
    """Measured once a process, in a tenth of a second: the best of several products of each type, alternating."""
    import torch

    draw = torch.Generator().manual_seed(0)  # the global one belongs to training
    tokens, weight = torch.randn(ROWS, INPUTS, generator=draw), torch.randn(OUTPUTS, INPUTS, generator=draw)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        bf16 = float32 = float("inf")
        for number in range(1 + REPEATS):
            of_bf16 = _seconds(lambda: torch.nn.functional.linear(tokens.bfloat16(), weight.bfloat16()))
            of_float32 = _seconds(lambda: torch.nn.functional.linear(tokens, weight))
            if number:  # the first round warms up caches and kernels
                bf16, float32 = min(bf16, of_bf16), min(float32, of_float32)
    finally:
        torch.set_num_threads(threads)
    operations = 2 * ROWS * INPUTS * OUTPUTS
    return Speeds(operations / bf16, operations / float32)


def best() -> tuple[str, str]:
    """The faster precision on this device, and the reason."""
    import torch

    if torch.cuda.is_available():
        if torch.cuda.is_bf16_supported(including_emulation=False):
            return BF16, "the device has bf16"
        return FLOAT32, "the device has no bf16"
    measured = speeds()
    if measured.bf16 > measured.float32:
        return BF16, f"bf16 {measured.bf16 / measured.float32:.1f} times as fast as float32 here"
    return FLOAT32, f"float32 {measured.float32 / measured.bf16:.1f} times as fast as bf16 here"


def chosen(precision: str) -> str:
    """The name of the precision, with `auto` resolved."""
    return best()[0] if precision == "auto" else precision


def named_precision(key: str, precision: str, is_begun: Callable[[str], bool]) -> str:
    """The precision that a stage trains in, by its name; `auto` is decided here.

    The decision is printed, and a warning where params.yaml names a precision that is slow on this device.

    Args:
        key: of the value in params.yaml.
        precision: the value.
        is_begun: whether there is an unfinished run in the precision of this name. It is resumed in that precision,
            although a new measurement may differ: on another processor, or where both are about equally fast.
    """
    if precision == "auto":
        for name in (BF16, FLOAT32):
            if is_begun(name):
                print(f"precision auto: {name}, in which this run was begun")
                return name
        name, reason = best()
        print(f"precision auto: {name} ({reason})")
        return name
    if precision == BF16:
        name, reason = best()
        if name != BF16:
            print(f"  warning: params.yaml: {key} is {BF16}, {reason}; write auto, or {name}")
    return precision


def _seconds(work: Callable[[], object]) -> float:
    """Processor time of this thread: time in which other processes ran is not counted."""
    began = time.thread_time()
    work()
    return time.thread_time() - began
