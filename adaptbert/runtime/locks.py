"""One process at a time works on a stage: a lock in `.work/<stage>/`, which the kernel releases with its process.

A folder `.work/<stage>/` also holds what an unfinished run needs to go on (adaptbert.training.resume).
`remove_finished` removes those of finished stages.
"""

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import ENOTEMPTY
from hashlib import md5
from pathlib import Path

from filelock import FileLock, Timeout

from adaptbert.codes import Code
from adaptbert.core.files import atomic_write, make_folder
from adaptbert.errors import Temporary

ROOT = Path(".work")
PATIENCE_SECONDS, SILENT_SECONDS, POLL_SECONDS = 60.0, 3.0, 0.2
LOCK, FINISHED = "lock", "finished"


@contextmanager
def stage_lock(stage: str, patience: float = PATIENCE_SECONDS) -> Iterator[Path]:
    """The folder of a stage, for this process alone: not for its forked children, and not after its death.

    Args:
        stage: named by its output, e.g. `models-finetune-section-domain`.
        patience: seconds to wait for a holder that may be about to end, such as the stage of a killed DVC, which still
            finishes its optimizer step and saves its state. After three seconds it prints that it waits.

    Raises:
        Temporary: another process holds it.
        Unwritable: a file stands where the folder belongs.
    """
    folder = ROOT / stage
    lock = FileLock(folder / LOCK, poll_interval=POLL_SECONDS, on_acquired=_sign)
    if not _acquire(lock, min(patience, SILENT_SECONDS)):
        if patience > SILENT_SECONDS:
            print(f"{_holder(folder)} works on this stage: waiting {patience:.0f} s for it to end", flush=True)
        if not _acquire(lock, max(0, patience - SILENT_SECONDS)):
            remedy = "wait for it, or stop it, and run again"
            raise Temporary(Code.LOCKED, folder, f"{_holder(folder)} works on this stage", remedy)
    try:
        yield folder
    finally:
        lock.release()


def _acquire(lock: FileLock, patience: float) -> bool:
    folder = Path(lock.lock_file).parent
    make_folder(folder)
    try:
        lock.acquire(timeout=patience)
    except (Timeout, FileNotFoundError):  # not found: `remove_finished` has just removed the folder
        return False
    return True


def _sign(descriptor: int) -> None:
    """Write into the lock who holds it."""
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())


def _holder(folder: Path) -> str:
    """The holder of the lock, for messages; unknown until it has signed."""
    with suppress(FileNotFoundError):
        if signature := (folder / LOCK).read_text(encoding="utf-8"):
            return signature
    return "another process"


def finish(folder: Path, metrics: Path) -> None:
    """The outputs of a stage are written; its folder may go as soon as dvc.lock knows this metrics file."""
    digest = md5(metrics.read_bytes(), usedforsecurity=False).hexdigest()
    with atomic_write(folder / FINISHED) as path:  # atomic: half of a digest, or an empty one, would match any dvc.lock
        path.write_text(digest, encoding="utf-8")


def remove_finished(dvc_lock: Path = Path("dvc.lock")) -> None:
    """Remove the state of finished stages that DVC has recorded: before that, a kill would train again from zero."""
    recorded = dvc_lock.read_text(encoding="utf-8") if dvc_lock.is_file() else ""
    for mark in sorted(ROOT.glob(f"*/{FINISHED}")):
        with suppress(Temporary, FileNotFoundError), stage_lock(mark.parent.name, 0):
            if mark.read_text(encoding="utf-8") in recorded:
                try:
                    shutil.rmtree(mark.parent)
                except OSError as error:  # another stage that looks here has just made the lock anew: it stays
                    if error.errno != ENOTEMPTY:
                        raise
