"""Validation of one labelled set: raw splits in; kept rows, rejected rows and row counts out.

A row whose complete input is in the test split is removed from dev and train, and one that is in dev from train. Copies
across splits are common in public sets (up to a third of the test split), so they are removed and counted; when more
than half of a split is in one that must not have it, the split is invalid and the stage fails (70). Rows that share
only one of two texts with dev or test (a context, a sentence of a pair) are kept and counted.

Rows are rejected if they are empty or longer than `max_characters`, but never for being short: their labels still
count.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Limits
from adaptbert.core.files import read_json
from adaptbert.data.accounts import Account, RejectFile, rejects, repeated_ids, unreadable, writer
from adaptbert.data.cleaning import seen, spelled
from adaptbert.data.label_audit import label_errors
from adaptbert.data.schema import Reason
from adaptbert.data.split import Split, TaskRules
from adaptbert.errors import BadData, UserError, nearest

SPLITS = ("train", "dev", "test")
_PROTECTED = (("test", "dev"), ("test", "train"), ("dev", "train"))
"""(a split, another that must not contain its rows)."""
_MAX_COPIES = 0.5


@dataclass
class ValidatedSet:
    """A validated task."""

    accounts: dict[str, Account]
    """Split -> its row counts."""
    held_out: list[str]
    """Texts of dev and test."""
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
    rules = TaskRules.of(read_json(raw / "manifest.json"))
    splits = {split: Split(raw / f"{split}.parquet", rules, limits) for split in SPLITS}
    accounts = {split: rows.account for split, rows in splits.items()}
    errors = [error for rows in splits.values() for error in repeated_ids(rows.source, rows.repeated_ids())]
    for protected, other in _PROTECTED:
        errors += _reject_copies(splits[protected], splits[other], protected, other)

    with RejectFile(rejected) as reject_file:
        reject_file.write(unreadable(raw, accounts))
        for split, rows in splits.items():
            reject_file.write(rejects(rows.frame, rows.reasons, rows.invalid, split, rows.account))
    for rows in splits.values():
        rows.account.keep(rows.shown())
        rows.account.balance()
    # A file that was read in a wrong way as a whole: other errors of the split follow from these.
    file_checks = {split: [*rows.in_another_scheme(limits), *rows.unanswered()] for split, rows in splits.items()}
    errors += [error for split, rows in splits.items() for error in file_checks[split] or _useless(rows, limits)]

    labels = {split: rows.labels() for split, rows in splits.items()}
    trained = labels["train"].counts
    if accounts["train"].kept and not any(
        file_checks.values()
    ):  # label errors of the remaining rows would repeat the cause
        errors += label_errors(labels, rules.labels, rules.map_labels, raw)
        errors += target_errors(trained, splits["train"].numbers(), rules, raw)
    for protected, other in _PROTECTED:
        _count_shared_texts(splits[protected], splits[other], protected)

    for split, rows in splits.items():
        with writer(output / f"{split}.parquet", rules.layout) as output_file:
            output_file.write_table(rows.table())
    known = sorted(rules.labels or trained)
    counts = {split: account.kept for split, account in accounts.items()}
    rules.describe(known, counts, splits["train"].numbers()).write(output)
    held_out = [text for split in ("dev", "test") for row in splits[split].texts() for text in row]
    return ValidatedSet(accounts, held_out, errors)


def target_errors(labels: Counter[str], numbers: Sequence[float], rules: TaskRules, place: Path) -> list[UserError]:
    """What the training rows lack: two classes for classification, one for several labels and spans; the positive
    label; two values for the correlation of regression.

    Args:
        labels: of train.
        numbers: values of train; empty where the target is not regression.
    """
    errors: list[UserError] = []
    target, positive = rules.layout.output, rules.positive
    if len(labels) < target.fewest_labels:
        problem = f"{len(labels)} class in train; '{rules.layout.target}' needs {target.fewest_labels}"
        errors.append(BadData(Code.TOO_FEW_ROWS, place, problem, "check the label column"))
    if positive is not None and positive not in labels:
        problem = f"positive is {seen(positive)}{nearest(positive, sorted(labels))}, which no training row has"
        remedy = f"known: {', '.join(map(spelled, sorted(labels)))}"
        errors.append(BadData(Code.UNKNOWN_LABEL, place, problem, remedy))
    if len(set(numbers)) == 1:
        problem = "the target is constant: correlation undefined"
        errors.append(BadData(Code.TOO_FEW_ROWS, place, problem, "check the column of the value"))
    return errors


def _reject_copies(protected: Split, other: Split, protected_name: str, other_name: str) -> list[UserError]:
    """Reject the rows of `other` whose input is in `protected`; the error when there are too many."""
    exact = set(protected.texts())
    keys = set(protected.compared())
    same = Reason(Code.LEAK, f"in_{protected_name}", f"the same text is in {protected_name}")
    spelling = f"the same text but for case, punctuation or spaces is in {protected_name}"
    similar = same._replace(code=Code.LEAK, text=spelling)
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


def _count_shared_texts(protected: Split, other: Split, protected_name: str) -> None:
    """Count rows of `other` that share a context, or one text of a pair, with `protected`."""
    if len(protected.rules.layout.inputs) < 2:
        return
    layout = protected.rules.layout
    places = [layout.inputs.index(name) for name in layout.shared]
    texts = {row[place] for row in protected.compared() for place in places}
    if shared := sum(any(row[place] in texts for place in places) for row in other.compared()):
        other.account.warnings[f"rows_sharing_a_text_with_{protected_name}"] = shared


def _useless(rows: Split, limits: Limits) -> list[UserError]:
    """The errors when too many rows are invalid, or none is kept."""
    too_many = rows.account.too_many_invalid(limits.max_bad_fraction, rows.source)
    return too_many or rows.account.nothing_kept(rows.source, "rows", "each split needs rows")
