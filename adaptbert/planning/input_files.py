"""The files that params.yaml names: missing ones are reported before DVC starts, which would stop at the first of them
with no more than "no such file"."""

from collections.abc import Collection, Iterator
from pathlib import Path
from shlex import quote

from adaptbert.codes import Code
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import FOLDERS
from adaptbert.config.schema.sources import maker
from adaptbert.errors import BadData, Place, UserError, closest, shortened

_MOST_SHOWN = 255
"""Characters of a path."""


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


def record_of(path: Path) -> Path | None:
    """What DVC tracks a path by, itself or a folder above it; None: it does not."""
    return next((each for each in (path, *path.parents) if each.name and Path(f"{each}.dvc").is_file()), None)
