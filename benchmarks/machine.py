"""What a figure was measured on, how fast that is at most, and how figures are kept."""

import json
import os
import platform
import resource
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

RESULTS = Path(__file__).parent / "results"
ISA = "ONEDNN_MAX_CPU_ISA"
"""The variable that withholds instructions of the processor from oneDNN, such as those for bfloat16."""
RESET = Path("/proc/self/clear_refs")
"""Where a 5 resets the peak of a process (`man 5 proc`)."""
PACKAGES = ("torch", "transformers", "pytorch-lightning", "numpy", "datasets")


def machine() -> dict[str, Any]:
    """Processor, device, threads and versions."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = names[0] if names else cpu
    return {
        "processor": cpu,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "instructions": f"{os.environ.get(ISA, 'all')} of oneDNN, {torch.backends.cpu.get_cpu_capability()}",
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


SIZES = {"cpu": 1024, "cuda": 8192}
"""Rows and columns of `matmul_peak`: large enough for full speed, small enough that many products fit into the time."""


@cache
def matmul_peak(dtype: torch.dtype) -> float:
    """Floating-point operations per second of a product of square matrices, the best of several runs, once in a
    process: the reference for the speed of training."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = SIZES[device]
    draw = torch.Generator(device).manual_seed(0)  # the global one belongs to training
    left, right = (torch.randn(size, size, generator=draw, device=device).to(dtype) for _ in range(2))
    best, over = float("inf"), time.perf_counter() + 0.25
    while best == float("inf") or time.perf_counter() < over:
        wait()
        began = time.perf_counter()
        left @ right
        wait()
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


def wait() -> None:
    """Waits until a CUDA device has done what it was given; a processor has."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def forget_most() -> None:
    """From here on `most_bytes` counts anew."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    elif RESET.exists():  # Linux
        RESET.write_text("5", encoding="utf-8")


def most_bytes() -> int:
    """The most memory at once: of a GPU what torch has allocated, otherwise what of this process was resident."""
    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    if not RESET.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (line,) = [line for line in Path("/proc/self/status").read_text("utf-8").splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def keep(name: str, values: dict[str, Any]) -> None:
    """Write benchmarks/results/<name>.json."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    target = RESULTS / f"{name}.json"
    target.write_text(json.dumps({"machine": machine(), **values}, indent=2) + "\n", encoding="utf-8")
    print(f"written: {target}")
