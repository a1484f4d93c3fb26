"""The folder that an import writes: what lies there stays until the new content is complete, then both change places.

A kill leaves the old folder or the new one. Where the file system cannot exchange two folders in one step, the old one
is moved aside first; an import that finds it there puts it back.
"""

import ctypes
import filecmp
import os
import re
import shutil
import sys
from pathlib import Path

from adaptbert.base.files import Blocked, sync
from adaptbert.codes import Code
from adaptbert.errors import BadData, BadParams
from adaptbert.model.checkpoint_files import FILES

_OF_A_CHECKPOINT = re.compile(
    r"(pytorch_model|model)(-\d+-of-\d+)?\.(bin|safetensors)(\.index\.json)?|tf_model\.h5|flax_model\.msgpack"
    r"|added_tokens\.json|generation_config\.json|bert_config\.json|training_args\.bin"
)
_HERE = -100
"""AT_FDCWD of Linux: paths are relative to the current folder."""
_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS."""


def is_kept(path: Path) -> bool:
    """Whether a file stays in the folder: what belongs to git, to DVC or to the desktop, not to a checkpoint."""
    return path.name == "README.md" or path.suffix == ".dvc" or path.name.startswith(".")


def own_files(folder: Path) -> list[Path]:
    """The files of a checkpoint in a folder."""
    return sorted(path for path in folder.iterdir() if not is_kept(path)) if folder.is_dir() else []


def check(target: Path, source: str) -> None:
    """Refuse a folder that the import must not replace, before anything is read.

    Raises:
        Blocked: it is a file.
        BadParams: the source lies in it.
        BadData: it holds other things than a checkpoint.
    """
    if target.exists() and not target.is_dir():
        raise Blocked(Code.BLOCKED, target, "not a folder, and one belongs there", "move it away, or rename it")
    folder, inside = Path(os.path.realpath(target)), Path(os.path.realpath(source))
    if inside.exists() and folder in (inside, *inside.parents):
        problem = f"the source {source} lies there, and an import replaces the folder"
        raise BadParams(Code.CONTRADICTION, f"--to {target}", problem, "move the source elsewhere first")
    for path in own_files(target):
        if not path.is_file() or not (path.name in FILES or _OF_A_CHECKPOINT.fullmatch(path.name)):
            problem = f"holds {path.name}, which is no file of a checkpoint"
            remedy = "move it away, or choose another folder with --to"
            raise BadData(Code.OTHER_CHECKPOINT_THERE, target, problem, remedy)
    if hidden := [path for path in target.glob(".*") if not path.is_file()]:
        problem = f"holds the folder {hidden[0].name}"
        remedy = "move it away, or choose another folder with --to"
        raise BadData(Code.OTHER_CHECKPOINT_THERE, target, problem, remedy)


def keep(target: Path, ready: Path) -> None:
    """Copy what stays in the folder into the new content."""
    for path in target.iterdir() if target.is_dir() else ():
        if is_kept(path):
            shutil.copy2(path, ready / path.name, follow_symlinks=False)


def is_equal(target: Path, ready: Path) -> bool:
    """Whether both hold the same checkpoint, byte by byte."""
    names = [path.name for path in own_files(ready)]
    if [path.name for path in own_files(target)] != names:
        return False
    return all(filecmp.cmp(target / name, ready / name, shallow=False) for name in names)


def refuse_other(target: Path) -> None:
    """Refuse to replace a checkpoint.

    Raises:
        BadData: there is one.
    """
    if files := own_files(target):
        shown = ", ".join(path.name for path in files[:4]) + (" and more" if len(files) > 4 else "")
        problem = f"holds another checkpoint ({shown})"
        remedy = "say --force to replace it, or choose another folder with --to"
        raise BadData(Code.OTHER_CHECKPOINT_THERE, target, problem, remedy)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.old.part")


def recover(target: Path) -> None:
    """Put back the folder that a killed import had moved aside, or remove it where the new one is in its place."""
    if not target.name:  # the root of the file system
        return
    aside = _aside(target)
    if aside.is_dir() and not target.exists():
        aside.rename(target)
    elif aside.is_dir():
        shutil.rmtree(aside)


def put(ready: Path, target: Path) -> None:
    """Let the new content take the place of the folder; `ready` does not exist afterwards.

    Raises:
        Blocked: the system does not let the folder be renamed.
    """
    try:
        if not target.exists():
            ready.rename(target)
        elif exchange(ready, target):
            shutil.rmtree(ready)
        else:
            aside = _aside(target)
            target.rename(aside)
            ready.rename(target)
            shutil.rmtree(aside)
    except OSError as error:
        recover(target)
        problem = f"cannot be replaced: {error.strerror}"
        raise Blocked(Code.BLOCKED, target, problem, "make its parent folder writable, or choose --to") from None
    sync(target.parent)


def exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system or its file system cannot."""
    library = ctypes.CDLL(None)
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        function = getattr(library, "renamex_np", None)
        return function is not None and function(*names, ctypes.c_uint(_EXCHANGE)) == 0
    function = getattr(library, "renameat2", None)
    return function is not None and function(_HERE, names[0], _HERE, names[1], ctypes.c_uint(_EXCHANGE)) == 0
