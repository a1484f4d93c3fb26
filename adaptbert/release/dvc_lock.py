"""dvc.lock: from which files an output was made, and whether those that lie here are these, to the last bit."""

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from adaptbert.codes import Code
from adaptbert.core.record import RUN_AGAIN
from adaptbert.errors import BadData, raise_all

LOCK = Path("dvc.lock")


def made_from(output: Path, lock: Path = LOCK) -> dict[str, str]:
    """md5 of all files and folders from which an output was made, as in dvc.lock: what its stage read and wrote, what
    the stages read and wrote that made these, and so on, up to the files of the user.

    Raises:
        BadData: no stage has written it.
    """
    from ruamel.yaml import YAML

    document = YAML(typ="safe", pure=True).load(lock.read_text("utf-8")) if lock.is_file() else None
    stages = dict((document or {}).get("stages", {}))
    recorded: dict[str, str] = {}
    waiting = [output.as_posix()]
    while waiting:
        path = waiting.pop()
        makers = [name for name, each in stages.items() if any(_overlap(path, out) for out in _files(each, "outs"))]
        for stage in map(stages.pop, makers):
            read = _files(stage, "deps")
            recorded |= read | _files(stage, "outs")
            waiting += read
    if output.as_posix() not in recorded:
        raise BadData(Code.NOT_SUPPORTED, lock, f"no stage has written {output}", "run `make recipe`")
    return dict(sorted(recorded.items()))


def _files(stage: Mapping[str, Any], kind: str) -> dict[str, str]:
    """Path -> md5 of the outputs or dependencies of a stage."""
    return {each["path"]: each["md5"] for each in stage.get(kind, ())}


def _overlap(one: str, other: str) -> bool:
    """Whether two paths are equal, or one lies in the other."""
    first, second = PurePosixPath(one), PurePosixPath(other)
    return first == second or first in second.parents or second in first.parents


def check(recorded: Mapping[str, str], paths: Iterable[Path]) -> None:
    """Refuse files and folders that are missing or have other bytes than dvc.lock records.

    Raises:
        BadData: for all of them.
    """
    failures = []
    for path in paths:
        expected, there = recorded.get(path.as_posix()), md5(path)
        if there is None or there != expected:
            problem = f"md5 {there}, and dvc.lock has {expected}" if there else "missing, and dvc.lock has it"
            failures.append(BadData(Code.DAMAGED_CHECKPOINT, path, problem, RUN_AGAIN))
    raise_all(failures)


def md5(path: Path) -> str | None:
    """The digest of a file or folder as DVC has it, from its bytes: DVC itself trusts times and sizes of files that it
    has seen; None where there is none."""
    from dvc.fs import LocalFileSystem
    from dvc_data.hashfile.build import build
    from dvc_data.hashfile.db import HashFileDB

    if not path.exists():
        return None
    files = LocalFileSystem()
    _, _, made = build(HashFileDB(files, str(path.parent)), str(path.absolute()), files, "md5", dry_run=True)
    return made.hash_info.value
