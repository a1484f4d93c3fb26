"""The files that params.yaml names: missing or unusable ones are reported before DVC starts, which would stop at the
first of them, with no more than "no such file"."""

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import FOLDERS
from adaptbert.config.schema.sources import maker
from adaptbert.errors import BadData, Place, UserError, closest, shortened

_MOST_SHOWN = 255
"""Characters of a path."""
_SPECIAL = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
"""Files that block when they are opened, or never end."""


def check(recipe: Recipe) -> list[tuple[str, UserError]]:
    """Missing paths, and those of pipes, sockets or devices, which cannot be read to an end, each with its error."""
    every = list(dict.fromkeys(paths(recipe)))
    named = {Path(path) for _, path in every}
    return [(path, error) for place, path in every if (error := _problem(place, path, named))]


def unnamed(recipe: Recipe, files: Collection[Path]) -> list[Path]:
    """The files that no key names, neither by itself nor by its folder."""
    named = {Path(name) for _, name in paths(recipe)}
    return [file for file in files if named.isdisjoint((file, *file.parents))]


def paths(recipe: Recipe) -> Iterator[tuple[Place, str]]:
    """Every file that is read, with its key; one that stands for several splits comes once."""
    for name, corpus in recipe.corpora.items():
        yield recipe.at("corpora", name, "path"), corpus.path
    for base in recipe.bases:
        names = {"base": base}
        dictionary = recipe.values("tokenize", names).words.dictionary
        yield recipe.place("tokenize", names, "words", "dictionary"), dictionary
    for name, task in recipe.tasks.items():
        seen = {getattr(task, split): split for split in ("test", "dev", "train")}
        yield from ((recipe.at("tasks", name, split), path) for path, split in reversed(seen.items()))
    for base, weights in recipe.bases.items():
        folder = Path(FOLDERS, base)
        if weights.checkpoint == folder.as_posix():
            recorded = {path.stem for path in folder.glob("*.dvc")}
            yield from (
                (recipe.base_place(base), (folder / part).as_posix()) for part in sorted({"config.json", *recorded})
            )


def _problem(place: Place, name: str, named: Collection[Path]) -> UserError | None:
    path, shown = Path(name), shortened(name, _MOST_SHOWN)
    if name.startswith("~"):
        return BadData(Code.FILE, place, f"{shown}: ~ is not expanded", "write the path out")
    try:
        if not path.exists():
            problem, remedy = _missing(path, named)
            return BadData(Code.FILE, place, f"{shown}: no such file{problem}", remedy)
        for inside, kind in _special(path):
            problem = f"{shortened(str(inside), _MOST_SHOWN)}: {kind}, not a regular file"
            return BadData(Code.FILE, place, problem, "put its text into a file: DVC would read it for ever")
        return None
    except OSError as error:  # a name that is too long, a folder that may not be read
        problem = f"{shown}: cannot be read: {error.strerror}"
        return BadData(Code.FILE, place, problem, "check the path and its permissions")


def _special(path: Path) -> Iterator[tuple[Path, str]]:
    """Pipes, sockets and devices: the path itself, or those in a folder, hidden or not, because DVC reads all of it."""
    inside = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    for file in inside if path.is_dir() else [path]:
        if file.exists() and (kind := _SPECIAL.get(stat.S_IFMT(file.stat().st_mode))):
            yield file, kind


def _missing(path: Path, named: Collection[Path]) -> tuple[str, str]:
    """What is known of a missing file, and the remedy: the command that restores it where DVC tracks it, itself or a
    folder above."""
    recorded = next((each for each in (path, *path.parents) if each.name and Path(f"{each}.dvc").is_file()), None)
    if recorded is not None:
        return "", f"get it from the remote: dvc pull {recorded}; or from this clone's cache: dvc checkout {recorded}"
    if path.is_relative_to(FOLDERS):
        return "", f"put a checkpoint there: `adaptbert import SOURCE --base {path.parent.name}`"
    if made := maker(str(path)):
        return "", f"make it: {made}"
    files = path.parent.iterdir() if path.parent.is_dir() else ()
    beside = {_stem(each): each.name for each in sorted(files) if each not in named and each.suffix != ".dvc"}
    meant = closest(_stem(path), [*beside])
    return f" (did you mean '{beside[meant]}'?)" if meant else "", "put it there, or write where it is"


def _stem(path: Path) -> str:
    """The name without the suffixes of format and compression."""
    return Path(path.name.removesuffix(".gz")).stem
