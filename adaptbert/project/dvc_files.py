"""Partial files that a killed DVC leaves, repaired before the next `dvc repro` fails on them or runs stages again.

dvc.lock             cut short: replaced by the copy of the last check, or of git's last commit, or removed; DVC
                     restores the missing stages from its run cache instead of running them. Gone: reported.
.dvc/tmp/rwlock      the paths that a running DVC uses; cut short, or with entries of an ended process: repaired
.<22 letters>.tmp    copies that DVC had begun beside its outputs: removed

What no kill leaves (both sides of a merge, another version of DVC, a folder) is not touched: DVC says what it is.
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.core.processes import has_ended
from adaptbert.project import editing
from adaptbert.runtime.locks import ROOT, Busy

LOCK = Path("dvc.lock")
STATE = Path(".dvc/tmp")
BACKUP = ROOT / "dvc.lock"
PATIENCE_SECONDS = 60.0
OUTPUTS = ("data", "models", "metrics", "predictions", "reports")
_OURS = Path("data/own")
_TEMPORARY = re.compile(r"\.[\w-]{22}\.tmp")
_NOT_OF_A_KILL = re.compile(r"^(<<<<<<<|>>>>>>>)|^schema: '(?!2\.0')[^'\n]*'$", re.MULTILINE)
_DEEP = re.compile(r"(?:[\[{]\s*|[-?] \s*){200}")


def mend(patience: float = PATIENCE_SECONDS) -> list[str]:
    """Repair the files that a killed DVC left in this project; returns a line for each repair.

    It holds DVC's own lock, so that files that another DVC is writing are not touched.

    Args:
        patience: seconds to wait for such a DVC where dvc.lock does not look whole.

    Raises:
        Busy: it is still not whole, and a DVC that is at work may be writing it.
    """
    if not (os.access(STATE.parent, os.W_OK) and os.access(LOCK.parent, os.W_OK)):  # no DVC project, or not writable
        return []
    give_up = time.monotonic() + patience
    while True:
        with _held(STATE / "lock") as is_ours:
            if is_ours:
                return [*_mend_lock(), *_mend_marks(), *_remove_temporaries()]
        if is_whole(LOCK):
            return []
        if time.monotonic() > give_up:
            problem = f"not whole for {patience:.0f} s while another DVC process is at work here"
            raise Busy(Code.DVC, LOCK, problem, "wait for it, or stop it, and run again")
        time.sleep(0.2)


def _mend_lock() -> Iterator[str]:
    if not LOCK.is_file():
        if not LOCK.exists() and BACKUP.is_file():
            restored = f"cp {BACKUP} {LOCK} brings that of the last check back"
            yield f"warning: {LOCK} is gone: {restored}; without it DVC takes what it can from its run cache"
        return
    content = LOCK.read_bytes()
    if is_whole(LOCK):
        if not (BACKUP.is_file() and BACKUP.read_bytes() == content):
            editing.write(BACKUP, content)
        return
    if _NOT_OF_A_KILL.search(content.decode(errors="replace")):
        return
    damaged = ROOT / f"dvc.lock.damaged-{sha256(content).hexdigest()[:8]}"  # beside earlier ones
    editing.write(damaged, content)
    if BACKUP.is_file() and is_whole(BACKUP):
        editing.write(LOCK, BACKUP.read_bytes())
        done = "that of the last check is back"
    elif before := editing.committed(LOCK):
        editing.write(LOCK, before)
        done = "that of git's last commit is back"
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
        if _DEEP.search(text):  # the parser would crash the process
            return False
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
            alive = {
                "write": {where: mark for where, mark in marks["write"].items() if not has_ended(mark["pid"], moment)},
                "read": {
                    where: left
                    for where, each in marks["read"].items()
                    if (left := [mark for mark in each if not has_ended(mark["pid"], moment)])
                },
            }
        except (ValueError, Invalid, RecursionError, OverflowError):
            path.unlink()
            yield f"{path} cannot be read (a DVC that was killed may leave it so): removed; only a running DVC needs it"
            return
        if alive != marks:
            editing.write(path, json.dumps(alive).encode())


def _remove_temporaries() -> Iterator[str]:
    for folder in OUTPUTS:
        for path in sorted(Path(folder).rglob(".*.tmp")):
            if _TEMPORARY.fullmatch(path.name) and path.is_file() and _OURS not in path.parents:
                path.unlink()
                yield f"{path} removed: a copy that DVC had begun when it was killed"


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
