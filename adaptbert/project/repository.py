"""What DVC knows of this project, asked in this process."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dvc.repo import Repo

LOCK = Path("dvc.lock")


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


def kept_outputs(sources: Iterable[Path]) -> dict[Path, list[str]]:
    """What is made from each file and lies here as dvc.lock has it; nothing where DVC cannot say."""
    from dvc.exceptions import DvcException

    kept: dict[Path, list[str]] = {source: [] for source in sources}
    lock = LOCK.read_text(encoding="utf-8", errors="replace") if LOCK.is_file() else ""
    if not any(source.as_posix() in lock for source in kept):
        return kept  # known without the second that DVC takes
    with suppress(DvcException), opened() as repo:
        for stage in repo.index.stages:
            for source in {Path(dep.def_path) for dep in stage.deps} & kept.keys():
                if not any(out.workspace_status() for out in stage.outs):
                    kept[source] += [out.def_path for out in stage.outs]
    return kept


def record_of(path: Path) -> Path | None:
    """What `dvc pull` brings to get `path` back: itself, or a folder around it, with a .dvc file beside it."""
    return next((place for place in (path, *path.parents) if place.name and Path(f"{place}.dvc").is_file()), None)
