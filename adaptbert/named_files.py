"""The files that params.yaml names: where one is wrong, it is told before DVC starts, with what lies beside it.

In: the whole file, each section valid; out: an error for each path. DVC itself would stop at the first of them, with no
more than "no such file".
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adaptbert.errors import BadData, UserError, nearest
from adaptbert.repository import kept_outputs, record_of


def check(document: Mapping[str, Any], file: Path) -> list[UserError]:
    """Paths that are not there.

    Args:
        file: for the messages.
    """
    paths = list(_paths(document))
    kept = kept_outputs(path for _, name in paths if not (path := Path(name)).exists())
    return [error for key, path in paths if (error := _problem(f"{file}: {key}", path, kept))]


def _problem(place: str, name: str, kept: Mapping[Path, Sequence[str]]) -> UserError | None:
    if name.startswith("~"):
        return BadData(153, place, f"{name}: ~ is not expanded", "write the path out")
    path = Path(name)
    return None if path.exists() else _missing(place, path, kept[path])


def _missing(place: str, path: Path, kept: Sequence[str]) -> UserError:
    """With the way to get the file back where DVC has a record of it.

    Args:
        kept: what was made from it, and is still here.
    """
    rest = f" ({', '.join(kept)}, made from it, stays as it is)" if kept else ""
    if (recorded := record_of(path)) is not None:
        remedy = f"get it from the remote: dvc pull {recorded}; or from this clone's cache: dvc checkout {recorded}"
        return BadData(50, place, f"{path}: no such file{rest}", remedy)
    names = sorted(other.name for other in path.parent.iterdir()) if path.parent.is_dir() else []
    close = nearest(path.name, [name for name in names if not name.endswith(".dvc")])
    return BadData(50, place, f"{path}: no such file{close}{rest}", "put it there, or write where it is")


def _paths(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every file that is read, with its key; one that stands for several splits comes once."""
    for name, values in document["collect"].items():
        yield f"collect.{name}.path", values["path"]
    yield "tokenize.words.dictionary", document["tokenize"]["words"]["dictionary"]
    for name, values in document["collect_task"].items():
        seen = {values[split]: split for split in ("test", "dev", "train")}
        yield from ((f"collect_task.{name}.{split}", path) for path, split in reversed(seen.items()))
    start = Path(document["pretrain"]["init"])
    if start.is_dir():  # neither `scratch` nor a name on the hub
        recorded = {path.stem for path in start.glob("*.dvc")}
        yield from (("pretrain.init", (start / name).as_posix()) for name in sorted({"config.json", *recorded}))
