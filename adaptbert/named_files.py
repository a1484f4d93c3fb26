"""The files that params.yaml names: where one is wrong, it is told before DVC starts, with what lies beside it.

In: the whole file, each section valid; out: an error for each path. DVC itself would stop at the first of them, with no
more than "no such file".
"""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptbert import look_alikes
from adaptbert.errors import BadData, UserError, closest, shortened

_SAFE = re.compile(r"[\w./@%+=:,-]+")
"""What DVC can pass to a command as one word."""


_MOST_SHOWN = 255
"""Characters of a path."""


def check(document: Mapping[str, Any], file: Path) -> list[UserError]:
    """Paths that are not there, or that no command can carry.

    Args:
        file: for the messages.
    """
    paths = [*_paths(document)]
    named = {Path(path) for _, path in paths}
    return [error for key, path in paths if (error := _problem(f"{file}: {key}", path, named))]


def unusable(document: Mapping[str, Any]) -> set[str]:
    """The paths that `check` finds fault with."""
    paths = [*_paths(document)]
    return {path for key, path in paths if _problem(key, path, ()) is not None}


def is_safe(path: str) -> bool:
    """Whether a path can stand in a command of dvc.yaml."""
    return _SAFE.fullmatch(path) is not None


def _problem(place: str, name: str, named: Collection[Path]) -> UserError | None:
    path, shown, like = Path(name), shortened(name, _MOST_SHOWN), look_alikes.find(name)
    if name.startswith("~"):
        return BadData(153, place, f"{shown}: ~ is not expanded", "write the path out")
    try:
        is_there = path.exists()
        if not is_there and like:
            return BadData(50, place, f"{shown}: no such file", f"{like.name} stands in it: {like.remedy}")
        if not is_safe(name):
            problem = f"{shown!r}: a name with blanks or quotes cannot be passed on to a command"
            return BadData(145, place, problem, "rename it, or link it to a plain name: ln -s")
        if not is_there:
            problem = f"{shown}: no such file{_nearest(path, named)}"
            return BadData(50, place, problem, "put it there, or write where it is")
    except OSError as error:  # a name that is too long, a folder that may not be read
        return BadData(49, place, f"{shown}: cannot be read: {error.strerror}", "check the path and its permissions")
    return None


def _nearest(path: Path, named: Collection[Path]) -> str:
    """A file beside it that no other key names and whose name, but for the format, is like its own."""
    beside = [other for other in path.parent.iterdir() if other not in named] if path.parent.is_dir() else []
    names = {_stem(other): other.name for other in sorted(beside)}
    found = closest(_stem(path), [*names])
    return "" if found is None else f" (did you mean '{names[found]}'?)"


def _stem(path: Path) -> str:
    """The name without what tells the format."""
    return Path(path.name.removesuffix(".gz")).stem


def _paths(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every file that is read, with its key; one that stands for several splits comes once."""
    for name, values in document["collect"].items():
        yield f"collect.{name}.path", values["path"]
    yield "tokenize.words.dictionary", document["tokenize"]["words"]["dictionary"]
    for name, values in document["collect_task"].items():
        seen = {values[split]: split for split in ("test", "dev", "train")}
        yield from ((f"collect_task.{name}.{split}", path) for path, split in reversed(seen.items()))
