"""What would stop or slow the recipe on this machine: findings, each with a remedy.

Runs in the folder of the project; reads and measures only (a probe file is written and removed at once).
"""

import importlib.util
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from adaptbert.base.processes import cores
from adaptbert.errors import UserError
from adaptbert.model.precision import BF16, best, speeds
from adaptbert.runtime.libraries import QUIET
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.redaction import redacted
from adaptbert.runtime.stage import PARAMS
from adaptbert.runtime.tracking.store import tracking_uri

PACKAGE = "adaptbert"
INSTALL = "pip install -c constraints.txt -e '.[dev]'"
ENOUGH_BYTES, LITTLE_BYTES = 5 * 2**30, 2**30
WRITTEN = (".", "data", "models", "metrics")
CPU_FLAGS = Path("/proc/cpuinfo")
BF16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
"""Of x86 and of ARM; on Linux only."""
ISA_LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")


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
    for line in metadata.requires(PACKAGE) or []:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield package(requirement, _installed(requirement.name))
    yield one_lightning(_installed("lightning"))
    yield repository()
    yield from writable(Path(name) for name in WRITTEN)
    yield room(shutil.disk_usage(".").free)
    yield record(tracking_uri())
    yield from environment(os.environ)
    yield device()
    if importlib.util.find_spec("torch"):
        yield precision(fixed(PARAMS, BF16))


def python(version: str, supported: str) -> Finding:
    """Is this Python supported?"""
    good = SpecifierSet(supported).contains(version, prereleases=True)
    return _judge(good, "python", version, f"make the environment with a Python {supported}")


def package(requirement: Requirement, version: str | None) -> Finding:
    """Is a package there, in a version that is known to work?"""
    good = version is not None and requirement.specifier.contains(version, prereleases=True)
    remedy = f"needs {requirement.specifier}: {INSTALL}"
    return _judge(good, requirement.name, version or "not installed", remedy)


def one_lightning(version: str | None) -> Finding:
    """The package `lightning` has the same trainer under another name, and their objects are incompatible."""
    if version is None:
        return Finding(Verdict.OK, "one Lightning", "pytorch_lightning only")
    return Finding(Verdict.WARN, "one Lightning", f"lightning {version} beside it", "pip uninstall lightning")


def repository() -> Finding:
    """DVC knows the project by its .dvc folder."""
    return _judge(Path(".dvc").is_dir(), "DVC repository", str(Path.cwd().name), "run in the clone, or: dvc init")


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


def environment(variables: Mapping[str, str]) -> Iterator[Finding]:
    """Telemetry, which stages switch off, and whether the hub may be used."""
    loud = sorted(name for name, value in QUIET.items() if variables.get(name, value) != value)
    state = "off in every stage" if not loud else f"you set {', '.join(loud)}"
    yield Finding(Verdict.WARN if loud else Verdict.OK, "telemetry", state, "unset them to keep it off" if loud else "")
    offline = variables.get("HF_HUB_OFFLINE", "0") not in ("", "0")
    yield Finding(
        Verdict.OK, "Hugging Face hub", "offline (HF_HUB_OFFLINE)" if offline else "used where params.yaml names it"
    )


def device() -> Finding:
    """The device that will train. This imports torch, which takes a second."""
    try:
        import torch
    except ImportError:
        return Finding(Verdict.FAIL, "device", "torch cannot be imported", INSTALL)
    if torch.cuda.is_available():
        return Finding(Verdict.OK, "device", f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    return Finding(Verdict.OK, "device", f"CPU, {cores()} cores")


def precision(named: list[str]) -> Finding:
    """What `precision: auto` takes here, with the figures of the measurement on a CPU.

    Args:
        named: keys of params.yaml that fix bf16-mixed.
    """
    import torch

    name, reason = best()
    limits = []
    if not torch.cuda.is_available():
        reason = f"{reason} ({speeds().bf16 / 1e9:.0f} and {speeds().float32 / 1e9:.0f} GFLOP/s on one core)"
        reason += _flags(name, CPU_FLAGS.read_text(encoding="utf-8").split() if CPU_FLAGS.is_file() else None)
        limits = [variable for variable in ISA_LIMITS if variable in os.environ] if name != BF16 else []
    remedies = [f"unset {variable}, which forbids instructions" for variable in limits]
    if named and name != BF16:
        remedies.append(f"write auto: params.yaml fixes {BF16} in {', '.join(named)}")
    verdict = Verdict.WARN if remedies else Verdict.OK
    return Finding(verdict, "precision", f"auto takes {name}: {reason}", "; ".join(remedies))


def _flags(name: str, flags: list[str] | None) -> str:
    """A note where the CPU flags of the system disagree with the measurement."""
    if flags is None or bool(BF16_FLAGS.intersection(flags)) == (name == BF16):
        return ""
    if name == BF16:
        return ", though the system lists no instructions for bf16"
    return ", though the system lists instructions for bf16"


def fixed(file: Path, value: str) -> list[str]:
    """Keys whose precision is `value`; none where the file cannot be read, which `adaptbert check` reports."""
    try:
        values = params.flatten(params.read(file))
    except UserError:
        return []
    return [key for key, written in values.items() if key.endswith(".precision") and written == value]


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _judge(good: bool, what: str, observed: str, remedy: str) -> Finding:
    return Finding(Verdict.OK, what, observed) if good else Finding(Verdict.FAIL, what, observed, remedy)
