"""What DVC knows of this project, asked in this process."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dvc.repo import Repo


@contextmanager
def opened() -> Iterator["Repo"]:
    """The repository of the current folder; raises DvcException where it cannot be read.

    Without git (an unpacked archive) DVC has to be told, in this process as in the Makefile.
    """
    from dvc.repo import Repo

    here = Path.cwd()
    has_git = any((folder / ".git").exists() for folder in (here, *here.parents))
    with warnings.catch_warnings():
        # DVC asks pygtrie by a name that pygtrie will drop; nothing that a user could mend.
        warnings.filterwarnings("ignore", message=".*_NoneStep", category=DeprecationWarning)
        with Repo(config=None if has_git else {"core": {"no_scm": True}}) as repo:
            yield repo


def kept_outputs(source: Path) -> list[str]:
    """Outputs that are made from `source` and lie here as dvc.lock has them; none where DVC cannot say."""
    from dvc.exceptions import DvcException

    try:
        with opened() as repo:
            return [
                out.def_path
                for stage in repo.index.stages
                if any(dep.def_path == source.as_posix() for dep in stage.deps)
                and not any(out.workspace_status() for out in stage.outs)
                for out in stage.outs
            ]
    except DvcException:
        return []


def record_of(path: Path) -> Path | None:
    """What `dvc pull` brings to get `path` back: itself, or a folder around it, with a .dvc file beside it."""
    return next((place for place in (path, *path.parents) if place.name and Path(f"{place}.dvc").is_file()), None)
