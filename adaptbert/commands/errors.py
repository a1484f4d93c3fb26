"""Errors of the user as one message, without a traceback."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from adaptbert.codes import Code
from adaptbert.core.files import Blocked, full_disk
from adaptbert.errors import UserError
from adaptbert.runtime.signals import Interrupted


@contextmanager
def user_errors() -> Iterator[None]:
    """Prints the message of a user's error, or the name of a signal that was raised, and exits with its code, without a
    traceback."""
    try:
        yield
    except Interrupted as interrupted:
        print(f"{interrupted}; run the command again", file=sys.stderr)
        sys.exit(interrupted.exit_code)
    except UserError as error:
        _fail(error)
    except PermissionError as error:
        _fail(_not_allowed(error))
    except OSError as error:
        if full := full_disk(error):
            _fail(full)
        raise


def _not_allowed(error: PermissionError) -> Blocked:
    """What may not be done, and where: a new file fails by its temporary name, and the cause is its folder."""
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else Path()
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
    return Blocked(Code.BLOCKED, shown, f"you have no permission to {what}", remedy)


def _fail(error: UserError) -> NoReturn:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
