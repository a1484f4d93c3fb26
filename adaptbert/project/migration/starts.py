"""`pretrain.init`, `revision` and `encoder`, and where the vocabulary came from -> one start with a name."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from adaptbert.base.ladder import is_name, why_no_name
from adaptbert.base.start import FOLDERS, RANDOM
from adaptbert.codes import Code
from adaptbert.errors import BadParams
from adaptbert.project.importing.start_names import of_model

OF_START = {"pretrain": ("init", "revision", "encoder"), "tokenizer": ("source", "revision")}
"""Section -> keys that the start has now."""
_FOLDER = Path("models/init")
_TRAINED = "small"


class Start(NamedTuple):
    """The start of the older file.

    Attributes:
        name: by which rungs are called.
        values: as they stand in `ladder.starts`.
        notes: what the older file said and this one does not.
        commands: that the user has to run before the weights are where they are read.
    """

    name: str
    values: dict[str, Any]
    notes: list[str]
    commands: list[str]


def of_older(document: Mapping[str, Any], name: str | None, taken: Collection[str], file: Path) -> Start:
    """The start.

    Args:
        name: that the user wants; None: by the model.
        taken: names of corpora, tasks and arms.

    Raises:
        BadParams: weights and vocabulary come from different places, which no start can say; or the name is none.
    """
    pretrain, tokenizer = document["pretrain"], document["tokenizer"]
    init, source = str(pretrain.get("init")), str(tokenizer.get("source"))
    if name is not None and (not is_name(name) or name in taken):
        problem = (f"'{name}' is taken", "choose another one") if name in taken else why_no_name(name, taken)
        raise BadParams(Code.BAD_NAME, f"--start {name}", *problem)
    if (init == RANDOM) != (source == "train"):
        raise BadParams(Code.NOT_MIGRATED, f"{file}: tokenizer.source", *_two_sources(init, source))
    if init == RANDOM:
        called = name or _free(_TRAINED, taken)
        return Start(called, {"init": RANDOM, "encoder": pretrain.get("encoder")}, [], [])
    if _is_folder(init):
        return _of_folder(init, name, taken)
    called = name or _free(of_model(init), taken)
    values = {"init": init, "revision": str(pretrain.get("revision") or "main")}
    other = source != init or str(tokenizer.get("revision") or "main") != values["revision"]
    note = f"the vocabulary is that of {init} at revision {values['revision']}; tokenizer.source named {source}"
    return Start(called, values, [note] if other else [], [])


def _two_sources(init: str, source: str) -> tuple[str, str]:
    if init == RANDOM:
        problem = f"the vocabulary of {source} with random weights: now a start with random weights trains its own"
        return (
            problem,
            "write `source: train` with corpora, vocabulary_size, lowercase and min_frequency, and run again",
        )
    return (
        f"a trained vocabulary, and the weights of {init}, which have their own",
        "write `source: init`, and run again",
    )


def _of_folder(init: str, name: str | None, taken: Collection[str]) -> Start:
    folder = Path(init)
    is_ours = folder.resolve() == _FOLDER.resolve()
    called = name or _free(of_model(_model_in(folder) or ("public" if is_ours else folder.name)), taken)
    target = f"{FOLDERS}{called}"
    values = {"init": target}
    if not is_ours:
        return Start(called, values, [], [f"adaptbert import {quote(init)} --start {called}"])
    files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    recorded = {path.stem for path in files if path.suffix == ".dvc"}
    kept = [
        path for path in files if path.name != "README.md" and not path.name.startswith(".") and path.suffix != ".dvc"
    ]
    if not kept and not recorded:
        return Start(called, values, [], [f"adaptbert import DIR --start {called}"])
    plain = [quote(path.as_posix()) for path in kept if path.name not in recorded]
    commands = [f"mkdir -p {target}", *([f"mv {' '.join(plain)} {target}/"] if plain else [])]
    commands += [f"dvc move {quote(f'{init}/{name}')} {target}/{quote(name)}" for name in sorted(recorded)]
    return Start(called, values, [], commands)


def _is_folder(init: str) -> bool:
    is_path = init.startswith((".", "/", "~")) or init.count("/") > 1 or Path(init) == _FOLDER
    return is_path or Path(init).is_dir()


def _model_in(folder: Path) -> str | None:
    """The name that a checkpoint gives itself."""
    try:
        name = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("_name_or_path")
    except (OSError, ValueError, AttributeError):
        return None
    return name if isinstance(name, str) and is_name(of_model(name)) else None


def _free(name: str, taken: Collection[str]) -> str:
    return name if name not in taken else f"{name[:34]}_start"
