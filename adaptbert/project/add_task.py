"""`adaptbert add-task`: files -> a block in `tasks`, and plan.json."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.config import plan_file
from adaptbert.config.recipe import KINDS, Recipe
from adaptbert.config.schema.section import is_name, plain, why_no_name
from adaptbert.config.schema.sources import Task
from adaptbert.data.formats import SUFFIXES
from adaptbert.errors import BadData, BadParams, printable, raise_all
from adaptbert.project import editing, own_data, preflight, rules, task_inference
from adaptbert.project.task_inference import Said
from adaptbert.runtime.stage import checked

SPLITS = ("train", "dev", "test")
SHARES = {"dev": 0.1, "test": 0.2}
"""Of the rows of train, for a split without a file."""
_WORDS = {
    "train": "train training 训练 训练集",
    "dev": "dev devel development valid validation val eval 验证 验证集 开发集",
    "test": "test testing 测试 测试集",
}
_PARTS = re.compile(r"[._\-\s]+")
_FORM = "train=FILE dev=FILE test=FILE"
_BY_HAND = "write the block of docs/how-to/own-task.md into it by hand, then run `adaptbert plan`"


@dataclass(frozen=True)
class NewTask:
    """A task that can be written.

    Attributes:
        read: what params.yaml was when it was read.
        content: the new one.
        recipe: what that says.
        to_copy: the user's files that are not in the project -> their places there.
        shown: what was concluded, and the block.
        done: the line for the user when it is written.
    """

    read: bytes
    content: bytes
    recipe: Recipe
    to_copy: Mapping[Path, Path]
    shown: str
    done: str

    def write(self) -> list[str]:
        """Copy the files that are not in the project, and write params.yaml and plan.json: all of it, or nothing.

        Returns:
            A line for each thing done.

        Raises:
            BadParams: params.yaml was changed since it was read, as by an editor while the command waited.
        """
        self._check_unchanged()
        new = [path for path in self.to_copy.values() if not path.exists()]
        try:
            lines = [str(own_data.bring(self.to_copy))] if self.to_copy else []
            self._check_unchanged()
            editing.write_recipe(self.recipe, self.content)
        except BaseException:
            for path in new:
                path.unlink(missing_ok=True)
                Path(f"{path}.dvc").unlink(missing_ok=True)
            raise
        return [*lines, self.done]

    def _check_unchanged(self) -> None:
        if self.recipe.file.read_bytes() != self.read:
            problem = "was changed while this command was at work; nothing was written"
            raise BadParams(Code.NOT_EDITABLE, self.recipe.file, problem, "run the command again")


def prepare(words: Sequence[str], name: str | None, said: Said, file: Path) -> NewTask:
    """Look at files, and say what would be written; nothing is.

    Args:
        words: files, or `train=FILE`.
        name: of the task; None: by its files.
        file: params.yaml.

    Raises:
        BadData: the files are not those of a task, or it is not clear what they hold.
        BadParams: the name is taken, or params.yaml is not valid.
    """
    recipe, read = checked(file), file.read_bytes()
    files = splits_of(words)
    shares = {split: share for split, share in SHARES.items() if split not in files}
    inferred = task_inference.of_files(files, shares, said)
    name = name or name_of(files["train"])
    _check_name(name, recipe)

    places: dict[Path, Path] = {}
    for path in files.values():
        places[path] = _place(path, name, places.values())

    def values(lying: Mapping[Path, Path]) -> dict[str, object]:
        """A split that is cut off names the file of train."""
        paths = {split: lying[files.get(split, files["train"])].as_posix() for split in SPLITS}
        return {**inferred.values, **paths, **({"split": shares} if shares else {})}

    block = values(places)
    new = Recipe({**recipe.written, "tasks": {**(recipe.written["tasks"] or {}), name: block}}, file)
    rules.check(new)
    task = Task.model_validate(values({path: path for path in places}))  # read where they lie now
    task._key = f"tasks.{name}"
    first_rows = preflight.check(new, task=task)
    raise_all(first_rows.errors)
    to_copy = {path: place for path, place in places.items() if not _is_there(path, place)}
    cells = sum(cell.task == name for cell in plan_file.expand(new).finetune.values())
    shown = [
        f"task {name}",
        *inferred.shown,
        *(f"{old} is copied as {new}: its name is taken" for old, new in to_copy.items() if old.name != new.name),
        f"\nfor {file}:\n",
        editing.shown("tasks", name, block),
        *(f"notice: {notice}" for notice in first_rows.notices),
        *([] if cells else [f"no arm is for this task: add {name} to `tasks` of an arm"]),
    ]
    content = editing.added(("tasks", name), block, new.written, file, _BY_HAND)
    done = f"task {name} is in {file}, and its cells ({cells}) in plan.json"
    return NewTask(read, content, new, to_copy, printable("\n".join(shown)), done)


def splits_of(words: Sequence[str]) -> dict[str, Path]:
    """Split -> its file; train always.

    Args:
        words: of the command line: files, or `train=FILE`.

    Raises:
        BadData: the names do not tell which is which.
    """
    if not 1 <= len(words) <= len(SPLITS):
        problem = f"{len(words)} files" if words else "no file"
        raise BadData(Code.UNCLEAR_FILE, "add-task", problem, f"give one to three: {_FORM}")
    files: dict[str, Path] = {}
    for word in words:
        named, _, path = word.partition("=")
        split: str | None = named
        if named not in SPLITS or not path:
            splits = {each for part in _PARTS.split(Path(word).name.lower()) if (each := _split_of(part))}
            split, path = splits.pop() if len(splits) == 1 else None, word
        if split is None and len(words) == 1:
            split = "train"
        if split is None or split in files:
            problem = f"also {split}, as {files[split]}" if split else "the name does not tell its split"
            raise BadData(Code.UNCLEAR_FILE, path, problem, f"say which is which: {_FORM}")
        files[split] = Path(path)
    if "train" not in files:
        split, first = next(iter(files.items()))
        problem = f"the name says {split}, and no file is for training"
        raise BadData(Code.UNCLEAR_FILE, first, problem, f"give the training rows as well: {_FORM}")
    return {split: files[split] for split in SPLITS if split in files}


def name_of(train: Path) -> str:
    """A name for the task, by the file of its training rows, or its folder.

    Raises:
        BadData: neither can be a name.
    """
    name = train.name.lower().removesuffix(".gz")
    stem = name.removesuffix(next((suffix for suffix in SUFFIXES if name.endswith(suffix)), Path(name).suffix))
    folder = train.absolute().parent
    for words in (stem, "" if folder == own_data.OWN.absolute() else folder.name):
        parts = [part for part in _PARTS.split(words) if part and _split_of(part) is None]
        if is_name(called := plain("_".join(parts))):
            return called
    raise BadData(Code.UNCLEAR_FILE, train, "no name for the task can be made of this", "choose one: --name NAME")


def _split_of(part: str) -> str | None:
    return next((split for split, words in _WORDS.items() if part in words.split()), None)


def _check_name(name: str, recipe: Recipe) -> None:
    owner = next((KINDS[kind] for kind, names in recipe.names().items() if name in names), None)
    if owner is not None:
        place = f"{recipe.file}: {owner}.{name}"
        raise BadParams(Code.BAD_NAME, place, "the name is taken", "choose another: --name NAME")
    if not is_name(name):
        raise BadParams(Code.BAD_NAME, f"--name {name}", *why_no_name(name))


def _place(path: Path, task: str, taken: Collection[Path]) -> Path:
    """Where a file lies in the project, once it is there."""
    here, real, named = Path.cwd().resolve(), path.resolve(), path.parent.resolve() / path.name
    if here in named.parents and Path(f"{named}.dvc").is_file():  # DVC may keep it as a link to its cache
        return named.relative_to(here)
    # A path through `..` or a link is that of its file: what lies outside is not in another clone.
    return real.relative_to(here) if here in real.parents else own_data.free_place(path, task, taken)


def _is_there(path: Path, place: Path) -> bool:
    """Whether a file need not be copied to its place: it lies there, or DVC has put a link to its cache there."""
    is_recorded = path.parent.resolve() / path.name == place.absolute() and Path(f"{place}.dvc").is_file()
    return is_recorded or path.resolve() == place.absolute()
