"""Validation of one labelled set: raw splits in; kept rows, rejected rows and row counts out.

A row whose complete input is in the test split is removed from dev and train, and one that is in dev from train. Copies
across splits are common in public sets (up to a third of the test split), so they are removed and counted; when more
than half of a split is in one that must not have it, the split is invalid and the stage fails. Rows that share only one
of two texts with dev or test (a context, a sentence of a pair) are kept and counted.

Rows are rejected if they are empty or longer than `max_characters`, but never for being short: their labels still
count.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.config.schema.sources import SPLITS, Limits, Task
from adaptbert.core.files import read_json
from adaptbert.data.cleaning import letters, odd_characters, seen, spelled
from adaptbert.data.label_names import Labels, label_errors, no_label_errors, renaming, with_another_label
from adaptbert.data.parquet import Table
from adaptbert.data.schema import Reason
from adaptbert.data.source_config import layout_of
from adaptbert.data.tag_schemes import OUTSIDE, kinds
from adaptbert.data.tag_spellings import respelled, scheme_of
from adaptbert.data.task_description import TaskDescription
from adaptbert.data.validate_rows import Account, Examined, RejectFile, repeated_ids, unreadable
from adaptbert.errors import BadData, UserError, nearest

_PROTECTED = (("test", "dev"), ("test", "train"), ("dev", "train"))
"""(a split, another that must not contain its rows)."""
_MAX_COPIES = 0.5
OTHER_LABEL = "rows_whose_text_has_another_label"
"""The count of rows whose text another row of their split has with another label."""


class ValidatedSet(NamedTuple):
    """A validated task.

    Attributes:
        accounts: split -> its row counts.
        held_out: texts of dev and test.
    """

    accounts: dict[str, Account]
    held_out: list[str]
    errors: list[UserError]


def validate_labelled_set(raw: Path, output: Path, rejected: Path, limits: Limits) -> ValidatedSet:
    """Validate the three splits of one labelled set.

    Args:
        raw: folder, named after the set, with train, dev, test.parquet, manifest.json and, where rows could not be
            read, unreadable.parquet.
        output: folder to write train, dev, test.parquet and task.json to.
        rejected: reject file to write.
        limits: the section `validate`.
    """
    task = Task.model_validate(read_json(raw / "manifest.json")["task"])
    layout = layout_of(task)
    splits = {split: _Split(raw, split, task, limits) for split in SPLITS}
    accounts = {split: rows.account for split, rows in splits.items()}
    errors = [error for each in splits.values() for error in repeated_ids(each.source)]
    for protected, other in _PROTECTED:
        errors += _reject_copies(splits[protected], splits[other])

    with RejectFile(rejected) as reject_file:
        reject_file.write_all(unreadable(raw, accounts))
        for each in splits.values():
            reject_file.write_all(each.account.add(each.rows))
    # A file that was read in a wrong way as a whole: other errors of the split follow from these.
    misread = {split: [*each.in_another_scheme(limits), *each.unanswered()] for split, each in splits.items()}
    for split, each in splits.items():
        useless = each.account.too_many_invalid(limits.max_bad_fraction, each.source)
        useless = useless or each.account.nothing_kept(each.source, "rows", "each split needs rows")
        errors += misread[split] or useless
        another = with_another_label(each.rows.texts(), each.rows.cells(layout.output.column))
        each.account.warnings += Counter({OTHER_LABEL: another})

    labels = {split: each.labels() for split, each in splits.items()}
    trained, cell = labels["train"].counts, layout.output.cell
    numbers: list[float] = splits["train"].rows.cells("value") if cell == "number" else []
    if accounts["train"].kept and not any(misread.values()):  # errors of the remaining labels would repeat the cause
        odd = no_label_errors(labels, task, raw) if layout.output.classes == "row" else []
        errors += odd or label_errors(labels, task, raw)
        errors += _target_errors(trained, numbers, task, raw)
    for protected, other in _PROTECTED:
        _count_shared_texts(splits[protected], splits[other])

    for split, each in splits.items():
        with Table(output / f"{split}.parquet", layout.arrow()) as kept:
            for place in each.rows.left:
                kept.add(each.rows.rows[place])
    columns = {name: column for name, column in (task.columns or {}).items() if name in ("id", *layout.inputs)}
    TaskDescription(
        type=task.spec.name,
        labels=sorted(task.labels or trained),
        rows={split: account.kept for split, account in accounts.items()},
        range=[min(numbers, default=None), max(numbers, default=None)] if cell == "number" else None,
        no_answer=task.no_answer,
        replace=task.replace or None,
        columns={name: column for name, column in columns.items() if name != column} or None,
        positive=task.positive,
    ).write(output)
    held_out = [text for split in ("dev", "test") for texts in splits[split].rows.texts() for text in texts]
    return ValidatedSet(accounts, held_out, errors)


class _Split:
    """The rows of one split, and their counts."""

    def __init__(self, raw: Path, name: str, task: Task, limits: Limits) -> None:
        self.source, self.account, self.task = raw / f"{name}.parquet", Account(name), task
        self._table = pq.read_table(self.source)
        self.rows = Examined(self._table, limits, task)
        mended = self.rows.misfits if task.repair_tags else 0
        self.account.warnings += Counter(tags_mended=mended, blank_tokens_left_out=self.rows.blanks)

    def compared(self) -> list[tuple[str, ...]]:
        """Keys that are equal for inputs with the same letters and digits."""
        return [tuple(map(letters, texts)) for texts in self.rows.texts()]

    def labels(self) -> Labels:
        """The classes, entity types or tags of the kept rows, with file, line and id for messages."""
        labels, output = Labels(), self.rows.layout.output
        columns = (self.rows.cells(name) for name in (output.column, "file", "line", "id"))
        for cell, file, line, row_id in zip(*columns, strict=True):
            for label in output.labels(cell):
                labels.add(label, f"{file}:{line} (row {row_id!r})")
        return labels

    def unanswered(self) -> list[UserError]:
        """The error when questions have no answer and `no_answer` is false."""
        if self.rows.layout.output.cell != "answers" or self.task.no_answer:
            return []
        places = zip(*map(self.rows.cells, ("answers", "file", "line")), strict=True)
        none = [f"{file}:{line}" for answers, file, line in places if not answers]
        if not none:
            return []
        problem = f"{len(none)} questions without an answer, the first at {none[0]}"
        return [BadData(Code.LABEL_MISSING, self.source, problem, "unanswerable questions need no_answer: true")]

    def in_another_scheme(self, limits: Limits) -> list[UserError]:
        """The error when more rows break the tag scheme than `max_bad_fraction` allows; it names one that fits more."""
        scheme, total, misfits = self.rows.scheme, self.account.rows_in, self.rows.misfits
        rows: list[list[str]] = self._table["tags"].to_pylist() if self.rows.layout.has_spans else []
        foreign = respelled({tag for row in rows for tag in row})
        looks = scheme_of([[foreign.get(tag, tag) for tag in row] for row in rows]) if rows else scheme
        # A bare word is a type of io, so that there tags of another spelling break nothing.
        if misfits <= limits.max_bad_fraction * total and not (scheme == "io" and (foreign or looks is None)):
            return []
        of_scheme = "" if looks in (None, scheme) else f"tag_scheme: {looks}"
        if foreign:
            theirs, ours = list(foreign.items())[-1]
            first = next(row for row in self._table.to_pylist() if theirs in row["tags"])
            remedy = renaming(foreign, self.task, f"tasks.{self.source.parent.name}")
            written = f"{seen(theirs)}{odd_characters(theirs, ours)}, first in {first['file']}:{first['line']}"
            problem = f"the file writes {seen(ours)} as {written}"
            return [BadData(Code.TAGS, self.source, problem, f"{remedy}, and {of_scheme}" if of_scheme else remedy)]
        problem = f"{misfits} of {total} rows are not {scheme}"
        if of_scheme:
            return [BadData(Code.TAGS, self.source, f"{problem}; they look like {looks}", f"write {of_scheme}")]
        of_none = sum(bool({*row} - {OUTSIDE}) and not kinds(row, scheme) for row in rows)
        if not misfits or 2 * of_none > len(rows):
            remedy = "map the column of the tags in `columns`; where they are no spans, write tag_scheme: none"
            return [BadData(Code.TAGS, self.source, "most rows have tags of no scheme", remedy)]
        if self.task.repair_tags or 2 * of_none > misfits:  # those rows are named like other invalid ones
            return []
        problem = f"{problem}, and no other scheme fits more: a mixture?"
        return [BadData(Code.TAGS, self.source, problem, "repair_tags: true")]


# ---- errors of a set


def _target_errors(labels: Counter[str], numbers: Sequence[float], task: Task, place: Path) -> list[UserError]:
    """What the training rows lack: two classes for classification, one for several labels and spans; the positive
    label; two values for the correlation of regression."""
    errors: list[UserError] = []
    target, positive = task.spec.output, task.positive
    if len(labels) < target.fewest_labels:
        problem = f"{len(labels)} class in train; '{task.target}' needs {target.fewest_labels}"
        errors.append(BadData(Code.TOO_FEW_ROWS, place, problem, "check the label column"))
    if positive is not None and positive not in labels:
        problem = f"positive is {seen(positive)}{nearest(positive, sorted(labels))}, which no training row has"
        remedy = f"known: {', '.join(map(spelled, sorted(labels)))}"
        errors.append(BadData(Code.UNKNOWN_LABEL, place, problem, remedy))
    if len(set(numbers)) == 1:
        problem = "the target is constant: correlation undefined"
        errors.append(BadData(Code.TOO_FEW_ROWS, place, problem, "check the column of the value"))
    return errors


def _reject_copies(protected: _Split, other: _Split) -> list[UserError]:
    """Reject the rows of `other` whose input is in `protected`; the error when there are too many."""
    exact, keys, name = set(protected.rows.texts()), set(protected.compared()), protected.account.split
    same = Reason(Code.LEAK, f"in_{name}", f"the same text is in {name}")
    similar = same._replace(text=f"the same text but for case, punctuation or spaces is in {name}")
    copied: set[tuple[str, ...]] = set()
    for row, text, key in zip(other.rows.left, other.rows.texts(), other.compared(), strict=True):
        if key in keys:
            copied.add(key)
            other.rows.reasons[row] = same if text in exact else similar
    if len(copied) <= _MAX_COPIES * len(keys):
        return []
    problem = f"{len(copied)} of {len(keys)} texts of {name} are in {other.account.split}"
    remedy = f"split again: {other.account.split} must not hold what {name} measures"
    return [BadData(Code.LEAK, other.source, problem, remedy)]


def _count_shared_texts(protected: _Split, other: _Split) -> None:
    """Count rows of `other` that share a context, or one text of a pair, with `protected`."""
    layout = protected.rows.layout
    if len(layout.inputs) < 2:
        return
    places = [layout.inputs.index(name) for name in layout.shared]
    texts = {row[place] for row in protected.compared() for place in places}
    if shared := sum(any(row[place] in texts for place in places) for row in other.compared()):
        other.account.warnings[f"rows_sharing_a_text_with_{protected.account.split}"] = shared
