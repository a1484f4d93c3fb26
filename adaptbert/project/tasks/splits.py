"""Which of the user's files is train, dev and test, by their names or as the user says; and a name for the task."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from adaptbert.codes import Code
from adaptbert.config.schema.section import is_name, plain
from adaptbert.data.formats import SUFFIXES
from adaptbert.errors import BadData
from adaptbert.project.own_data import OWN

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


class Splits(NamedTuple):
    """The files of a task.

    Attributes:
        files: split -> its file; train always.
        shares: of the splits that are cut off the rows of train.
    """

    files: Mapping[str, Path]
    shares: Mapping[str, float]


def of_files(words: Sequence[str]) -> Splits:
    """The splits.

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
        split, path = _said(word) or (_by_name(Path(word)), Path(word))
        if split is None and len(words) == 1:
            split = "train"
        if split is None or split in files:
            problem = f"also {split}, as {files[split]}" if split else "the name does not tell its split"
            raise BadData(Code.UNCLEAR_FILE, path, problem, f"say which is which: {_FORM}")
        files[split] = path
    if "train" not in files:
        split, path = next(iter(files.items()))
        problem = f"the name says {split}, and no file is for training"
        raise BadData(Code.UNCLEAR_FILE, path, problem, f"give the training rows as well: {_FORM}")
    missing = [split for split in SPLITS if split not in files]
    return Splits({split: files[split] for split in SPLITS if split in files}, {each: SHARES[each] for each in missing})


def name_of(train: Path) -> str:
    """A name for the task, by the file of its training rows, or its folder.

    Raises:
        BadData: neither can be a name.
    """
    name = train.name.lower().removesuffix(".gz")
    stem = name.removesuffix(next((suffix for suffix in SUFFIXES if name.endswith(suffix)), Path(name).suffix))
    for words in (stem, train.absolute().parent.name if train.absolute().parent != OWN.absolute() else ""):
        parts = [part for part in _PARTS.split(words) if part and _split_of(part) is None]
        if is_name(called := plain("_".join(parts))):
            return called
    raise BadData(Code.UNCLEAR_FILE, train, "no name for the task can be made of this", "choose one: --name NAME")


def _said(word: str) -> tuple[str, Path] | None:
    split, _, path = word.partition("=")
    return (split, Path(path)) if split in SPLITS and path else None


def _by_name(path: Path) -> str | None:
    """The one split that a part of the name tells."""
    splits = {split for part in _PARTS.split(path.name.lower()) if (split := _split_of(part))}
    return splits.pop() if len(splits) == 1 else None


def _split_of(part: str) -> str | None:
    return next((split for split, words in _WORDS.items() if part in words.split()), None)
