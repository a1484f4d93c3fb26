"""The user's files: those that params.yaml names, of which missing ones are reported before DVC starts, which would
stop at the first of them with no more than "no such file"; and DVC's records, by which a second clone gets them.

A file in data/own has a record of its own, data/own/<file>.dvc, which is committed: of a folder DVC would report a
missing file as a change.
"""

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from filecmp import cmp
from pathlib import Path
from shlex import quote

from adaptbert.codes import Code
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import FOLDERS
from adaptbert.config.schema.sources import maker
from adaptbert.core.files import atomic_write
from adaptbert.errors import BadData, Place, UserError, closest, shortened
from adaptbert.project.dvc_files import record

OWN = Path("data/own")
_MOST_SHOWN = 255
"""Characters of a path."""


def record_of(path: Path) -> Path | None:
    """What DVC tracks a path by, itself or a folder above it; None: it does not."""
    return next((each for each in (path, *path.parents) if each.name and Path(f"{each}.dvc").is_file()), None)


def homes(files: Iterable[Path]) -> dict[Path, Path]:
    """Given file -> its path from the folder of the project: its own where DVC can record it there, else in data/own.
    Raises BadData where another file has the name there."""
    found: dict[Path, Path] = {}
    for file in files:
        named = Path(os.path.normpath(file.absolute()))
        if Path.cwd() in named.parents and named.parent.resolve() == named.parent:
            found[file] = named.relative_to(Path.cwd())
            continue
        home = OWN / named.name
        others = [other for other in found if found[other] == home] + ([home] if home.exists() else [])
        if file.is_file() and not all(cmp(file, other, shallow=False) for other in others):
            problem = f"{file} would be copied there, and {others[0]} is another file"
            raise BadData(Code.ALREADY_THERE, home, problem, "rename one of the two")
        found[file] = home
    return found


def take(homes: Mapping[Path, Path]) -> list[str]:
    """Copy the files that are not in the project yet, and let DVC record those in data/own; lines for the user."""
    for file, home in homes.items():
        if not home.exists():
            with atomic_write(home) as part:
                shutil.copyfile(file, part)
    if new := [home for home in dict.fromkeys(homes.values()) if OWN in home.parents and record_of(home) is None]:
        record(new)
    return [f"recorded by DVC: {', '.join(map(str, new))}"] if new else []


def left_over(before: Iterable[object], now: Iterable[Path]) -> Iterator[str]:
    """What is said of files in data/own that an earlier params.yaml named in its values: DVC may have the only copy."""
    named = {path for path in map(Path, map(str, before)) if OWN in path.parents and record_of(path)} - {*now}
    if named:
        records = " ".join(quote(f"{record_of(path)}.dvc") for path in sorted(named))
        files = ", ".join(map(str, sorted(named)))
        yield f"of the last `adaptbert new` there is still {files}; to remove it: dvc remove --outs {records}"


def check(recipe: Recipe) -> list[tuple[str, UserError]]:
    """Missing paths, each with its error."""
    every = list(dict.fromkeys(paths(recipe)))
    named = {Path(path) for _, path in every}
    return [(str(Path(path)), error) for place, path in every if (error := _problem(place, path, named))]


def paths(recipe: Recipe) -> Iterator[tuple[Place, str]]:
    """Every file that is read, with its key; one that stands for several splits comes once."""
    for name, corpus in recipe.corpora.items():
        yield recipe.at("corpora", name, "path"), corpus.path
    for names in recipe.entries("tokenize"):
        dictionary = recipe.values("tokenize", names).words.dictionary
        yield recipe.place("tokenize", names, "words", "dictionary"), dictionary
    for name, task in recipe.tasks.items():
        seen = {getattr(task, split): split for split in ("test", "dev", "train")}
        yield from ((recipe.at("tasks", name, split), path) for path, split in reversed(seen.items()))
    for base, weights in recipe.bases.items():
        folder = Path(FOLDERS, base)
        if weights.checkpoint == folder.as_posix():
            yield recipe.base_place(base), (folder / "config.json").as_posix()


def _problem(place: Place, name: str, named: Collection[Path]) -> UserError | None:
    path, shown = Path(name), shortened(name, _MOST_SHOWN)
    if name.startswith("~"):
        return BadData(Code.FILE, place, f"{shown}: ~ is not expanded", "write the path out")
    try:
        if path.exists():
            return None
        meant, remedy = _missing(path, named)
        return BadData(Code.FILE, place, f"{shown}: no such file{meant}", remedy)
    except OSError as error:  # a name that is too long, a folder that may not be read
        problem = f"{shown}: cannot be read: {error.strerror}"
        return BadData(Code.FILE, place, problem, "check the path and its permissions")


def _missing(path: Path, named: Collection[Path]) -> tuple[str, str]:
    """What may be meant by a missing file, and the remedy: where DVC tracks it, the command that restores it."""
    if recorded := record_of(path):
        file = quote(str(recorded))
        return "", f"get it from the remote: dvc pull {file}; or from this clone's cache: dvc checkout {file}"
    if path.is_relative_to(FOLDERS):
        return "", f"put a checkpoint there: `adaptbert import FOLDER --base {path.parent.name}`"
    if made := maker(str(path)):
        return "", f"make it: {made}"
    files = path.parent.iterdir() if path.parent.is_dir() else ()
    beside = {_stem(each): each.name for each in sorted(files) if each not in named and each.suffix != ".dvc"}
    meant = closest(_stem(path), [*beside])
    return f" (did you mean '{beside[meant]}'?)" if meant else "", "put it there, or write where it is"


def _stem(path: Path) -> str:
    """The name without the suffixes of format and compression."""
    return Path(path.name.removesuffix(".gz")).stem
