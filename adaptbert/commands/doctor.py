"""`adaptbert doctor`: what would stop or slow the recipe on this machine, each with a remedy.

It opens what a recipe opens: the project's folder, git, DVC's repository, MLflow's store, a Prefect server. `pip check`
says of packages what does not fit.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import typer

from adaptbert.core.processes import cores
from adaptbert.errors import failures_of
from adaptbert.project.dvc_files import check_folder
from adaptbert.runtime import variables
from adaptbert.runtime.origin import commit
from adaptbert.runtime.redaction import redacted

ENOUGH_BYTES, LITTLE_BYTES = 5 * 10**9, 10**9
OK, WARN, FAIL = "ok", "warn", "FAIL"
Finding = tuple[str, str, str, str]
"""The verdict, what was looked at, what was found, and the remedy where that is not right."""


def doctor() -> None:
    """Check if this machine can run the recipe.

    Opens what a recipe opens (folder, git, DVC, MLflow, Prefect), and checks disk space, device and precision. The exit
    code is 1 if a check fails.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    findings = [user(), *environment(), *opened(), room(shutil.disk_usage(".").free), *device()]
    table = Table("", "what", "found", "remedy")
    for verdict, what, found, remedy in findings:
        cells = verdict, what, found, "" if verdict == OK else remedy
        table.add_row(*(Text(redacted(cell)) for cell in cells))  # no markup; and lines of a cell may part a password
    Console().print(table)
    verdicts = [verdict for verdict, *_ in findings]
    fails, warnings = verdicts.count(FAIL), verdicts.count(WARN)
    if fails or warnings:
        print(f"FAIL {fails}, warn {warnings} of {len(findings)}: the last column says what to do")
    else:
        print(f"{len(findings)} checks passed: this machine can run the recipe")
    if fails:
        raise typer.Exit(1)


def opened() -> Iterator[Finding]:
    """Opens what every recipe opens; outside of a project nothing."""
    for error in failures_of(check_folder):
        yield FAIL, "folder", error.problem, error.remedy
        return
    at = commit()[:7]
    yield OK if at else WARN, "git", at or "no commit", "runs will name no commit: `git status` says why"
    yield ran("DVC", "bring the folder .dvc back (git checkout .dvc), or: dvc init")
    yield ran("MLflow", "else nothing is tracked: correct MLFLOW_TRACKING_URI, or move mlflow.db away")
    yield ran("Prefect", "mend that, or name a server: PREFECT_API_URL")


def ran(what: str, remedy: str) -> Finding:
    """What `open_one` printed in a process of its own; of one that failed, why, without its traceback."""
    command = [sys.executable, "-m", __name__, what]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
    lines = (done.stderr if done.returncode else done.stdout).split("\n")
    text = " ".join(lines[-2:] if "Traceback (most recent call last):" in lines else lines)
    return FAIL if done.returncode else OK, what, " ".join(text.split()), remedy


def user() -> Finding:
    """Looks for the name of the user, which our own commands do without (adaptbert.runtime.libraries)."""
    name = psutil.Process().username()
    remedy = f"`make recipe` does without a name; before commands of DVC: export LOGNAME={name}"
    return WARN if name.isdecimal() else OK, "user", name, remedy


def environment() -> Iterator[Finding]:
    """Looks for variables of this project with values that they may not have, and for names of none."""
    for error in failures_of(variables.check):
        yield FAIL, str(error.place), error.problem, error.remedy
    for name, near in variables.unknown().items():
        yield WARN, name, f"no variable of this project{near}", "correct the name, or unset it"


def room(free: int) -> Finding:
    """Outputs are kept twice, in place and in DVC's cache; the demo takes about 1 GB."""
    verdict = OK if free >= ENOUGH_BYTES else WARN if free >= LITTLE_BYTES else FAIL
    return verdict, "disk", f"{free / 1e9:.1f} GB free", "free some, or move the cache: dvc cache dir FOLDER"


def device() -> Iterator[Finding]:
    """The device that will train, and what `precision: auto` takes there. This imports torch, which takes a second."""
    import torch

    from adaptbert.model.device import best

    has_cuda = torch.cuda.is_available()
    name = f"{torch.cuda.get_device_name()}, torch {torch.__version__}" if has_cuda else f"CPU, {cores()} cores"
    yield OK, "device", name, ""
    taken, reason = best()
    yield OK, "precision", f"auto takes {taken}: {reason}", ""


def open_one(what: str) -> None:
    """Open what one line of `opened` is about, and print where that is."""
    if what == "DVC":
        from dvc.repo import Repo

        print(Repo().cache.local_cache_dir)
    elif what == "MLflow":
        from adaptbert.runtime.mlflow import Store

        store = Store(Path("params.yaml"))
        store.do(lambda opened: print(opened.client.tracking_uri))
        store.close()
        sys.exit(store.failed)
    else:
        from adaptbert.flow.server import main

        main()


if __name__ == "__main__":
    open_one(sys.argv[1])
