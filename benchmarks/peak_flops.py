"""Peak speed of a device, measured by a large matrix product: the reference for the speed of training."""

import time
from functools import cache

import torch

SIZES = {"cpu": 1024, "cuda": 8192}
"""Rows and columns: large enough for full speed, small enough that many products fit into the time."""


@cache
def matmul_peak(dtype: torch.dtype, seconds: float = 0.25) -> float:
    """Floating-point operations per second of a product of square matrices on one device, the best of several runs.

    Args:
        dtype: of the matrices.
        seconds: time for the runs; measured once per process.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = SIZES[device]
    draw = torch.Generator(device).manual_seed(0)  # the global one belongs to training
    left, right = (torch.randn(size, size, generator=draw, device=device).to(dtype) for _ in range(2))
    best, over = float("inf"), time.perf_counter() + seconds
    while best == float("inf") or time.perf_counter() < over:
        wait(device)
        began = time.perf_counter()
        left @ right
        wait(device)
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


def wait(device: str) -> None:
    """Until a device has done what it was given; a processor has."""
    if device == "cuda":
        torch.cuda.synchronize()
