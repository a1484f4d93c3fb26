"""The rows of the files that params.yaml names: errors before DVC starts.

They go through the code of `collect`, `collect_task` and `validate`, into a temporary folder. A small set is read
whole, and its errors are those of the stages. Of a larger one the first rows are read; they are no random sample, so
where something is wrong with them that more rows may make up for, many more are read before it is an error.
"""

import time
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from adaptbert.codes import Code
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.section import Contradiction
from adaptbert.config.schema.sources import SPLITS, Corpus, Source, Task
from adaptbert.core.files import read_json
from adaptbert.data.collect import collect_corpus, collect_task
from adaptbert.data.files import KEPT_IN_TRAIN, MOST_FILES, OF_DOCUMENTS
from adaptbert.data.leaks import ForbiddenText
from adaptbert.errors import BadParams, Place, UserError, failures_of
from adaptbert.planning.grouping import ungrouped
from adaptbert.tasks import class_weights
from adaptbert.text.words import Segmenter

SECONDS = 10.0
"""Seconds after which no further set is opened."""
ROWS, MORE_ROWS = 200, 100_000
"""First rows of each file of a set that is not small; and where something is wrong with these."""
SMALL, SMALL_PACKED = 1_000_000, 100_000
"""Bytes of a set that is read whole; of one in gzip or Parquet."""
_OF_FILES = {Code.COLUMNS, Code.WRONG_FORMAT, Code.DAMAGED_FILE, Code.FILE, Code.BAD_PATTERN}
"""What reading says of a file as a whole; no further row mends it."""
_OF_ALL_ROWS = {Code.TOO_FEW_ROWS, Code.REPEATED_TEXT, Code.LABEL_NOT_IN_TRAIN, Code.LEAK}
"""What first rows say nothing of: too few texts or classes, labels that train does not show yet."""


@dataclass
class Seen:
    """What was found: errors, which stop the recipe; notices; for each split, counts where rows are left out or
    contradict others; and the keys of sets that were not opened."""

    errors: list[UserError] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    counts: dict[str, str] = field(default_factory=dict)
    unopened: list[str] = field(default_factory=list)


def check(recipe: Recipe, missing: Set[str] = frozenset(), *, task: Task | None = None) -> Seen:
    """The problems that the files show.

    Args:
        missing: paths that are known to be missing or unusable.
        task: to look at alone, with paths of its own; None: at all sets.
    """
    end, seen = time.monotonic() + SECONDS, Seen()
    sources = [*recipe.corpora.values(), *recipe.tasks.values()] if task is None else [task]
    words = {recipe.values("tokenize", {"base": base}).words for base in recipe.bases} if task is None else ()
    for source in [each for each in sources if missing.isdisjoint(map(str, _paths(each).values()))]:
        if time.monotonic() > end:
            seen.unopened.append(source.key)
            continue
        with TemporaryDirectory() as folder:
            _note(recipe, source, Path(folder), seen)
    for name, base in recipe.bases.items() if task is None else ():
        if base.is_folder and base.checkpoint not in missing:
            seen.errors += failures_of(_look_at_base, recipe, name, base, seen)
    for each in words:
        if each.dictionary not in missing:
            seen.errors += failures_of(Segmenter.load, each, Path(each.dictionary))
    return seen


def _look_at_base(recipe: Recipe, name: str, base: Base, seen: Seen) -> None:
    """Note how documents are computed together by the weights of a base, as each stage will, and what it cannot do."""
    from adaptbert.model.checkpoint import Checkpoint
    from adaptbert.model.encoder import PADDED
    from adaptbert.model.proof import prove
    from adaptbert.text.vocabulary_extension import check_rules

    checkpoint = Checkpoint.of(base)
    if prove(checkpoint.model("masked_lm", seed=0)) == "padded":
        seen.notices.append(f"{recipe.base_place(name)}: {PADDED}")
    if recipe.values("tokenizer", {"base": name}).extend is not None:
        seen.errors += failures_of(check_rules, checkpoint.tokenizer)
    lengths = {
        recipe.place(section, names, "max_length"): recipe.values(section, names).max_length
        for section in ("tokenize", "finetune")
        for names in recipe.entries(section)
        if names["base"] == name
    }
    longest = checkpoint.longest
    for place, length in lengths.items():
        if length > longest:
            problem = f"max_length {length}, and {name} has {longest} positions"
            seen.errors.append(BadParams(Code.CONTRADICTION, place, problem, f"write at most {longest}"))


def _paths(source: Source) -> dict[str, Path]:
    """Split, or `text` of a corpus -> file or folder."""
    if isinstance(source, Corpus):
        return {"text": Path(source.path)}
    return {split: Path(getattr(source, split)) for split in SPLITS}


def is_small(paths: Iterable[Path]) -> bool:
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


def _note(recipe: Recipe, source: Source, folder: Path, seen: Seen) -> None:
    is_known = isinstance(source, Task) and source.labels is not None
    silent = _OF_ALL_ROWS | (set() if is_known else {Code.UNKNOWN_LABEL})
    errors = list[UserError]()
    for head in (None,) if is_small({*_paths(source).values()}) else (ROWS, MORE_ROWS):
        raw = folder / f"{head}" / source.key.rpartition(".")[2]  # messages call the set so
        raw.mkdir(parents=True)
        if isinstance(source, Task):
            unreadable = failures_of(collect_task, source, _paths(source), raw, head)
        else:
            unreadable = failures_of(collect_corpus, source, raw, head)
        errors = unreadable or _invalid(recipe, source, raw, head, seen)
        of_files = [error for error in unreadable if error.code in _OF_FILES]
        if head is not None:
            of_rows = [error for error in errors if error.code not in silent]
            errors = of_files or [type(e)(e.code, e.place, e.problem + _of_first(head), e.remedy) for e in of_rows]
        if of_files or not errors:
            break
    seen.errors += errors
    if isinstance(source, Task) and not errors:
        seen.notices += ungrouped(source)


def _of_first(head: int | None) -> str:
    """Which rows were looked at, for the end of a message."""
    return f"; of the first {head:,} rows of a file" if head else ""


def _invalid(recipe: Recipe, source: Source, raw: Path, head: int | None, seen: Seen) -> list[UserError]:
    """The errors of validation, at the user's files."""
    from adaptbert.data.validate_corpus import validate_corpus
    from adaptbert.data.validate_set import OTHER_LABEL, validate_labelled_set

    paths, kept, rejected = _paths(source), raw.parent / ".kept", raw.parent / ".rejected.parquet"
    if not isinstance(source, Task):
        corpus = validate_corpus(raw, kept, rejected, ForbiddenText(()), recipe.limits)
        return [error.at(Place(str(paths["text"]))) for error in corpus.errors]
    validated = validate_labelled_set(raw, kept, rejected, recipe.limits)
    for split, account in validated.accounts.items():
        if account.rejected["left_out"] or account.warnings[OTHER_LABEL]:
            seen.counts[f"{source.key}.{split}"] = f"{account}{_of_first(head)}"
    places = {str(raw / f"{split}.parquet"): Place(str(path)) for split, path in paths.items()}
    warnings = read_json(raw / "manifest.json")["warnings"] if head is None else {}
    counted = [what for what in (KEPT_IN_TRAIN, *OF_DOCUMENTS) if what in warnings]
    seen.notices += [f"{source.key}: {warnings[what]:,} {what}" for what in counted]
    if not validated.errors and head is None:
        labels = read_json(kept / "task.json")["labels"]
        _note_for_training(recipe, source, labels, validated.accounts["train"].kept, seen)
    return [error.at(places.get(error.place.file, recipe.at(source.key))) for error in validated.errors]


def _note_for_training(recipe: Recipe, task: Task, labels: list[str], rows: int, seen: Seen) -> None:
    """What `finetune` says of these labels and rows; values of single bases and arms are left to the stage."""
    name = task.key.rpartition(".")[2]
    cell = next((cell for cell in recipe.cells() if cell["task"] == name), None)
    if cell is None:
        return
    values = recipe.values("finetune", cell)
    if values.labels > rows:
        few = f"train of {name} has {rows:,} rows that are kept: all of them are used"
        seen.notices.append(f"{recipe.place('finetune', cell, 'labels')}: {values.labels:,}, but {few}")
    try:
        class_weights.check(values.class_weights, labels)
    except Contradiction as error:
        seen.errors.append(error.at(recipe.place("finetune", cell, "class_weights")))
