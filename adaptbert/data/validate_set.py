"""Validation of one labelled set: raw splits in; kept rows, rejected rows and row counts out.

A row whose complete input is in the test split is removed from dev and train, and one that is in dev from train. Copies
across splits are common in public sets (up to a third of the test split), so they are removed and counted; when more
than half of a split is in one that must not have it, the split is invalid and the stage fails. Rows that share only one
of two texts with dev or test (a context, a sentence of a pair) are kept and counted.

Rows are rejected if they are empty or longer than `max_characters`, but never for being short: their labels still
count.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.parquet as pq
from pydantic import ConfigDict, Field

from adaptbert.codes import Code
from adaptbert.config.schema.section import Section
from adaptbert.config.schema.sources import Limits, Scheme
from adaptbert.config.schema.task_types import Target, TaskType, spec_of
from adaptbert.core.files import read_json
from adaptbert.data import tag_schemes
from adaptbert.data.accounts import TOO_LONG, Account, RejectFile, repeated_ids, unreadable
from adaptbert.data.cleaning import clean, letters, origins, seen, spelled
from adaptbert.data.label_names import Labels, label_errors
from adaptbert.data.layout import Layout, as_text
from adaptbert.data.parquet import table, writer
from adaptbert.data.schema import ANSWER_ELSEWHERE, ANY_NUMBER, EMPTY, OUT_OF_RANGE, Reason, faulty
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData, UserError, nearest

if TYPE_CHECKING:
    import pandas as pd

SPLITS = ("train", "dev", "test")
_PROTECTED = (("test", "dev"), ("test", "train"), ("dev", "train"))
"""(a split, another that must not contain its rows)."""
_MAX_COPIES = 0.5


class ValidatedSet(NamedTuple):
    """A validated task.

    Attributes:
        accounts: split -> its row counts.
        held_out: texts of dev and test.
    """

    accounts: dict[str, Account]
    held_out: list[str]
    errors: list[UserError]


class TaskRules(Section):
    """What params.yaml says of the set, from the manifest of `collect_task`, which has only the keys of its target."""

    model_config = ConfigDict(strict=False, extra="ignore")  # a range is a list in JSON; a manifest has other keys

    shape: TaskType
    target: Target
    labels: list[str] | None = None
    """The allowed labels; None: those of the training rows."""
    tag_scheme: Scheme = "bio"
    """Of the file, for spans."""
    repair_tags: bool = False
    """Whether tags that break the scheme are repaired."""
    no_answer: bool = False
    """Whether a question may have no answer."""
    range: tuple[float, float] = ANY_NUMBER
    """Of regression values."""
    replace: list[list[str]] | None = None
    """Patterns and replacements that were applied to the texts; prediction applies them too."""
    positive: str | None = None
    """The class whose own F1 is reported."""
    map_labels: dict[str, str] = Field(default_factory=dict)
    """Label in the files -> label in adaptbert."""

    @property
    def layout(self) -> Layout:
        return Layout(self.shape, self.target)


def validate_labelled_set(raw: Path, output: Path, rejected: Path, limits: Limits) -> ValidatedSet:
    """Validate the three splits of one labelled set.

    Args:
        raw: folder, named after the set, with train, dev, test.parquet, manifest.json and, where rows could not be
            read, unreadable.parquet.
        output: folder to write train, dev, test.parquet and task.json to.
        rejected: reject file to write.
        limits: the section `validate`.
    """
    rules = TaskRules.model_validate(read_json(raw / "manifest.json"))
    splits = {split: _Split(raw / f"{split}.parquet", rules, limits) for split in SPLITS}
    accounts = {split: rows.account for split, rows in splits.items()}
    errors = [error for rows in splits.values() for error in repeated_ids(rows.source, rows.repeated_ids())]
    for protected, other in _PROTECTED:
        errors += _reject_copies(splits[protected], splits[other], protected, other)

    with RejectFile(rejected) as reject_file:
        reject_file.write(unreadable(raw, accounts))
        for split, rows in splits.items():
            reject_file.write(rows.account.reject(rows.frame, rows.reasons, rows.invalid, split))
    for rows in splits.values():
        rows.account.keep(["".join(texts) for texts in rows.texts()])
        rows.account.balance()
    # A file that was read in a wrong way as a whole: other errors of the split follow from these.
    misread = {split: [*rows.in_another_scheme(limits), *rows.unanswered()] for split, rows in splits.items()}
    errors += [error for split, rows in splits.items() for error in misread[split] or _useless(rows, limits)]

    labels = {split: rows.labels() for split, rows in splits.items()}
    trained, numbers = labels["train"].counts, splits["train"].numbers()
    if accounts["train"].kept and not any(misread.values()):  # errors of the remaining labels would repeat the cause
        errors += label_errors(labels, rules.labels, rules.map_labels, raw)
        errors += _target_errors(trained, numbers, rules, raw)
    for protected, other in _PROTECTED:
        _count_shared_texts(splits[protected], splits[other], protected)

    for split, rows in splits.items():
        with writer(output / f"{split}.parquet", rules.layout) as output_file:
            output_file.write_table(table(rules.layout, [rows.cells(name) for name in rules.layout.columns]))
    cell = rules.layout.output.cell
    TaskDescription(
        type=spec_of(rules.shape, rules.target).name,
        labels=sorted(rules.labels or trained),
        rows={split: account.kept for split, account in accounts.items()},
        range=[min(numbers, default=None), max(numbers, default=None)] if cell == "number" else None,
        no_answer=rules.no_answer if cell == "answers" else None,
        replace=rules.replace or None,
        positive=rules.positive,
    ).write(output)
    held_out = [text for split in ("dev", "test") for texts in splits[split].texts() for text in texts]
    return ValidatedSet(accounts, held_out, errors)


class _Split:
    """The rows of one split.

    Attributes:
        frame: the rows; valid ones are cleaned, with tags in BIO and offsets of answers in the cleaned text.
        invalid: position -> why the row is invalid.
        reasons: position -> why the row is rejected: invalid rows, and valid ones that are copies or out of limits.
        misfits: rows whose tags break the scheme of the file, repaired ones included.
    """

    def __init__(self, source: Path, rules: TaskRules, limits: Limits) -> None:
        self.source, self.rules, self.layout = source, rules, rules.layout
        self.frame: pd.DataFrame = pq.read_table(source).to_pandas()
        self.account = Account(rows_in=len(self.frame))
        self.misfits = 0
        if self.layout.output.marks_spans:
            self.frame["tags"] = [self._in_scheme(tags) for tags in self.frame["tags"]]
            if rules.repair_tags and self.misfits:
                self.account.warnings["tags_mended"] = self.misfits
        reasons = faulty(self.frame, self.layout, source, rules.tag_scheme, rules.range)
        self.invalid = {row: self._with_value(row, reason) for row, reason in reasons.items()}
        self._texts = self._cleaned_rows()
        self.reasons = dict(self.invalid)
        for row, texts in enumerate(self._texts):
            if row not in self.invalid and not all(texts):
                self.reasons[row] = EMPTY
            if row not in self.invalid and sum(map(len, texts)) > limits.max_characters:
                self.reasons[row] = TOO_LONG

    @property
    def left(self) -> list[int]:
        """Positions of the kept rows."""
        return [row for row in range(len(self.frame)) if row not in self.reasons]

    def cells(self, column: str) -> list[Any]:
        """Of the kept rows."""
        return self.frame[column].iloc[self.left].tolist()

    def texts(self) -> list[tuple[str, ...]]:
        """The inputs of the kept rows; the words of a tagged row are one text."""
        return [self._texts[row] for row in self.left]

    def compared(self) -> list[tuple[str, ...]]:
        """Equal for inputs with the same letters and digits."""
        return [tuple(map(letters, texts)) for texts in self.texts()]

    def labels(self) -> Labels:
        """The classes, entity types or tags of the kept rows, with file, line and id for messages."""
        labels, output = Labels(), self.layout.output
        columns = (self.cells(name) for name in (output.column, "file", "line", "id"))
        for cell, file, line, row_id in zip(*columns, strict=True):
            for label in output.labels(cell):
                labels.add(label, f"{file}:{line} (row {row_id!r})")
        return labels

    def numbers(self) -> list[float]:
        """The values of the kept rows; empty unless the target is regression."""
        output = self.layout.output
        return self.cells(output.column) if output.cell == "number" else []

    def unanswered(self) -> list[UserError]:
        """The error when questions have no answer and `no_answer` is false."""
        if self.layout.output.cell != "answers" or self.rules.no_answer:
            return []
        places = zip(self.cells("answers"), self.cells("file"), self.cells("line"), strict=True)
        none = [f"{file}:{line}" for answers, file, line in places if not answers]
        if not none:
            return []
        problem = f"{len(none)} questions without an answer, the first at {none[0]}"
        return [BadData(Code.LABEL_MISSING, self.source, problem, "unanswerable questions need no_answer: true")]

    def in_another_scheme(self, limits: Limits) -> list[UserError]:
        """The error when more rows break the tag scheme than `max_bad_fraction` allows; it names one that fits more."""
        scheme, total = self.rules.tag_scheme, self.account.rows_in
        if self.misfits <= limits.max_bad_fraction * total:
            return []
        looks = tag_schemes.looks_like(pq.read_table(self.source, columns=["tags"])["tags"].to_pylist())
        problem = f"{self.misfits} of {total} rows are not {scheme}"
        if looks != scheme:
            problem = f"{problem}; they look like {looks}"
            return [BadData(Code.TAGS, self.source, problem, f"write tag_scheme: {looks}")]
        if self.rules.repair_tags:
            return []
        problem = f"{problem}, and no other scheme fits more: a mixture?"
        return [BadData(Code.TAGS, self.source, problem, "repair_tags: true")]

    def repeated_ids(self) -> set[str]:
        """Ids of more than one row."""
        return {row_id for row_id, count in Counter(self.frame["id"]).items() if count > 1}

    def _with_value(self, row: int, reason: Reason) -> Reason:
        """The reason, with the value and the range where the value is out of range."""
        if reason != OUT_OF_RANGE:
            return reason
        value, (low, high) = self.frame["value"].iloc[row], self.rules.range
        wrong = f"not in {low:g} to {high:g}" if isfinite(value) else "not finite"
        return reason._replace(text=f"value {value:g} is {wrong}")

    def _in_scheme(self, tags: Any) -> Any:
        """The tags of a row, repaired where the rules say so and it is possible; counts those that break the scheme."""
        if tag_schemes.fits(tags, self.rules.tag_scheme):
            return tags
        self.misfits += 1
        if not self.rules.repair_tags:
            return tags
        try:
            return tag_schemes.legal(tags, self.rules.tag_scheme)
        except ValueError:
            return tags  # not of a known scheme: the row is rejected later

    def _cleaned_rows(self) -> list[tuple[str, ...]]:
        """Replace cells of valid rows by cleaned ones, and adjust offsets of answers; returns the texts of each row."""
        cells = {name: self.frame[name].tolist() for name in self.layout.fields}
        texts: list[tuple[str, ...]] = []
        for row in range(len(self.frame)):
            if row in self.invalid:
                texts.append(("",) * len(self.layout.inputs))
                continue
            if self.layout.output.cell == "answers":
                cells["answers"][row] = answers = moved(cells["context"][row], cells["answers"][row])
                if answers is None:
                    self.invalid[row] = ANSWER_ELSEWHERE
            for name in self.layout.inputs:
                cells[name][row] = self._cleaned(cells[name][row])
            texts.append(tuple(as_text(cells[name][row]) for name in self.layout.inputs))
            if self.layout.output.marks_spans:
                tags = cells["tags"][row]
                cells["tags"][row] = tag_schemes.tags(tag_schemes.spans(tags, self.rules.tag_scheme), len(tags), "bio")
        for name, column in cells.items():
            self.frame[name] = column
        return texts

    def _cleaned(self, cell: Any) -> Any:
        parts = [clean(part) for part in ([cell] if isinstance(cell, str) else cell)]
        for _, hidden in parts:
            self.account.cleaned.update(hidden)
        return parts[0][0] if isinstance(cell, str) else [text for text, _ in parts]


def moved(context: str, answers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """The answers in `clean(context)`; None where one has no visible character."""
    cleaned, offsets = clean(context)[0], origins(context)
    moved_answers = []
    for answer in answers:
        first = bisect_left(offsets, answer["start"])
        end = bisect_left(offsets, answer["start"] + len(answer["text"]))
        if not cleaned[first:end].strip():
            return None
        moved_answers.append({"text": cleaned[first:end], "start": first})
    return moved_answers


# ---- errors of a set


def _target_errors(labels: Counter[str], numbers: Sequence[float], rules: TaskRules, place: Path) -> list[UserError]:
    """What the training rows lack: two classes for classification, one for several labels and spans; the positive
    label; two values for the correlation of regression."""
    errors: list[UserError] = []
    target, positive = rules.layout.output, rules.positive
    if len(labels) < target.fewest_labels:
        problem = f"{len(labels)} class in train; '{rules.target}' needs {target.fewest_labels}"
        errors.append(BadData(Code.TOO_FEW_ROWS, place, problem, "check the label column"))
    if positive is not None and positive not in labels:
        problem = f"positive is {seen(positive)}{nearest(positive, sorted(labels))}, which no training row has"
        remedy = f"known: {', '.join(map(spelled, sorted(labels)))}"
        errors.append(BadData(Code.UNKNOWN_LABEL, place, problem, remedy))
    if len(set(numbers)) == 1:
        problem = "the target is constant: correlation undefined"
        errors.append(BadData(Code.TOO_FEW_ROWS, place, problem, "check the column of the value"))
    return errors


def _reject_copies(protected: _Split, other: _Split, protected_name: str, other_name: str) -> list[UserError]:
    """Reject the rows of `other` whose input is in `protected`; the error when there are too many."""
    exact, keys = set(protected.texts()), set(protected.compared())
    same = Reason(Code.LEAK, f"in_{protected_name}", f"the same text is in {protected_name}")
    similar = same._replace(text=f"the same text but for case, punctuation or spaces is in {protected_name}")
    copied: set[tuple[str, ...]] = set()
    for row, text, key in zip(other.left, other.texts(), other.compared(), strict=True):
        if key in keys:
            copied.add(key)
            other.reasons[row] = same if text in exact else similar
    if len(copied) <= _MAX_COPIES * len(keys):
        return []
    problem = f"{len(copied)} of {len(keys)} texts of {protected_name} are in {other_name}"
    remedy = f"split again: {other_name} must not hold what {protected_name} measures"
    return [BadData(Code.LEAK, other.source, problem, remedy)]


def _count_shared_texts(protected: _Split, other: _Split, protected_name: str) -> None:
    """Count rows of `other` that share a context, or one text of a pair, with `protected`."""
    layout = protected.layout
    if len(layout.inputs) < 2:
        return
    places = [layout.inputs.index(name) for name in layout.shared]
    texts = {row[place] for row in protected.compared() for place in places}
    if shared := sum(any(row[place] in texts for place in places) for row in other.compared()):
        other.account.warnings[f"rows_sharing_a_text_with_{protected_name}"] = shared


def _useless(rows: _Split, limits: Limits) -> list[UserError]:
    """The errors when too many rows are invalid, or none is kept."""
    too_many = rows.account.too_many_invalid(limits.max_bad_fraction, rows.source)
    return too_many or rows.account.nothing_kept(rows.source, "rows", "each split needs rows")
