"""`adaptbert doctor`: what would stop or slow the recipe on this machine, each with a remedy. Reads and measures only.

`pip check` says of packages what does not fit; a folder that may not be written is an error where it is met.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import typer

from adaptbert.core.processes import cores
from adaptbert.runtime.origin import tracking_uri
from adaptbert.runtime.redaction import redacted

ENOUGH_BYTES, LITTLE_BYTES = 5 * 10**9, 10**9
STORES = ("sqlite:///", "postgresql", "mysql", "mssql", "http://", "https://", "databricks")
OK, WARN, FAIL = "ok", "warn", "FAIL"
Finding = tuple[str, str, str, str]
"""The verdict, what was looked at, what was found, and the remedy where that is not right."""


def doctor() -> None:
    """Check if this machine can run the recipe.

    Checks disk space, device, precision and where MLflow writes to. The exit code is 1 if a check fails.
    """
    from rich.console import Console
    from rich.table import Table

    has_dvc = OK if Path(".dvc").is_dir() else FAIL
    repository = has_dvc, "DVC repository", Path.cwd().name, "run in the clone, or: dvc init"
    findings = [repository, room(shutil.disk_usage(".").free), record(tracking_uri()), *device()]
    table = Table("", "what", "found", "remedy")
    for verdict, what, found, remedy in findings:
        table.add_row(verdict, what, found, "" if verdict == OK else remedy)
    Console().print(table)
    verdicts = [verdict for verdict, *_ in findings]
    fails, warnings = verdicts.count(FAIL), verdicts.count(WARN)
    if fails or warnings:
        print(f"FAIL {fails}, warn {warnings} of {len(findings)}: the last column says what to do")
    else:
        print(f"{len(findings)} checks passed: this machine can run the recipe")
    if fails:
        raise typer.Exit(1)


def room(free: int) -> Finding:
    """Outputs are kept twice, in place and in DVC's cache; the demo takes about 1 GB."""
    verdict = OK if free >= ENOUGH_BYTES else WARN if free >= LITTLE_BYTES else FAIL
    return verdict, "disk", f"{free / 1e9:.1f} GB free", "free some, or move the cache: dvc cache dir FOLDER"


def record(uri: str) -> Finding:
    """Checks where MLflow writes to."""
    remedy = "MLflow takes no plain folder any more: unset MLFLOW_TRACKING_URI"
    return OK if uri.startswith(STORES) else FAIL, "MLflow", redacted(uri), remedy


def device() -> Iterator[Finding]:
    """The device that will train, and what `precision: auto` takes there. This imports torch, which takes a second."""
    import torch

    from adaptbert.model.device import best

    has_cuda = torch.cuda.is_available()
    name = f"{torch.cuda.get_device_name()}, torch {torch.__version__}" if has_cuda else f"CPU, {cores()} cores"
    yield OK, "device", name, ""
    taken, reason = best()
    yield OK, "precision", f"auto takes {taken}: {reason}", ""
