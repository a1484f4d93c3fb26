"""What is set for libraries before they are loaded: environment variables, memory, garbage; results do not change."""

import atexit
import ctypes
import gc
import logging
import os
import pwd
import warnings
from importlib.util import find_spec
from pathlib import Path
from urllib.request import getproxies_environment

from adaptbert.codes import Code
from adaptbert.core.processes import cores, escape_unprintable
from adaptbert.errors import BadParams
from adaptbert.runtime.redaction import redacted
from adaptbert.runtime.variables import DETERMINISTIC, value_of

QUIET = {
    "DO_NOT_TRACK": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DVC_NO_ANALYTICS": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
}
MLFLOW = {  # a dead server costs seconds, not the minutes of MLflow's defaults, and cannot ask for a longer wait
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",  # one line of ours says what failed
}
SAME_BITS = {
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "NCCL_ALGO": "^NVLS",  # sums in the switch come in any order
}
"""Variables for adaptbert.training.loop: read with the first product on CUDA, and the first sum over devices."""

JOBS = 2
"""Stages side by side, where nobody says otherwise: `make recipe` and its price have one rule."""

SPINS = "4000"
"""Rounds of waiting after which a thread of GNU OpenMP sleeps, instead of some 300,000.

As fast alone, and some ten times as fast beside a busy process of another session (docs/decisions/0027).
"""

LOCAL = ("localhost", "127.0.0.1", "::1")
"""Hosts that are asked directly, never through a proxy: the temporary Prefect server, a local MLflow, Ray."""

THRESHOLDS = (50_000, 10, 100)
"""Arguments of `gc.set_threshold`: allocations before the youngest generation is collected, then collections."""

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # of mallopt(3), <malloc.h>
PAD = 2**26


def prepare_process() -> None:
    """Prepares this process and those that it starts, before Prefect is imported, for what libraries fail at: a user
    without an account, as in a container, a terminal that lacks characters, a proxy that is asked for this machine."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        os.environ.setdefault("LOGNAME", str(os.getuid()))
        os.environ.setdefault("HOME", str(Path(".work/home").absolute()))
    escape_unprintable()
    os.environ["PYTHONIOENCODING"] = "utf-8"  # of commands that we start: their lines are read as UTF-8
    proxies = getproxies_environment()
    direct = [host.strip() for host in proxies.pop("no", "").split(",") if host.strip()]
    if proxies:  # else macOS would not look into its own settings
        os.environ["NO_PROXY"] = os.environ["no_proxy"] = ",".join(dict.fromkeys([*direct, *LOCAL]))


def check_proxies() -> None:
    """Raises BadParams for a kind of proxy with which no client of Prefect and of the hub can be made."""
    known = ("http", "socks5") if find_spec("socksio") else ("http",)
    for kind, address in getproxies_environment().items():
        if kind in ("http", "https", "all") and "://" in address and not address.lower().startswith(known):
            remedy = "name one that begins with http://, or unset it; for socks5://: pip install 'httpx[socks]'"
            problem = f"no client takes the proxy {redacted(address)!r}"
            raise BadParams(Code.MACHINES, f"{kind}_proxy".upper(), problem, remedy)


def prepare_libraries() -> None:
    """Sets the variables, before torch, MLflow and others are imported; what the user has set stays."""
    os.environ.update({**QUIET, **(SAME_BITS if same_bits() else {}), **openmp(), **os.environ})


def threads(jobs: int = JOBS) -> str:
    """Threads of each of several stages, unless OMP_NUM_THREADS is set: with one a core each they would mostly wait for
    each other."""
    return os.environ.get("OMP_NUM_THREADS") or str(max(1, cores() // jobs))


def as_one_of_them() -> None:
    """Lets this process calculate with the threads of such a stage; before torch is loaded, and takes all cores."""
    os.environ["OMP_NUM_THREADS"] = threads()


def openmp() -> dict[str, str]:
    """OpenMP threads of one stage, as many as cores that this process may use, two threads of one core counted once.

    Torch by itself counts all cores of the machine, also where a container may use two of them.
    """
    import psutil

    there = cores()
    return {"OMP_NUM_THREADS": str(min(there, psutil.cpu_count(logical=False) or there)), "GOMP_SPINCOUNT": SPINS}


def same_bits() -> bool:
    """Whether runs on CUDA are to have the same bits each time: unless ADAPTBERT_DETERMINISTIC is false."""
    return value_of(DETERMINISTIC).lower() != "false"


def collect_seldom() -> None:
    """Raises the thresholds of Python's garbage collector; at the end of the process nothing is collected.

    Importing torch, Lightning and MLflow creates 700,000 objects that live as long as the process. With the default
    thresholds, the collector takes a quarter of the import time, and a second at the end, to traverse them.
    """
    gc.set_threshold(*THRESHOLDS)
    atexit.register(gc.freeze)


def keep_freed_memory() -> bool:
    """Sets the C library to keep freed memory for the next step; returns whether that worked.

    glibc returns large blocks to the kernel when they are freed, and every step pays for the same pages again: on a CPU
    a sixth of a masked-LM step with 3,500 tokens and a vocabulary of 30,000.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    options = {MMAP_MAX: 0, TRIM_THRESHOLD: 2**31 - 1, TOP_PAD: PAD}
    return mallopt is not None and all(mallopt(option, value) for option, value in options.items())


def quieten() -> None:
    """Set up libraries, switch their telemetry off, hide adverts and progress bars; other warnings stay."""
    prepare_libraries()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*litlogger.*")
    # Lightning 2.6 uses a name of torch that a later torch will drop; a user cannot change that.
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")
