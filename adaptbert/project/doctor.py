"""What would stop or slow the recipe on this machine: findings, each with a remedy.

Runs in the folder of the project; reads and measures only (a probe file is written and removed at once).
"""

import importlib.util
import platform
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from adaptbert.core.processes import cores
from adaptbert.model.precision import best
from adaptbert.runtime.mlflow import tracking_uri
from adaptbert.runtime.redaction import redacted

PACKAGE = "adaptbert"
INSTALL = "pip install -c constraints.txt -e '.[dev]'"
ENOUGH_BYTES, LITTLE_BYTES = 5 * 2**30, 2**30
WRITTEN = (".", "data", "models", "metrics")


class Verdict(Enum):
    """The severity of a finding."""

    OK = "ok"
    WARN = "warn"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    verdict: Verdict
    what: str
    observed: str
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Run all checks, the fast ones first."""
    yield python(platform.python_version(), metadata.metadata(PACKAGE)["Requires-Python"])
    required = [Requirement(line) for line in metadata.requires(PACKAGE) or []]
    yield from packages([each for each in required if each.marker is None or each.marker.evaluate({"extra": ""})])
    yield _judge(Path(".dvc").is_dir(), "DVC repository", Path.cwd().name, "run in the clone, or: dvc init")
    yield from writable(Path(name) for name in WRITTEN)
    yield room(shutil.disk_usage(".").free)
    yield record(tracking_uri())
    yield device()
    if importlib.util.find_spec("torch"):
        yield precision()


def python(version: str, supported: str) -> Finding:
    """Is this Python supported?"""
    good = SpecifierSet(supported).contains(version, prereleases=True)
    return _judge(good, "python", version, f"make the environment with a Python {supported}")


def packages(required: Sequence[Requirement]) -> list[Finding]:
    """Those that are not there in a version that is known to work; or that all are."""
    bad = [
        Finding(Verdict.FAIL, each.name, version or "not installed", f"needs {each.specifier}: {INSTALL}")
        for each in required
        if (version := _installed(each.name)) is None or not each.specifier.contains(version, prereleases=True)
    ]
    return bad or [Finding(Verdict.OK, "packages", f"{len(required)}, all in versions that are known to work")]


def writable(folders: Iterator[Path]) -> Iterator[Finding]:
    """Can outputs be written?"""
    for folder in folders:
        if not folder.is_dir():
            continue
        try:
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor"):
                yield Finding(Verdict.OK, f"write to {folder}/", "yes")
        except OSError as error:
            remedy = "change its owner or mode, or clone to another place"
            yield Finding(Verdict.FAIL, f"write to {folder}/", str(error.strerror), remedy)


def room(free: int) -> Finding:
    """Outputs are kept twice, in place and in DVC's cache; the demo takes about 1 GB."""
    verdict = Verdict.OK if free >= ENOUGH_BYTES else Verdict.WARN if free >= LITTLE_BYTES else Verdict.FAIL
    remedy = "" if verdict is Verdict.OK else "free some, or move the cache: dvc cache dir FOLDER"
    return Finding(verdict, "disk", f"{free / 2**30:.1f} GB free", remedy)


def record(uri: str) -> Finding:
    """Where MLflow writes to."""
    known = uri.startswith(("sqlite:///", "postgresql", "mysql", "mssql", "http://", "https://", "databricks"))
    return _judge(known, "MLflow", redacted(uri), "MLflow takes no plain folder any more: unset MLFLOW_TRACKING_URI")


def device() -> Finding:
    """The device that will train. This imports torch, which takes a second."""
    try:
        import torch
    except ImportError:
        return Finding(Verdict.FAIL, "device", "torch cannot be imported", INSTALL)
    if torch.cuda.is_available():
        return Finding(Verdict.OK, "device", f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    return Finding(Verdict.OK, "device", f"CPU, {cores()} cores")


def precision() -> Finding:
    """What `precision: auto` takes here."""
    name, reason = best()
    return Finding(Verdict.OK, "precision", f"auto takes {name}: {reason}")


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _judge(good: bool, what: str, observed: str, remedy: str) -> Finding:
    return Finding(Verdict.OK, what, observed) if good else Finding(Verdict.FAIL, what, observed, remedy)
