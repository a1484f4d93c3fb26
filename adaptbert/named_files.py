"""The files that params.yaml names: where one is wrong, it is told before DVC starts, with what lies beside it.

In: the whole file, each section valid; out: an error for each path. DVC itself would stop at the first of them, with no
more than "no such file".
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptbert.errors import BadData, UserError, nearest


def check(document: Mapping[str, Any], file: Path) -> list[UserError]:
    """Paths that are not there.

    Args:
        file: for the messages.
    """
    return [error for key, path in _paths(document) if (error := _problem(f"{file}: {key}", path))]


def _problem(place: str, name: str) -> UserError | None:
    if name.startswith("~"):
        return BadData(153, place, f"{name}: ~ is not expanded", "write the path out")
    path = Path(name)
    if not path.exists():
        beside = sorted(other.name for other in path.parent.iterdir()) if path.parent.is_dir() else []
        problem = f"{name}: no such file{nearest(path.name, beside)}"
        return BadData(50, place, problem, "put it there, or write where it is")
    return None


def _paths(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every file that is read, with its key; one that stands for several splits comes once."""
    for name, values in document["collect"].items():
        yield f"collect.{name}.path", values["path"]
    yield "tokenize.words.dictionary", document["tokenize"]["words"]["dictionary"]
    for name, values in document["collect_task"].items():
        seen = {values[split]: split for split in ("test", "dev", "train")}
        yield from ((f"collect_task.{name}.{split}", path) for path, split in reversed(seen.items()))
