"""The state of this project in DVC, read in this process."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dvc.repo import Repo


@contextmanager
def open_repository() -> Iterator["Repo"]:
    """The repository of the current folder; raises DvcException where it cannot be read.

    Without git (an unpacked archive) DVC needs `core.no_scm`, in this process as in the Makefile.
    """
    from dvc.repo import Repo

    here = Path.cwd()
    has_git = any((folder / ".git").exists() for folder in (here, *here.parents))
    with warnings.catch_warnings():
        # DVC asks pygtrie by a name that pygtrie will drop; a user cannot change that.
        warnings.filterwarnings("ignore", message=".*_NoneStep", category=DeprecationWarning)
        with Repo(config=None if has_git else {"core": {"no_scm": True}}) as repo:
            yield repo


def record_of(path: Path) -> Path | None:
    """The target of `dvc pull` that restores `path`: itself, or a parent folder, with a .dvc file beside it."""
    return next((place for place in (path, *path.parents) if place.name and Path(f"{place}.dvc").is_file()), None)
