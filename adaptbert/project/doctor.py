"""What would stop or slow the recipe on this machine: findings, each with a remedy.

Runs in the folder of the project; reads and measures only (a probe file is written and removed at once).
"""

import platform
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from adaptbert.core.processes import cores
from adaptbert.model.device import best
from adaptbert.runtime.origin import tracking_uri
from adaptbert.runtime.redaction import redacted

PACKAGE = "adaptbert"
INSTALL = "pip install -c constraints.txt -e '.[dev]'"
ENOUGH_BYTES, LITTLE_BYTES = 5 * 2**30, 2**30
WRITTEN = (".", "data", "models", "metrics")
STORES = ("sqlite:///", "postgresql", "mysql", "mssql", "http://", "https://", "databricks")


class Finding(NamedTuple):
    """The result of one check."""

    verdict: Literal["ok", "warn", "FAIL"]
    what: str
    observed: str
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Run all checks, the fast ones first."""
    yield python(platform.python_version(), metadata.metadata(PACKAGE)["Requires-Python"])
    required = [Requirement(line) for line in metadata.requires(PACKAGE) or []]
    yield from packages([each for each in required if each.marker is None or each.marker.evaluate({"extra": ""})])
    yield _judged(Path(".dvc").is_dir(), "DVC repository", Path.cwd().name, "run in the clone, or: dvc init")
    yield from writable(Path(name) for name in WRITTEN)
    yield room(shutil.disk_usage(".").free)
    yield record(tracking_uri())
    yield from device()


def python(version: str, supported: str) -> Finding:
    """Is this Python supported?"""
    good = SpecifierSet(supported).contains(version, prereleases=True)
    return _judged(good, "python", version, f"make the environment with a Python {supported}")


def packages(required: Sequence[Requirement]) -> list[Finding]:
    """Those that are not there in a version that is known to work; or that all are."""
    bad = [
        Finding("FAIL", each.name, version or "not installed", f"needs {each.specifier}: {INSTALL}")
        for each in required
        if (version := _installed(each.name)) is None or not each.specifier.contains(version, prereleases=True)
    ]
    return bad or [Finding("ok", "packages", f"{len(required)}, all in versions that are known to work")]


def writable(folders: Iterator[Path]) -> Iterator[Finding]:
    """Can outputs be written?"""
    for folder in folders:
        if not folder.is_dir():
            continue
        try:
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor"):
                yield Finding("ok", f"write to {folder}/", "yes")
        except OSError as error:
            remedy = "change its owner or mode, or clone to another place"
            yield Finding("FAIL", f"write to {folder}/", str(error.strerror), remedy)


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
    try:
        import torch
    except ImportError:
        yield Finding("FAIL", "device", "torch cannot be imported", INSTALL)
        return
    has_cuda = torch.cuda.is_available()
    name = f"{torch.cuda.get_device_name()}, torch {torch.__version__}" if has_cuda else f"CPU, {cores()} cores"
    yield Finding("ok", "device", name)
    taken, reason = best()
    yield Finding("ok", "precision", f"auto takes {taken}: {reason}")


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _judged(good: bool, what: str, observed: str, remedy: str) -> Finding:
    return Finding("ok", what, observed) if good else Finding("FAIL", what, observed, remedy)
