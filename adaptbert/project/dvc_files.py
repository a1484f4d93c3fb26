"""Partial files that a killed DVC leaves, repaired before the next `dvc repro` fails on them.

dvc.lock             cut short: replaced by the copy of the last check, or removed; DVC restores the missing stages
                     from its run cache instead of running them; missing: reported, not touched
.dvc/tmp/rwlock      the paths that a running DVC uses; cut short, or with entries of an ended process: repaired
.<22 letters>.tmp    copies that DVC had begun beside its outputs: removed
.git/index.lock      may belong to a running git: reported, not touched
"""

import fcntl
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.core.files import Blocked, atomic_write
from adaptbert.core.processes import has_ended
from adaptbert.errors import BadData
from adaptbert.runtime.locks import ROOT, Busy

LOCK = Path("dvc.lock")
GRAPH = Path("dvc.yaml")
STATE = Path(".dvc/tmp")
BACKUP = ROOT / "dvc.lock"
DAMAGED = ROOT / "dvc.lock.damaged"
SCHEMA = "2.0"
PATIENCE_SECONDS = 60.0

_TEMPORARY = re.compile(r"\.[\w-]{22}\.tmp")
_BEGINNING = f"schema: '{SCHEMA}'\n"
_NOT_TEXT = re.compile("[\0-\x08\x0e-\x1f]|\ufffd(?!$)")  # the cut may be inside the bytes of a character
_DEEP = re.compile(r"(?:[\[{]\s*|[-?] \s*){200}")
_UNREADABLE = "cannot be read"
_CONFLICT = re.compile(r"^(<<<<<<<|>>>>>>>)", re.MULTILINE)


def mend(patience: float = PATIENCE_SECONDS) -> list[str]:
    """Repair the files that a killed DVC left in this project; returns a line for each repair.

    It holds DVC's own lock, so that files that another DVC is writing are not touched.

    Args:
        patience: seconds to wait for such a DVC where dvc.lock does not look whole.

    Raises:
        BadData: dvc.lock has both sides of a merge, or is of another version of DVC.
        Blocked: dvc.lock, or a lock of DVC's, is no file.
        Busy: it is still not whole, and a DVC that is at work may be writing it.
    """
    if not (os.access(STATE.parent, os.W_OK) and os.access(LOCK.parent, os.W_OK)):  # no DVC project, or not writable
        return []
    give_up = time.monotonic() + patience
    while True:
        with _held(STATE / "lock") as is_ours:
            if is_ours:
                return [*_mend_lock(), *_mend_marks(), *_remove_temporaries(), *_index_lock()]
        if not _problem():
            return []
        if time.monotonic() > give_up:
            problem = f"not whole for {patience:.0f} s while another DVC process is at work here"
            raise Busy(Code.DVC, LOCK, problem, "wait for it, or stop it, and run again")
        time.sleep(0.2)


def _mend_lock() -> Iterator[str]:
    problem = _problem()
    if not problem:
        if LOCK.is_file() and not (BACKUP.is_file() and BACKUP.read_bytes() == LOCK.read_bytes()):
            _replace(BACKUP, LOCK.read_bytes())
        elif not LOCK.is_file() and BACKUP.is_file() and not _problem(BACKUP):
            yield (
                f"warning: {LOCK} is gone: cp {BACKUP} {LOCK} brings that of the last check back; without it DVC takes"
                " what it can from its run cache, and runs the rest"
            )
        return
    damaged = _put_aside(LOCK.read_bytes())
    if BACKUP.is_file() and not _problem(BACKUP):
        _replace(LOCK, BACKUP.read_bytes())
        done = "that of the last check is back; DVC takes what is newer from its run cache"
    elif committed := _committed():
        _replace(LOCK, committed)
        done = "that of git's last commit is back; DVC takes what is newer from its run cache"
    else:
        LOCK.unlink()
        done = "DVC takes finished stages from its run cache and writes it anew"
    cause = "" if problem == _UNREADABLE else ", as a DVC that was killed leaves it"
    yield f"{LOCK} {problem}{cause}: {done} (the damaged one is {damaged})"


def _put_aside(content: bytes) -> Path:
    """Beside earlier damaged files, which stay."""
    path, number = DAMAGED, 1
    while path.exists() and not (path.is_file() and path.read_bytes() == content):
        number += 1
        path = DAMAGED.with_name(f"{DAMAGED.name}.{number}")
    _replace(path, content)
    return path


def _committed() -> bytes:
    """dvc.lock as git's last commit has it; empty without git, or where it is not committed."""
    try:
        shown = subprocess.run(["git", "show", f"HEAD:./{LOCK}"], capture_output=True)
    except OSError:
        return b""
    return shown.stdout if shown.returncode == 0 else b""


def _problem(path: Path = LOCK) -> str:
    """What is wrong with a dvc.lock, as the end of a sentence; empty for one that is complete or missing.

    Raises:
        BadData, Blocked: it has a problem that a kill cannot cause.
    """
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from ruamel.yaml.error import YAMLError
    from voluptuous import Invalid

    if not path.is_file():
        if path.is_symlink() or path.exists():
            raise Blocked(Code.BLOCKED, path, "not a file, or a link to none, and DVC writes one there", "move it away")
        return ""
    text = path.read_text(encoding="utf-8", errors="replace")
    if conflict := _CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        remedy = "take one side (git checkout --ours dvc.lock, or --theirs) and run again"
        problem = f"git left both sides of a merge ('{conflict[1]}')"
        raise BadData(Code.DVC, f"{path}:{line}", problem, remedy)
    if not text.strip():
        return "is empty"
    try:
        document = _parsed(text)
        version = document.get("schema") if isinstance(document, dict) else None
        if isinstance(version, str) and version != SCHEMA:
            remedy = "install the version of DVC that wrote it; or remove it, and all stages run again"
            problem = f"schema '{version}', and this version of DVC reads '{SCHEMA}'"
            raise BadData(Code.DVC, path, problem, remedy)
        stages = COMPILED_LOCKFILE_SCHEMA(document).get("stages", {})
    except (YAMLError, Invalid, ValueError):
        is_dvcs = text.startswith(_BEGINNING) or _BEGINNING.startswith(text)
        return "is cut short" if is_dvcs and not _NOT_TEXT.search(text) else _UNREADABLE
    # A cut file may be valid for DVC, e.g. with half of a checksum: then DVC would run the stage again.
    last_stage = list(stages.values())[-1] if stages else {}
    if not last_stage.get("outs"):  # each stage of dvc.yaml has outs; a file cut at the end of a line is still YAML
        return "is cut short"
    last = last_stage["outs"][-1]
    keys = {"size", "nfiles"} if str(last.get("md5")).endswith(".dir") else {"size"}
    lacks = keys - last.keys() if "md5" in last else None
    return "is cut short" if lacks or not text.endswith("\n") else ""


def _mend_marks() -> Iterator[str]:
    """.dvc/tmp/rwlock: {"write": {path: mark}, "read": {path: [mark, ...]}}, a mark being {"pid": ..., "cmd": ...}."""
    path = STATE / "rwlock"
    with _held(STATE / "rwlock.lock") as is_ours:
        if not is_ours or not _is_file(path):
            return
        moment = path.stat().st_mtime
        try:
            marks = json.loads(path.read_text(encoding="utf-8"))
            if marks.keys() - {"write", "read"}:
                raise ValueError("not of DVC's form")
            write = {
                where: mark for where, mark in marks.get("write", {}).items() if not has_ended(mark["pid"], moment)
            }
            read = {
                where: alive
                for where, each in marks.get("read", {}).items()
                if (alive := [mark for mark in each if not has_ended(mark["pid"], moment)])
            }
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            path.unlink()
            yield f"{path} cannot be read (a DVC that was killed may leave it so): removed; only a running DVC needs it"
            return
        if (write, read) != (marks.get("write", {}), marks.get("read", {})):
            _replace(path, json.dumps({"write": write, "read": read}).encode())


def _remove_temporaries() -> Iterator[str]:
    for folder in sorted({Path(out).parent for out in _outputs()}):
        for path in sorted(folder.glob(".*.tmp")):
            if _TEMPORARY.fullmatch(path.name) and path.is_file():
                path.unlink()
                yield f"{path} removed: a copy that DVC had begun when it was killed"


def _outputs() -> Iterator[str]:
    """Every output of dvc.yaml, as it stands there (`models/finetune/${key}`); DVC reports errors in dvc.yaml."""
    from ruamel.yaml.error import YAMLError

    try:
        graph = _parsed(GRAPH.read_text(encoding="utf-8"))
        stages = [stage.get("do", stage) for stage in graph.get("stages", {}).values()]
        outs = [out for stage in stages for kind in ("outs", "metrics", "plots") for out in stage.get(kind, [])]
        yield from [out if isinstance(out, str) else min(out) for out in outs]  # of one key
    except (OSError, YAMLError, ValueError, AttributeError, TypeError):
        return


def _parsed(text: str) -> Any:
    """YAML, as DVC writes and reads it.

    Raises:
        YAMLError, ValueError: it is not YAML, or nested so deep that the parser would crash the process.
    """
    from ruamel.yaml import YAML

    if _DEEP.search(text):
        raise ValueError("nested too deep")
    return YAML(typ="safe").load(text)


def _index_lock() -> Iterator[str]:
    try:
        answer = subprocess.run(["git", "rev-parse", "--git-path", "index.lock"], capture_output=True, text=True)
    except OSError:
        return
    path = Path(answer.stdout.strip())
    if answer.returncode == 0 and path.is_file():
        yield (
            f"warning: {path} is there: a git is at work here, or a git or DVC was killed; while it is there, DVC ends"
            f" with 255 after its last stage. If no git is at work: rm {path}"
        )


@contextmanager
def _held(lock: Path) -> Iterator[bool]:
    """A lock of DVC's (zc.lockfile: the kernel's, it dies with its holder), if no other process has it."""
    with ExitStack() as closing:
        is_ours = True
        try:
            if _is_file(lock):  # else no DVC has run here
                fcntl.flock(closing.enter_context(lock.open("r+")), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            pass
        except BlockingIOError:
            is_ours = False
        yield is_ours


def _is_file(path: Path) -> bool:
    """Whether DVC has written this file of its state.

    Raises:
        Blocked: something else stands there.
    """
    if path.exists() and not path.is_file():
        problem = "not a file, and DVC writes one there"
        raise Blocked(Code.BLOCKED, path, problem, "move it away while no DVC is at work")
    return path.is_file()


def _replace(target: Path, content: bytes) -> None:
    with atomic_write(target) as part:
        part.write_bytes(content)
