"""The state of this project in DVC, read in this process."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dvc.repo import Repo

LOCK = Path("dvc.lock")


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


def current_outputs(sources: Iterable[Path]) -> dict[Path, list[str]]:
    """File -> its outputs that are in the workspace as dvc.lock has them; empty where DVC cannot be read."""
    from dvc.exceptions import DvcException

    outputs: dict[Path, list[str]] = {source: [] for source in sources}
    lock = LOCK.read_text(encoding="utf-8", errors="replace") if LOCK.is_file() else ""
    if not any(source.as_posix() in lock for source in outputs):
        return outputs  # saves the second that importing DVC takes
    with suppress(DvcException), open_repository() as repo:
        for stage in repo.index.stages:
            for source in {Path(dep.def_path) for dep in stage.deps} & outputs.keys():
                if not any(out.workspace_status() for out in stage.outs):
                    outputs[source] += [out.def_path for out in stage.outs]
    return outputs


def record_of(path: Path) -> Path | None:
    """The target of `dvc pull` that restores `path`: itself, or a parent folder, with a .dvc file beside it."""
    return next((place for place in (path, *path.parents) if place.name and Path(f"{place}.dvc").is_file()), None)
