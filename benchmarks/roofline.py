"""The least time that the operations of our step can take on this machine: a bound beside the figures, not a goal.

An operation takes at least as long as its floating-point operations take at the speed of one large matrix product, and
at least as long as its operands and results take at the speed of a copy within the cache (the roofline of Williams,
Waterman and Patterson 2009). The bound is the sum over all operations of a step, forward, backward and optimizer, as
they are called here: Python, the start of each operation and waiting are not in it, and a formulation with fewer
operations has a lower one.
"""

import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from adaptbert.training.plan import Measure
from benchmarks.peak_flops import matmul_peak, wait
from benchmarks.rounds import OTHER_PRECISION, OURS

LOOKUPS = {"aten::embedding", "aten::index_select", "aten::gather", "aten::index"}
"""Of their first operand they read what they return."""
COPIED = {"cpu": 2**18, "cuda": 2**28}
"""Elements of the copy: 1 MiB, within the cache of a processor, so that no operation is faster; 1 GiB of a GPU."""


class Roofline(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the least seconds of all operations that run within it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seconds = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and count it."""
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            operands = tree_leaves((args, kwargs))
            tensors = [each for each in operands if isinstance(each, Tensor)]
            if func._schema.name in LOOKUPS:
                tensors = tensors[1:]
            moved = sum(each.nbytes for each in [*tensors, *tree_leaves(result)] if isinstance(each, Tensor))
            count = flop_registry.get(func._overloadpacket)
            flop = 0.0 if count is None else count(*args, **(kwargs or {}), out_val=result)
            self.seconds += max(flop / matmul_peak(_product(tensors)), moved / copy_speed())
        return result


def _product(tensors: list[Tensor]) -> torch.dtype:
    """The type in which an operation multiplies."""
    return torch.bfloat16 if any(each.dtype == torch.bfloat16 for each in tensors) else torch.float32


@cache
def copy_speed(seconds: float = 0.25) -> float:
    """Bytes a second, read and written, the best of many copies."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    source, target = torch.ones(COPIED[device], device=device), torch.empty(COPIED[device], device=device)
    best, over = float("inf"), time.perf_counter() + seconds
    while best == float("inf") or time.perf_counter() < over:
        wait(device)
        began = time.perf_counter()
        target.copy_(source)
        wait(device)
        best = min(best, time.perf_counter() - began)
    return 2 * source.nbytes / best


def least_seconds(train: Callable[[dict[int, Measure]], Any], first: int, last: int) -> float:
    """The least seconds of a step, the mean of the steps after `first` up to `last`.

    Args:
        train: takes points of measurement; called within the counter, so its own speed means nothing.
    """
    matmul_peak(torch.bfloat16), matmul_peak(torch.float32), copy_speed()
    counter, moments = Roofline(), []

    def look(_step: int) -> Mapping[str, float]:
        moments.append(counter.seconds)
        return {}

    with counter:
        train(dict.fromkeys((first, last), look))
    return (moments[1] - moments[0]) / (last - first)


def at_most(speeds: Mapping[str, Any], unit: str, of_a_step: float, seconds: float) -> dict[str, Any]:
    """What a step could do in its least time: `unit` a second, and how many times as many as each peer does.

    Args:
        speeds: of `rounds.compared`.
        of_a_step: how many of `unit` a step has.
    """
    most = of_a_step / seconds
    measured = speeds[f"{unit}_per_second"]
    peers = [name for name in measured if name not in (OURS, OTHER_PRECISION)]
    return {f"{unit}_per_second": round(most), "ratio": {peer: round(most / measured[peer], 1) for peer in peers}}
