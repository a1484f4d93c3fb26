"""The first rows of the files that params.yaml names: errors before DVC starts.

The rows go through the readers of `collect` and `collect_task` and through `validate`, into a temporary folder. A small
set is validated as a whole; for a larger one, only problems that its first rows prove are reported. Nothing is fetched
from the hub, and no docstring is read.
"""

import logging
import time
from collections.abc import Collection, Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.sources import Task
from adaptbert.config.schema.text import Segmentation
from adaptbert.data.readers.spec import FORMATS
from adaptbert.errors import BadData, UserError
from adaptbert.text.words import Segmenter

SECONDS = 10.0
"""After that, no further set is opened."""
SHOWN = 10
"""Errors of a set that are reported one by one."""
_LARGEST = 20_000_000
"""Bytes of a file that can only be read whole."""


_Look = tuple[str, Collection[Path], Iterator[Finding]]


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


def check(recipe: Recipe, missing: Set[str] = frozenset(), *, task: Task | None = None) -> Seen:
    """The problems that the first rows of the files show.

    Args:
        recipe: valid.
        missing: paths that are known to be missing or unusable.
        task: to look at alone, with paths of its own; None: at all sets.
    """
    end, seen = time.monotonic() + SECONDS, Seen([], [], [])
    with TemporaryDirectory() as folder, _without_warnings():
        look = Look(recipe, Path(folder))
        looks = _looks(look, missing) if task is None else [_of_task(look, task)]
        for key, whole, findings in looks:
            if time.monotonic() > end or any(path.stat().st_size > _LARGEST for path in whole if path.is_file()):
                seen.unopened.append(key)
            else:
                _look_at(key, findings, seen)
    return seen


def _looks(look: Look, missing: Set[str]) -> Iterator[_Look]:
    """Every set: its key, its files that cannot be read in part, and what is to be found in it."""
    recipe = look.recipe
    for corpus in recipe.corpora.values():
        if corpus.path not in missing:
            yield corpus.key, (), of_corpus(look, corpus.key, corpus, Path(corpus.path))
    for task in recipe.tasks.values():
        if missing.isdisjoint(getattr(task, split) for split in SPLITS):
            yield _of_task(look, task)
    dictionaries: dict[Segmentation, str] = {}  # without repetitions: most bases share one
    for base in recipe.bases:
        key = recipe.place("tokenize", {"base": base}, "words", "dictionary")
        dictionaries.setdefault(recipe.values("tokenize", {"base": base}).words, key)
    for words, key in dictionaries.items():
        if words.dictionary not in missing:
            yield key, (Path(words.dictionary),), _of_dictionary(words)


def _of_task(look: Look, task: Task) -> _Look:
    paths = {split: Path(getattr(task, split)) for split in SPLITS}
    is_document = task.format is not None and FORMATS[task.format].made_of == "document"
    return task.key, paths.values() if is_document else (), LabelledLook(look, task, paths).findings()


def _of_dictionary(config: Segmentation) -> Iterator[Finding]:
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
