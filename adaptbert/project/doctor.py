"""What would stop or slow the recipe on this machine: findings, each with a remedy. Reads and measures only.

`pip check` says of packages what does not fit; a folder that may not be written is an error where it is met.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from adaptbert.core.processes import cores
from adaptbert.model.device import best
from adaptbert.runtime.origin import tracking_uri
from adaptbert.runtime.redaction import redacted

ENOUGH_BYTES, LITTLE_BYTES = 5 * 2**30, 2**30
STORES = ("sqlite:///", "postgresql", "mysql", "mssql", "http://", "https://", "databricks")


class Finding(NamedTuple):
    """The result of one check."""

    verdict: Literal["ok", "warn", "FAIL"]
    what: str
    observed: str
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Run all checks, the fast ones first."""
    yield _judged(Path(".dvc").is_dir(), "DVC repository", Path.cwd().name, "run in the clone, or: dvc init")
    yield room(shutil.disk_usage(".").free)
    yield record(tracking_uri())
    yield from device()


def room(free: int) -> Finding:
    """Outputs are kept twice, in place and in DVC's cache; the demo takes about 1 GB."""
    observed = f"{free / 2**30:.1f} GB free"
    if free >= ENOUGH_BYTES:
        return Finding("ok", "disk", observed)
    remedy = "free some, or move the cache: dvc cache dir FOLDER"
    return Finding("warn" if free >= LITTLE_BYTES else "FAIL", "disk", observed, remedy)


def record(uri: str) -> Finding:
    """Where MLflow writes to."""
    remedy = "MLflow takes no plain folder any more: unset MLFLOW_TRACKING_URI"
    return _judged(uri.startswith(STORES), "MLflow", redacted(uri), remedy)


def device() -> Iterator[Finding]:
    """The device that will train, and what `precision: auto` takes there. This imports torch, which takes a second."""
    import torch

    has_cuda = torch.cuda.is_available()
    name = f"{torch.cuda.get_device_name()}, torch {torch.__version__}" if has_cuda else f"CPU, {cores()} cores"
    yield Finding("ok", "device", name)
    taken, reason = best()
    yield Finding("ok", "precision", f"auto takes {taken}: {reason}")


def _judged(good: bool, what: str, observed: str, remedy: str) -> Finding:
    return Finding("ok", what, observed) if good else Finding("FAIL", what, observed, remedy)
