"""The first rows of the files that params.yaml names: errors before DVC starts.

The rows go through the readers of `collect` and `collect_task` and through `validate`, into a temporary folder. A small
set is validated as a whole; for a larger one, only problems that its first rows prove are reported. Nothing is fetched
from the hub, and no docstring is read.
"""

import logging
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from adaptbert.base.ladder import is_name
from adaptbert.errors import BadData, UserError
from adaptbert.project.first_rows.corpus import CorpusLook
from adaptbert.project.first_rows.dictionary import DictionaryLook
from adaptbert.project.first_rows.labelled_set import SPLITS, LabelledLook
from adaptbert.project.first_rows.look import Look, folder
from adaptbert.project.known_words import KnownWords
from adaptbert.runtime.params import blocks
from adaptbert.runtime.params import params_file as params
from adaptbert.tokenization.word_segmentation import SegmentationConfig
from adaptbert.validation.limits import Limits

SECONDS = 10.0
"""After that, no further set is opened."""
SHOWN = 10
"""Errors of a set that are reported one by one."""


class Seen(NamedTuple):
    """The problems in the first rows.

    Attributes:
        errors: problems that stop the recipe.
        notices: problems that may stop it, depending on the rows that were not read.
        unopened: keys of sets that were not opened.
    """

    errors: list[UserError]
    notices: list[str]
    unopened: list[str]


def check(document: Mapping[str, Any], file: Path, missing: Collection[str] = ()) -> Seen:
    """The problems that the first rows of the files show.

    Args:
        document: the valid sections; without `validate` nothing is checked.
        file: for the messages.
        missing: paths that are known to be missing or unusable.
    """
    end, seen = time.monotonic() + SECONDS, Seen([], [], [])
    with TemporaryDirectory() as scratch, _without_warnings():
        for look in _looks(document, file, missing, Path(scratch)):
            if time.monotonic() > end or look.is_too_large():
                seen.unopened.append(look.key)
            else:
                _look_at(look, seen)
    return seen


def _looks(document: Mapping[str, Any], file: Path, missing: Collection[str], scratch: Path) -> Iterator[Look]:
    if "validate" not in document:
        return
    limits = params.parse(Limits, document["validate"], "validate", file)
    words = KnownWords.at_hand(document)
    stage = import_module("stages.collect")  # by name: no module of the library imports a stage
    for name, values in document.get("collect", {}).items():
        if is_name(name) and values["path"] not in missing:
            config = params.parse(stage.CollectParams, values, f"collect.{name}", file)
            yield CorpusLook(name, config, Path(values["path"]), limits, words, folder(scratch))
    stage = import_module("stages.collect_task")
    for name, values in document.get("collect_task", {}).items():
        if not is_name(name):  # it would be that of a folder
            continue
        config = params.parse(stage.CollectTaskParams, values, f"collect_task.{name}", file)
        paths = {split: Path(values[split]) for split in SPLITS if values[split] not in missing}
        tuning = document.get("finetune", {})
        yield LabelledLook(name, stage, config, paths, limits, words, tuning, file, folder(scratch))
    looks: dict[str, DictionaryLook] = {}  # without repetitions: most starts have that of all
    for start in document["ladder"]["starts"] if "tokenize" in document else ():
        block = blocks.owner(document["tokenize"], [start], ["words", "dictionary"])
        values, key = blocks.in_force(document["tokenize"], [start])["words"], f"tokenize.{block}.words"
        config = params.parse(SegmentationConfig, values, key, file)
        looks.setdefault(repr(config), DictionaryLook(config, f"{key}.dictionary"))
    yield from (look for look in looks.values() if look.config.dictionary not in missing)


def _look_at(look: Look, seen: Seen) -> None:
    errors: list[UserError] = []
    try:
        for finding in look.findings():
            if isinstance(finding, UserError):
                errors.append(finding)
            else:
                seen.notices.append(str(finding))
    except UserError as error:
        errors.extend(getattr(error, "failures", [error]))
    more = len(errors) - SHOWN
    if more > 1:
        last = BadData(errors[SHOWN].code, look.key, f"and {more} more errors", "mend these first, then check again")
        errors[SHOWN:] = [last]
    seen.errors.extend(errors)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Hide warnings of the readers; the stages print them."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
