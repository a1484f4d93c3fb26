"""Writes params.yaml and plan.json in the place where the user keeps them: through a link, and with their mode."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os.path import realpath
from pathlib import Path

from adaptbert.core.files import atomic_write


def write(target: Path, content: bytes) -> None:
    """Replace what a file says, at once or not at all.

    The file behind a link is replaced, not the link. The new file has the permissions of the old one, so that what
    only its owner could read stays so.
    """
    file = Path(realpath(target))
    with atomic_write(file) as part:
        part.write_bytes(content)
        if file.is_file():
            shutil.copymode(file, part)


@contextmanager
def replaced(target: Path, content: str) -> Iterator[None]:
    """Write `content` to the file; restore the previous content where the block fails."""
    before = target.read_bytes() if target.is_file() else None
    write(target, content.encode())
    try:
        yield
    except BaseException:
        if before is None:
            Path(realpath(target)).unlink()
        else:
            write(target, before)
        raise
