"""Commands of DVC, what it would run, and the partial files that a killed one leaves, repaired before the next
`dvc repro` fails on them or runs stages again.

dvc.lock             cut short: replaced by that of git's last commit, or removed; DVC restores the missing stages from
                     its run cache instead of running them
.dvc/tmp/rwlock      the paths that a running DVC uses; cut short, or of processes that have ended: removed
.dvc/cache/**/.*.tmp files that it had begun, as on a disk that became full: removed an hour later

Both sides of a merge, which no kill leaves, are not touched: DVC says what they are. Copies that DVC had begun beside
its outputs (`.*.tmp`) are ignored by git and DVC.
"""

import fcntl
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from graphlib import TopologicalSorter
from hashlib import sha256
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from adaptbert.codes import Code
from adaptbert.core.files import full_disk
from adaptbert.core.processes import has_ended
from adaptbert.errors import BadData, BadParams, Temporary
from adaptbert.project import editing
from adaptbert.project.template import check_version
from adaptbert.runtime.locks import ROOT
from adaptbert.runtime.origin import NO_ADDRESS

LOCK = Path("dvc.lock")
STATE, CACHE, RECORD = Path(".dvc/tmp"), Path(".dvc/cache"), ".dvc"
_NO_GIT = "not a git repository"
_OWN_LINE = "    no_scm = true  # adaptbert: there is no git here\n"
"""A line of .dvc/config.local; nothing else in it is touched, and another such setting is the user's."""
_MERGE = re.compile(rb"^(<<<<<<<|>>>>>>>)", re.MULTILINE)


def record(files: Iterable[Path]) -> None:
    """`dvc add`: DVC keeps the bytes and writes a .dvc file for each; where it has one, nothing happens.

    Raises:
        Temporary: another DVC is at work here.
        BadData: it refuses; in its own words.
    """
    command = [sys.executable, "-m", "dvc", "add", *map(str, files)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
    if "Unable to acquire lock" in done.stderr:
        raise _busy("add")
    if done.returncode:
        raise _refused("add", done.stderr)


def check_folder() -> None:
    """Raise BadParams for a folder that is no project, is one of another version, or that DVC or git cannot
    work in; where nothing can be written, Unwritable for one that is full or read-only, PermissionError for somebody
    else's."""
    check_path(Path.cwd())
    if not STATE.parent.is_dir():
        problem = f"no folder {STATE.parent}: not the folder of a project"
        raise BadParams(
            Code.PARAMS_FILE,
            Path.cwd(),
            problem,
            "change to the project (cd), and run again; or make one: adaptbert new DIR",
        )
    try:
        with TemporaryFile(dir=Path.cwd()) as file:
            file.write(b"1")
    except OSError as error:
        if full := full_disk(error, Path.cwd()):
            raise full from None
        raise
    check_version()
    _settle_git()


def _settle_git() -> None:
    """Let DVC do without git where there is none (an unpacked archive), and with it where it is there again; raise
    BadParams where git refuses the folder, mostly as that of another owner."""
    try:
        git = subprocess.run(["git", "rev-parse"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
        said, is_there = git.stderr, git.returncode == 0
    except FileNotFoundError:
        said, is_there = _NO_GIT, False
    if not is_there and _NO_GIT not in said:
        problem, _, advice = said.partition("\n")
        trust = advice.strip().rpartition("\n")[2].strip()
        remedy = f"if you trust what lies there: {trust}" if trust.startswith("git ") else "mend that, and run again"
        raise BadParams(Code.DVC, Path.cwd(), f"git refuses the folder: {problem.removeprefix('fatal: ')}", remedy)
    own = STATE.parent / "config.local"
    text = own.read_text(encoding="utf-8") if own.is_file() else ""
    settled = text.replace(_OWN_LINE, "") if is_there and Path(".git").exists() else text
    if not is_there and not re.search(r"^\s*no_scm\s*=\s*true", text, re.IGNORECASE | re.MULTILINE):
        settled = re.sub(r"^ *\[core\].*\n", rf"\g<0>{_OWN_LINE}", text, count=1, flags=re.MULTILINE)
        if settled == text:
            settled = f"{text}\n[core]\n{_OWN_LINE}"
    if settled != text:
        editing.write(own, settled.encode())


def check_path(folder: Path) -> None:
    """Raise BadParams for the path of a project with a brace, which DVC's progress bars format, and fail; or with what
    makes the data bases of MLflow and Prefect lie elsewhere."""
    for pattern, what in ((r"[{}]", "brace, and DVC"), (NO_ADDRESS, "? or a % code, and MLflow and Prefect")):
        if re.search(pattern, str(folder)):
            problem, remedy = f"the path has a {what} cannot work there", "move the project, or rename its folder"
            raise BadParams(Code.DVC, folder, problem, remedy)


def _busy(command: str) -> Temporary:
    return Temporary(Code.LOCKED, f"dvc {command}", "another DVC process is at work here", "wait for it, and run again")


def _refused(command: str, words: str) -> BadData:
    return BadData(Code.DVC, f"dvc {command}", " ".join(words.split()), "mend that, and run the same command again")


class Due(NamedTuple):
    """What DVC would run.

    Attributes:
        stages: these, in an order in which they can run -> those of them that each needs.
        all: the number of stages that were asked for; a record of a user's file runs nothing, and does not count.
    """

    stages: dict[str, list[str]]
    all: int

    @classmethod
    def of(cls, upstream: Mapping[str, Sequence[str]], changed: Iterable[str]) -> "Due":
        """Among these stages, each with those that it needs, what has changed (as `dvc status` names it), and what
        needs one of those; not what needs the stage `plan` alone, which always writes the same."""
        due = set(changed)
        order = [*TopologicalSorter(upstream).static_order()]
        for stage in order:
            if any(up in due and up != "plan" for up in upstream[stage]):
                due.add(stage)
        stages = {stage: [up for up in upstream[stage] if up in due] for stage in order if stage in due}
        return cls(stages, len(that_run(upstream)))

    def __str__(self) -> str:
        due = that_run(self.stages)
        if not due:
            return "all up to date"
        kinds = Counter(stage.partition("@")[0] for stage in due)
        counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        return f"will run: {len(due)} of {self.all} stages: {counted}"


def that_run(stages: Iterable[str]) -> list[str]:
    """Stages without the records of a user's files, which `dvc add` has written."""
    return [stage for stage in stages if not stage.endswith(RECORD)]


def due() -> Due:
    """What is due in this project, as its data, dvc.yaml and plan.json are now; raises what `record` does."""
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo

    try:
        with Repo(config={"core": {"no_scm": True}}) as repo:  # git plays no part in it, and may be missing
            edges = repo.index.graph
            upstream = {stage.addressing: [up.addressing for up in edges.successors(stage)] for stage in edges}
            return Due.of(upstream, repo.status())
    except LockError:
        raise _busy("status") from None
    except DvcException as error:
        raise _refused("status", ": ".join(str(each) for each in (error, error.__cause__) if each)) from None


def mend() -> list[str]:
    """Repair the files that a killed DVC left in this project; a line for each repair.

    It holds DVC's own lock: where another DVC is at work, whose files may be half written, nothing is touched.
    """
    if not (os.access(STATE.parent, os.W_OK) and os.access(LOCK.parent, os.W_OK)):  # no DVC project, or not writable
        return []
    with _held(STATE / "lock") as is_ours:
        return [*_mend_lock(), *_mend_marks(), *_mend_cache()] if is_ours else []


def _mend_lock() -> Iterator[str]:
    content = LOCK.read_bytes() if LOCK.is_file() else b""
    if is_whole(LOCK) or _MERGE.search(content):
        return
    damaged = ROOT / f"dvc.lock.damaged-{sha256(content).hexdigest()[:8]}"  # beside earlier ones
    editing.write(damaged, content)
    if before := editing.committed(LOCK):
        editing.write(LOCK, before)
        done = "the file of git's last commit is back"
    else:
        LOCK.unlink()
        done = "it is written anew"
    yield f"{LOCK} is damaged or cut short: {done}; DVC takes what else it can from its run cache (it was {damaged})"


def is_whole(path: Path) -> bool:
    """Whether a dvc.lock is as DVC writes it, to its end, or missing."""
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from voluptuous import Invalid

    if not path.is_file():
        return True
    try:
        text = path.read_text(encoding="utf-8")
        stages = COMPILED_LOCKFILE_SCHEMA(YAML(typ="safe").load(text)).get("stages", {})
    except (YAMLError, Invalid, ValueError):
        return False
    # A cut file may be valid for DVC, e.g. with half of a checksum: then DVC would run the stage again. Each stage of
    # dvc.yaml has outs, and their size comes last.
    outs = list(stages.values())[-1].get("outs") if stages else None
    if not outs or not text.endswith("\n"):
        return False
    keys = {"size", "nfiles"} if str(outs[-1].get("md5")).endswith(".dir") else {"size"}
    return "md5" not in outs[-1] or keys <= outs[-1].keys()


def _mend_marks() -> Iterator[str]:
    """.dvc/tmp/rwlock: {"write": {path: mark}, "read": {path: [mark, ...]}}, a mark being {"pid": ..., "cmd": ...}."""
    from dvc.rwlock import SCHEMA
    from voluptuous import Invalid

    path = STATE / "rwlock"
    with _held(STATE / "rwlock.lock") as is_ours:
        if not is_ours or not path.is_file():
            return
        moment = path.stat().st_mtime
        try:
            marks = SCHEMA(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, Invalid):
            path.unlink()
            yield f"{path} cannot be read (a DVC that was killed may leave it so): removed; only a running DVC needs it"
            return
        if all(has_ended(mark["pid"], moment) for mark in chain(marks["write"].values(), *marks["read"].values())):
            path.unlink()


def _mend_cache() -> Iterator[str]:
    """Removes old leftovers alone: a copy of the project (`dvc exp run --temp`) has another lock and the same cache."""
    hour = 3600
    begun = [path for path in CACHE.rglob(".*.tmp") if time.time() - path.lstat().st_mtime > hour]
    for path in begun:
        path.unlink()
    if begun:
        yield f"{CACHE}: {len(begun)} files that DVC had begun, and not finished: removed"


@contextmanager
def _held(lock: Path) -> Iterator[bool]:
    """A lock of DVC's (zc.lockfile: the kernel's, it dies with its holder), if no other process has it."""
    if not lock.is_file():  # no DVC has run here
        yield True
        return
    with lock.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
