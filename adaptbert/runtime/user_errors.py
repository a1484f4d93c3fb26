"""Errors of the user as one message, without a traceback."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.core.files import full_disk
from adaptbert.errors import BadParams, Unwritable, UserError
from adaptbert.runtime.signals import Interrupted
from adaptbert.runtime.worker_pool import lost_worker


@contextmanager
def user_errors(again: str = "run the command again") -> Iterator[None]:
    """Prints the message of a user's error, or the name of a signal that was raised, and exits with its code, without a
    traceback.

    Args:
        again: what a user does after a signal.
    """
    try:
        yield
    except Interrupted as interrupted:
        print(f"{interrupted}; {again}", file=sys.stderr)
        sys.exit(interrupted.exit_code)
    except Exception as error:
        if (known := known_error(error)) is None:
            raise
        print(f"error: {known}", file=sys.stderr)
        sys.exit(known.exit_code)


def known_error(error: Exception) -> UserError | None:
    """The error for users; None where the fault is ours."""
    if isinstance(error, UserError):
        return error
    if isinstance(error, PermissionError) and isinstance(error.filename, str | bytes):
        return _not_allowed(Path(os.fsdecode(error.filename)))
    if type(error).__name__ == "OutOfMemoryError":  # of torch, which takes seconds to import
        problem = str(error).partition(". GPU ")[0]
        remedy = "lower micro_batch_tokens, or finetune.micro_batch_size; if it stays, ADAPTBERT_STAGES_PER_DEVICE"
        return BadParams(Code.DEVICE_MEMORY, "device", problem, remedy)
    return full_disk(error) or lost_worker(error)


def _not_allowed(path: Path) -> Unwritable:
    """What may not be done, and where: a new file fails by its temporary name, and the cause is its folder."""
    place = next(each for each in (path, *path.parents, Path("/")) if os.path.lexists(each))
    if not os.access(place, os.R_OK):
        what = "read it"
    elif place.is_dir() and not os.access(place, os.X_OK):
        what = "open what is in this folder"
    elif place.is_dir():
        what = "write into this folder"
    else:
        place, what = (place, "write it") if not os.access(place, os.W_OK) else (place.parent, "write into this folder")
    shown = place.absolute() if place == Path() else place
    remedy = "give yourself the permission (chmod), or ask the owner of it; then run again"
    return Unwritable(Code.BLOCKED, shown, f"you have no permission to {what}", remedy)
