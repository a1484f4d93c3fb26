"""The files that params.yaml names: missing or unusable ones are reported before DVC starts.

DVC itself would stop at the first of them, with no
more than "no such file".
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import FOLDERS
from adaptbert.config.schema.sources import maker
from adaptbert.data.read_text import special
from adaptbert.errors import BadData, UserError, closest, shortened

_MOST_SHOWN = 255
"""Characters of a path."""


def check(recipe: Recipe) -> list[tuple[str, UserError]]:
    """Missing paths, and those of pipes, sockets or devices, which cannot be read to an end, each with its error."""
    every = list(dict.fromkeys(paths(recipe)))
    named = {Path(path) for _, path in every}
    return [(path, error) for key, path in every if (error := _problem(f"{recipe.file}: {key}", path, named))]


def unnamed(recipe: Recipe, files: Collection[Path]) -> list[Path]:
    """The files that no key names, neither by itself nor by its folder."""
    named = {Path(name) for _, name in paths(recipe)}
    return [file for file in files if named.isdisjoint((file, *file.parents))]


def _special(path: Path) -> Iterator[tuple[Path, str]]:
    """Pipes, sockets and devices: the path itself, or those in a folder, hidden or not, because DVC reads all of it."""
    if not path.is_dir():
        if kind := special(path.stat().st_mode):
            yield path, kind
        return
    for folder, _, names in os.walk(path):
        for name in names:
            inside = Path(folder, name)
            if not inside.is_file() and inside.exists() and (kind := special(inside.stat().st_mode)):
                yield inside, kind


def _problem(place: str, name: str, named: Collection[Path]) -> UserError | None:
    path, shown = Path(name), shortened(name, _MOST_SHOWN)
    if name.startswith("~"):
        return BadData(Code.FILE, place, f"{shown}: ~ is not expanded", "write the path out")
    try:
        if not path.exists():
            return _missing(place, path, named)
        for inside, kind in _special(path):
            problem = f"{shortened(str(inside), _MOST_SHOWN)}: {kind}, not a regular file"
            return BadData(Code.FILE, place, problem, "put its text into a file: DVC would read it for ever")
        return None
    except OSError as error:  # a name that is too long, a folder that may not be read
        problem = f"{shown}: cannot be read: {error.strerror}"
        return BadData(Code.FILE, place, problem, "check the path and its permissions")


def _missing(place: str, path: Path, named: Collection[Path]) -> UserError:
    """With the command that restores the file where DVC tracks it."""
    shown = shortened(str(path), _MOST_SHOWN)
    if (recorded := _record_of(path)) is not None:
        remedy = f"get it from the remote: dvc pull {recorded}; or from this clone's cache: dvc checkout {recorded}"
        return BadData(Code.FILE, place, f"{shown}: no such file", remedy)
    made = maker(str(path))
    remedy = f"make it: {made}" if made else "put it there, or write where it is"
    if path.is_relative_to(FOLDERS):
        remedy = f"put a checkpoint there: `adaptbert import SOURCE --base {path.parent.name}`"
    problem = f"{shown}: no such file{_nearest(path, named)}"
    return BadData(Code.FILE, place, problem, remedy)


def _record_of(path: Path) -> Path | None:
    """The target of `dvc pull` that restores `path`: itself, or a parent folder, with a .dvc file beside it."""
    return next((place for place in (path, *path.parents) if place.name and Path(f"{place}.dvc").is_file()), None)


def _nearest(path: Path, named: Collection[Path]) -> str:
    """A file in the same folder with a similar name, apart from the format, that no other key names."""
    files = path.parent.iterdir() if path.parent.is_dir() else ()
    beside = [other for other in files if other not in named and other.suffix != ".dvc"]
    names = {_stem(other): other.name for other in sorted(beside)}
    stem = closest(_stem(path), [*names])
    return "" if stem is None else f" (did you mean '{names[stem]}'?)"


def _stem(path: Path) -> str:
    """The name without the suffixes of format and compression."""
    return Path(path.name.removesuffix(".gz")).stem


def paths(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Every file that is read, with its key; one that stands for several splits comes once."""
    for corpus in recipe.corpora.values():
        yield f"{corpus.key}.path", corpus.path
    for name in recipe.bases:
        dictionary = recipe.values("tokenize", {"base": name}).words.dictionary
        yield recipe.place("tokenize", {"base": name}, "words", "dictionary"), dictionary
    for task in recipe.tasks.values():
        seen = {getattr(task, split): split for split in ("test", "dev", "train")}
        yield from ((f"{task.key}.{split}", path) for path, split in reversed(seen.items()))
    for name, base in recipe.bases.items():
        folder = Path(FOLDERS, name)
        if base.checkpoint == folder.as_posix():
            recorded = {path.stem for path in folder.glob("*.dvc")}
            for part in sorted({"config.json", *recorded}):
                yield "base" if "base" in recipe.written else f"bases.{name}", (folder / part).as_posix()
