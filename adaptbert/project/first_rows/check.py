"""The first rows of the files that params.yaml names: errors before DVC starts.

The rows go through the readers of `collect` and `collect_task` and through `validate`, into a temporary folder. A small
set is validated as a whole; for a larger one, only problems that its first rows prove are reported. Nothing is fetched
from the hub, and no docstring is read.
"""

import logging
import time
from collections.abc import Collection, Iterator, Mapping, Set
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from adaptbert.data.limits import Limits
from adaptbert.data.readers.spec import FORMATS
from adaptbert.errors import BadData, UserError
from adaptbert.project.first_rows.judging import Finding
from adaptbert.project.first_rows.looks import SPLITS, LabelledLook, Look, of_corpus
from adaptbert.runtime.params import blocks
from adaptbert.runtime.params import params_file as params
from adaptbert.text.words import SegmentationConfig, Segmenter

SECONDS = 10.0
"""After that, no further set is opened."""
SHOWN = 10
"""Errors of a set that are reported one by one."""
_LARGEST = 20_000_000
"""Bytes of a file that can only be read whole."""


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


def check(document: Mapping[str, Any], file: Path, missing: Set[str] = frozenset()) -> Seen:
    """The problems that the first rows of the files show.

    Args:
        document: valid sections: `validate`, and the sets to look at.
        file: for the messages.
        missing: paths that are known to be missing or unusable.
    """
    end, seen = time.monotonic() + SECONDS, Seen([], [], [])
    with TemporaryDirectory() as folder, _without_warnings():
        limits = params.parse(Limits, document["validate"], "validate", file)
        look = Look(file, limits, Path(folder))
        for key, whole, findings in _looks(document, look, missing):
            if time.monotonic() > end or any(path.stat().st_size > _LARGEST for path in whole if path.is_file()):
                seen.unopened.append(key)
            else:
                _look_at(key, findings, seen)
    return seen


def _looks(
    document: Mapping[str, Any], look: Look, missing: Set[str]
) -> Iterator[tuple[str, Collection[Path], Iterator[Finding]]]:
    """Every set: its key, its files that cannot be read in part, and what is to be found in it."""
    stage = import_module("stages.collect")  # by name: no module of the library imports a stage
    for name, values in document.get("collect", {}).items():
        key, path = f"collect.{name}", values["path"]
        if path not in missing:
            yield key, (), of_corpus(look, key, params.parse(stage.CollectParams, values, key, look.file), Path(path))
    stage = import_module("stages.collect_task")
    for name, values in document.get("collect_task", {}).items():
        key, paths = f"collect_task.{name}", {split: Path(values[split]) for split in SPLITS}
        if missing.isdisjoint(values[split] for split in SPLITS):
            config = params.parse(stage.CollectTaskParams, values, key, look.file)
            is_document = config.format is not None and FORMATS[config.format].made_of == "document"
            labelled = LabelledLook(look, name, stage, config, paths, document["finetune"])
            yield key, paths.values() if is_document else (), labelled.findings()
    configs: dict[str, SegmentationConfig] = {}  # without repetitions: most starts have that of all
    for start in document["ladder"]["starts"] if "tokenize" in document else ():
        block = blocks.owner(document["tokenize"], [start], ["words", "dictionary"])
        words, key = blocks.in_force(document["tokenize"], [start])["words"], f"tokenize.{block}.words"
        configs.setdefault(key, params.parse(SegmentationConfig, words, key, look.file))
    for key, words in configs.items():
        if words.dictionary not in missing:
            yield f"{key}.dictionary", (Path(words.dictionary),), _of_dictionary(words)


def _of_dictionary(config: SegmentationConfig) -> Iterator[Finding]:
    Segmenter.load(config, Path(config.dictionary))
    yield from ()


def _look_at(key: str, findings: Iterator[Finding], seen: Seen) -> None:
    errors: list[UserError] = []
    try:
        for finding in findings:
            if isinstance(finding, UserError):
                errors.append(finding)
            else:
                seen.notices.append(finding)
    except UserError as error:
        errors.extend(getattr(error, "failures", [error]))
    more = len(errors) - SHOWN
    if more > 1:
        last = BadData(errors[SHOWN].code, key, f"and {more} more errors", "mend these first, then check again")
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
