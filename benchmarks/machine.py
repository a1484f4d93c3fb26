"""What a figure was measured on, and how figures are kept."""

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

RESULTS = Path(__file__).parent / "results"
ISA = "ONEDNN_MAX_CPU_ISA"
"""The variable that withholds instructions of the processor from oneDNN, such as those for bfloat16."""
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


def keep(name: str, values: dict[str, Any]) -> None:
    """Write benchmarks/results/<name>.json."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    target = RESULTS / f"{name}.json"
    target.write_text(json.dumps({"machine": machine(), **values}, indent=2) + "\n", encoding="utf-8")
    print(f"written: {target}")
