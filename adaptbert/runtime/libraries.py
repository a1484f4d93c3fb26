"""Environment variables that libraries read when they are loaded; what the user has set stays."""

import os

from adaptbert.core.processes import cores

QUIET = {
    "DO_NOT_TRACK": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DVC_NO_ANALYTICS": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
}
DETERMINISTIC = "ADAPTBERT_DETERMINISTIC"
SAME_BITS = {
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "NCCL_ALGO": "^NVLS",  # sums in the switch come in any order
}
"""For adaptbert.training.loop: read with the first product on CUDA, and the first sum over devices."""

SPINS = "4000"
"""Rounds of waiting after which a thread of GNU OpenMP sleeps, instead of some 300,000.

As fast alone, and some ten times as fast beside a busy process of another session (docs/decisions/0027).
"""


def threads() -> dict[str, str]:
    """As many OpenMP threads as cores that this process may use, two threads of one core counted once.

    Torch by itself counts all cores of the machine, also where a container may use two of them.
    """
    import psutil

    there = cores()
    return {"OMP_NUM_THREADS": str(min(there, psutil.cpu_count(logical=False) or there)), "GOMP_SPINCOUNT": SPINS}


def same_bits() -> bool:
    """Whether runs on CUDA are to have the same bits each time: unless ADAPTBERT_DETERMINISTIC is false."""
    return os.environ.get(DETERMINISTIC, "").lower() != "false"


def prepare_libraries() -> None:
    """Before torch, MLflow and others are imported."""
    for name, value in {**QUIET, **(SAME_BITS if same_bits() else {}), **threads()}.items():
        os.environ.setdefault(name, value)
