"""One process at a time works on a stage: a lock in `.work/<stage>/` that dies with its holder.

A folder `.work/<stage>/` also holds what an unfinished run needs to go on (adaptbert.training.resume); `sweep` removes
it when it is no longer of use.
"""

import fcntl
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import md5
from pathlib import Path

from adaptbert.base.files import make_folder, whole
from adaptbert.codes import Code
from adaptbert.errors import TEMPORARY, UserError

ROOT = Path(".work")
PATIENCE_SECONDS, SILENT_SECONDS = 60.0, 3.0
LOCK, FINISHED = "lock", "finished"


class Busy(UserError):
    """Another process works on the same stage, or on the same file."""

    exit_code = TEMPORARY


@contextmanager
def hold(stage: str, patience: float = PATIENCE_SECONDS) -> Iterator[Path]:
    """The folder of a stage, for this process alone.

    Args:
        stage: told from others by what it writes, e.g. `models-finetune-section-domain`.
        patience: seconds to wait for a holder that may just be ending, such as the stage of a DVC that was killed: it
            finishes its optimizer step and saves its state. After the first few a line says so.

    Raises:
        Busy: another process holds it.
        BadData: a file stands where the folder belongs.
    """
    folder = ROOT / stage
    make_folder(folder)
    began, is_told = time.monotonic(), False
    with (folder / LOCK).open("a+", encoding="utf-8") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - began
                file.seek(0)
                holder = file.read().strip() or "another process"
                if waited > patience:
                    remedy = "wait for it, or stop it, and run again"
                    raise Busy(Code.LOCKED, folder, f"{holder} works on this stage", remedy) from None
                if waited > SILENT_SECONDS and not is_told:
                    print(f"{holder} works on this stage: waiting {patience:.0f} s for it to end", flush=True)
                    is_told = True
                time.sleep(0.2)
        # A forked child inherits the lock and would hold it after this process was killed.
        os.register_at_fork(after_in_child=lambda: _release(file.fileno()) if not file.closed else None)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield folder


def finish(folder: Path, metrics: Path) -> None:
    """The outputs of a stage are written; its folder may go as soon as dvc.lock knows this metrics file."""
    digest = md5(metrics.read_bytes(), usedforsecurity=False).hexdigest()
    with whole(folder / FINISHED) as path:  # half of a digest, or none, is in any dvc.lock
        path.write_text(digest, encoding="utf-8")


def sweep(dvc_lock: Path = Path("dvc.lock")) -> None:
    """Remove the state of finished stages that DVC has recorded: before that, a kill would train again from zero."""
    recorded = dvc_lock.read_text(encoding="utf-8") if dvc_lock.is_file() else ""
    for mark in sorted(ROOT.glob(f"*/{FINISHED}")):
        with suppress(Busy, FileNotFoundError), hold(mark.parent.name, 0):
            if mark.read_text(encoding="utf-8") in recorded:
                shutil.rmtree(mark.parent)


def _release(descriptor: int) -> None:
    with suppress(OSError):
        os.close(descriptor)
