"""The first rows of the files that params.yaml names: errors before DVC starts.

The rows go through the readers of `collect` and `collect_task` and through `validate`, into a temporary folder. A small
set is validated as a whole; for a larger one, only problems that its first rows prove are reported.

The first rows are no random sample: bad rows often come first, and the others may compensate. So a share of bad rows is
an error only where most of many rows are bad, and the file is probably read in a wrong way.
"""

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import NamedTuple

from adaptbert.codes import Code
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.sources import Limits, Source, Task
from adaptbert.config.schema.text import Segmentation
from adaptbert.core.files import read_json
from adaptbert.data.accounts import Account, TooManyBad
from adaptbert.data.collect import RawWriter, collect_task
from adaptbert.data.files import MOST_FILES, Files
from adaptbert.data.formats import FORMATS
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.leaks import ForbiddenText
from adaptbert.data.source_config import layout_of
from adaptbert.errors import BadData, BadParams, UserError
from adaptbert.tasks import class_weights
from adaptbert.text.words import Segmenter

Finding = UserError | str
"""An error or the words of a notice."""

SPLITS = ("train", "dev", "test")
SECONDS = 10.0
"""After that, no further set is opened."""
ROWS = 200
"""Of each file of a set that is not small."""
SMALL, SMALL_PACKED = 400_000, 40_000
"""Bytes of a set that is read whole; of one in gzip or Parquet."""
_LARGEST = 20_000_000
"""Bytes of a file that can only be read whole."""
REFUSED = 0.5
"""Above this share of the first rows a large set is refused, if not more may be bad."""
ENOUGH = 50
"""With fewer first rows than this, their share of bad ones is no error: one long row may end the reading."""
_ERRORS, _REASONS = 10, 3
"""Errors of a set that are reported one by one; reasons that a message names."""
_ONLY_WHOLE = {Code.TOO_FEW_ROWS, Code.REPEATED_TEXT, Code.LABEL_NOT_IN_TRAIN, Code.LEAK}
"""Codes that further rows can resolve: too few rows, texts or classes; labels that train does not show yet."""
_OF_A_SHARE = {Code.BINARY_FILE, Code.TAGS}
"""Codes that need many rows: NUL, tags. A few first rows do not prove them."""


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
        missing: paths that are known to be missing or unusable.
        task: to look at alone, with paths of its own; None: at all sets.
    """
    end, seen = time.monotonic() + SECONDS, Seen([], [], [])
    with TemporaryDirectory() as folder, _without_warnings():
        sets = _sets(recipe, Path(folder), missing) if task is None else [_of_task(recipe, task, Path(folder))]
        for key, whole, findings in sets:
            if time.monotonic() > end or any(path.stat().st_size > _LARGEST for path in whole if path.is_file()):
                seen.unopened.append(key)
            else:
                _note(key, findings, seen)
    return seen


_Set = tuple[str, Collection[Path], Iterator[Finding]]
"""A set: its key, its files that cannot be read in part, and what is to be found in it."""


def _sets(recipe: Recipe, folder: Path, missing: Set[str]) -> Iterator[_Set]:
    for corpus in recipe.corpora.values():
        if corpus.path not in missing:
            own = {"text": Path(corpus.path)}
            yield corpus.key, (), _of_corpus(_Look(corpus, CORPUS, own, recipe.limits, folder))
    for task in recipe.tasks.values():
        if missing.isdisjoint(getattr(task, split) for split in SPLITS):
            yield _of_task(recipe, task, folder)
    dictionaries: dict[Segmentation, str] = {}  # without repetitions: most bases share one
    for base in recipe.bases:
        key = recipe.place("tokenize", {"base": base}, "words", "dictionary")
        dictionaries.setdefault(recipe.values("tokenize", {"base": base}).words, key)
    for words, key in dictionaries.items():
        if words.dictionary not in missing:
            yield key, (Path(words.dictionary),), _of_dictionary(words)


def _of_task(recipe: Recipe, task: Task, folder: Path) -> _Set:
    paths = {split: Path(getattr(task, split)) for split in SPLITS}
    is_document = task.format is not None and FORMATS[task.format].made_of == "document"
    cut = task.split.shares() if task.split is not None else {}
    own = {split: path for split, path in paths.items() if split not in cut}
    look = _Look(task, layout_of(task), own, recipe.limits, folder)
    return task.key, paths.values() if is_document else (), _Labelled(look, task, paths, recipe).findings()


def _of_dictionary(config: Segmentation) -> Iterator[Finding]:
    Segmenter.load(config, Path(config.dictionary))
    yield from ()


def _note(key: str, findings: Iterator[Finding], seen: Seen) -> None:
    errors: list[UserError] = []

    def note() -> None:
        for finding in findings:
            if isinstance(finding, UserError):
                errors.append(finding)
            else:
                seen.notices.append(finding)

    errors += _raised(note)
    more = len(errors) - _ERRORS
    if more > 1:
        last = BadData(errors[_ERRORS].code, key, f"and {more} more errors", "mend these first, then check again")
        errors[_ERRORS:] = [last]
    seen.errors.extend(errors)


class Extent(NamedTuple):
    """How much of a file or folder was read: the number of rows, and whether there are no others."""

    rows: int
    whole: bool

    @property
    def is_enough(self) -> bool:
        return self.whole or self.rows >= ENOUGH

    def __str__(self) -> str:
        return "this one" if self.rows == 1 else f"these {self.rows:,}"


@dataclass
class _Look:
    """The first rows of a set, and what they prove: an error where the other rows cannot mend it, else a notice.

    Attributes:
        config: its section.
        own: split, or `text` -> the file or folder that has its rows.
        limits: of validation.
        folder: a temporary one.
        head: rows that are read of each file.
        extents: how much was read of each of `own`.
    """

    config: Source
    layout: Layout
    own: Mapping[str, Path]
    limits: Limits
    folder: Path
    head: int = ROWS
    extents: dict[str, Extent] = field(default_factory=dict)

    def read(self) -> Generator[Finding, None, Path | None]:
        """Read each of `own` by itself, so that an error of one does not hide those of the next.

        Yields:
            The errors; that no row can be read is a notice where only a few were tried.

        Returns:
            The raw folder; None where there is nothing to validate.
        """
        self.head = sys.maxsize if _is_small(self.own.values()) else ROWS
        folder, has_failed = self.new_folder(), False
        with RawWriter(folder, self.layout) as writer:
            for name, path in self.own.items():
                files = Files(path, self.config, name if isinstance(self.config, Task) else "", self.head)
                failed = _raised(partial(writer.write, files.rows(), name, path))
                extent = self.extents[name] = Extent(writer.rows_in.get(name, 0), files.is_whole)
                has_failed |= bool(failed)
                for error in failed:
                    few = error.code == Code.NOTHING_LEFT and not extent.is_enough
                    yield self._open(error, error.place, extent) if few else error
        return None if has_failed else folder

    @property
    def is_whole(self) -> bool:
        return self.head > ROWS and all(extent.whole for extent in self.extents.values())

    def validation_limits(self) -> Limits:
        """The limits for all rows of a set, or for its first ones."""
        limit = self.limits.max_bad_fraction
        return self.limits.model_copy(update={"max_bad_fraction": limit if self.is_whole else max(limit, REFUSED)})

    def decided(
        self, errors: Iterable[UserError], place: Callable[[str], str], *, has_labels: bool = True
    ) -> Iterator[Finding]:
        """The errors of validation; that of the share of bad rows is left to `bad_rows` where rows were not read.

        Args:
            place: path in the temporary folder -> the user's file.
            has_labels: whether params say which labels there are.
        """
        for error in errors:
            where = place(error.place)
            # Of the whole set, or of a split that is cut off train, that of train.
            name = Path(error.place).stem
            read = self.extents.get(name) or next(iter(self.extents.values()))
            is_open = error.code in _ONLY_WHOLE or (error.code == Code.UNKNOWN_LABEL and not has_labels)
            if not self.is_whole and (is_open or isinstance(error, TooManyBad)):
                continue
            few = error.code == Code.NOTHING_LEFT and not read.whole
            if few or (error.code in _OF_A_SHARE and not read.is_enough):
                yield self._open(error, where, read)
            else:
                yield BadData(error.code, where, error.problem, error.remedy)

    def bad_rows(self, accounts: Mapping[str, Sequence[Account]]) -> Iterator[Finding]:
        """A finding for each file or folder with a larger share of bad first rows than the whole set may have.

        Args:
            accounts: one of `own` -> the row counts of the splits that come from there.
        """
        limit = self.limits.max_bad_fraction
        for name, of_path in [] if self.is_whole else accounts.items():
            rows = sum(account.rows_in for account in of_path)
            bad = [reject for account in of_path for reject in account.invalid]
            if len(bad) <= limit * rows:
                continue
            first = min(bad, key=lambda reject: (reject.file, reject.line))
            reasons = Counter(reject.reason for reject in bad).most_common()
            shown = ", ".join(f"{reason}: {count:,}" for reason, count in reasons[:_REASONS])
            shown += f", and {len(reasons) - _REASONS} more" if len(reasons) > _REASONS else ""
            words = f"{len(bad):,} of the first {rows:,} rows cannot be read or are not valid ({shown}), the first at "
            words += f"{first.place}: {first.reason}"
            path = self.own[name]
            if self.extents[name].is_enough and len(bad) > max(limit, REFUSED) * rows:
                code = Code(Counter(reject.code for reject in bad).most_common(1)[0][0])
                yield BadData(code, path, words, f"mend them, or raise validate.max_bad_fraction ({limit:g})")
            else:
                stops = f"the set is refused before training: validate.max_bad_fraction is {limit:g}"
                yield f"{self.config.key}: {path}: {words}; if as many of all rows are, {stops}"

    def new_folder(self) -> Path:
        return Path(mkdtemp(dir=self.folder))

    def _open(self, error: UserError, where: str, extent: Extent) -> str:
        return f"{self.config.key}: {where}: {error.problem}; if all rows are like {extent}, the set is refused"


def _of_corpus(look: _Look) -> Iterator[Finding]:
    """Text without labels."""
    from adaptbert.data.validate_corpus import validate_corpus

    raw = yield from look.read()
    if raw is None:
        return
    kept, rejected = raw / "kept.parquet", raw / "rejected.parquet"
    validated = validate_corpus(raw, kept, rejected, ForbiddenText(()), look.validation_limits())
    yield from look.decided(validated.errors, lambda _: str(look.own["text"]))
    yield from look.bad_rows({"text": [validated.account]})


@dataclass
class _Labelled:
    """A labelled set.

    Attributes:
        paths: split -> where it lies; those that are cut off train lie where train does.
    """

    look: _Look
    task: Task
    paths: Mapping[str, Path]
    recipe: Recipe

    @property
    def name(self) -> str:
        return self.task.key.partition(".")[2]

    def findings(self) -> Iterator[Finding]:
        look = self.look
        if (yield from look.read()) is None:
            return
        raw = look.new_folder() / self.name
        raw.mkdir()
        if errors := _raised(partial(collect_task, self.task, self.paths, raw, look.head)):
            yield from look.decided(errors, str)
        else:
            yield from self._validated(raw)

    def _validated(self, raw: Path) -> Iterator[Finding]:
        """The problems that validation finds."""
        from adaptbert.data.validate_set import validate_labelled_set

        look, kept = self.look, raw.parent / "kept"
        validated = validate_labelled_set(raw, kept, raw.parent / "rejected.parquet", look.validation_limits())
        has_labels = bool(self.task.labels)
        yield from look.decided(validated.errors, partial(self._place, raw), has_labels=has_labels)
        of = {split: [s for s in SPLITS if self.paths[s] == path] for split, path in look.own.items()}
        yield from look.bad_rows({split: [validated.accounts[s] for s in from_it] for split, from_it in of.items()})
        if not validated.errors:
            is_known = look.is_whole or has_labels
            labels = read_json(kept / "task.json")["labels"] if is_known else None
            yield from self._tuned(labels, validated.accounts["train"].kept if look.is_whole else None)

    def _tuned(self, labels: list[str] | None, rows: int | None) -> Iterator[Finding]:
        """What `finetune` says of these labels and rows; values of single starts and arms are left to the stage."""
        cell = next((cell for cell in self.recipe.cells() if cell["task"] == self.name), None)
        if cell is None:
            return
        values = self.recipe.values("finetune", cell)

        def key(name: str) -> str:
            return f"{self.recipe.file}: {self.recipe.place('finetune', cell, name)}"

        if rows is not None and values.labels > rows:
            few = f"train of {self.name} has {rows:,} rows that are kept: all of them are used"
            yield f"{key('labels')}: {values.labels:,}, but {few}"
        weights = values.class_weights
        if labels is None or weights is None:
            return
        if problem := class_weights.problem(weights, labels):
            remedy = "give `balanced`, or each label its weight"
            yield BadParams(Code.CONTRADICTION, key("class_weights"), problem, remedy)

    def _place(self, raw: Path, shown: str) -> str:
        """The user's file, or the set, in place of the temporary file or folder."""
        split = Path(shown).stem
        is_file = Path(shown) != raw and split in self.paths
        return str(self.paths[split]) if is_file else f"{self.recipe.file}: {self.task.key}"


def _is_small(paths: Iterable[Path]) -> bool:
    """Whether files, or all files of folders, are few and can be read whole."""
    share, files = 0.0, 0
    for path in paths:
        for file in path.rglob("*") if path.is_dir() else [path]:
            is_packed = file.suffix.lower() in (".gz", ".parquet")
            share += file.stat().st_size / (SMALL_PACKED if is_packed else SMALL) if file.is_file() else 0
            files += 1
            if share > 1 or files > MOST_FILES:
                return False
    return True


def _raised(act: Callable[[], object]) -> list[UserError]:
    """The user's errors that a call raises."""
    try:
        act()
    except UserError as error:
        return list(getattr(error, "failures", [error]))
    return []


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Hide warnings of the readers; the stages print them."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
