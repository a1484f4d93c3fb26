"""`adaptbert add-task`: files -> a block in `tasks`, and plan.json."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.config import plan_file
from adaptbert.config.recipe import KINDS, Recipe
from adaptbert.config.schema.section import is_name, plain, why_no_name
from adaptbert.data.formats import SUFFIXES
from adaptbert.errors import BadData, BadParams, failures_of, printable, raise_all
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
        unrecorded: its files that DVC does not track yet.
        shown: what was concluded, and the block.
        done: the line for the user when it is written.
    """

    read: bytes
    content: bytes
    recipe: Recipe
    unrecorded: Sequence[Path]
    shown: str
    done: str

    def write(self) -> list[str]:
        """Let DVC record the files, then write params.yaml and plan.json: both, or neither.

        Returns:
            A line for each thing done.

        Raises:
            BadData: DVC refuses.
            BadParams: params.yaml was changed since it was read, as by an editor while the command waited.
        """
        self._check_unchanged()
        if self.unrecorded:
            own_data.record(self.unrecorded)
            self._check_unchanged()
        editing.write_recipe(self.recipe, self.content)
        recorded = [f"recorded by DVC: {', '.join(map(str, self.unrecorded))}"] if self.unrecorded else []
        return [*recorded, self.done]

    def _check_unchanged(self) -> None:
        if self.recipe.file.read_bytes() != self.read:
            problem = "was changed while this command was at work, and is left so"
            raise BadParams(Code.NOT_EDITABLE, self.recipe.file, problem, "run the command again")


def prepare(words: Sequence[str], name: str | None, said: Said, file: Path) -> NewTask:
    """Look at files, and say what would be written; nothing is.

    Args:
        words: files in the project, or `train=FILE`.
        name: of the task; None: by its files.
        file: params.yaml.

    Raises:
        BadData: the files are not those of a task, or it is not clear what they hold.
        BadParams: the name is taken, or params.yaml is not valid.
    """
    recipe, read = checked(file), file.read_bytes()
    named = splits_of(words)
    raise_all([failure for path in named.values() for failure in failures_of(own_data.in_project, path)])
    files = {split: own_data.in_project(path) for split, path in named.items()}
    shares = {split: share for split, share in SHARES.items() if split not in files}
    inferred = task_inference.of_files(files, shares, said)
    name = name or name_of(files["train"])
    _check_name(name, recipe)
    # A split that is cut off names the file of train.
    paths = {split: files.get(split, files["train"]).as_posix() for split in SPLITS}
    block = {**inferred.values, **paths, **({"split": shares} if shares else {})}
    new = Recipe({**recipe.written, "tasks": {**(recipe.written["tasks"] or {}), name: block}}, file)
    rules.check(new)
    first_rows = preflight.check(new, task=new.tasks[name])
    raise_all(first_rows.errors)
    cells = sum(cell.task == name for cell in plan_file.expand(new).finetune.values())
    shown = [
        f"task {name}",
        *inferred.shown,
        f"\nfor {file}:\n",
        editing.shown("tasks", name, block),
        *(f"notice: {notice}" for notice in first_rows.notices),
        *([] if cells else [f"no arm is for this task: add {name} to `tasks` of an arm"]),
    ]
    content = editing.added(("tasks", name), block, new.written, file, _BY_HAND)
    done = f"task {name} is in {file}, and its cells ({cells}) in plan.json"
    return NewTask(read, content, new, own_data.unrecorded(files.values()), printable("\n".join(shown)), done)


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
