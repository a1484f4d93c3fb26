"""Validation of one labelled set: raw splits in; kept rows, rejected rows and row counts out.

A row whose whole input is in the test split is taken out of dev and train, and one that is in dev out of train. Copies
across splits are usual in public sets (up to a third of the test split), so they are removed and counted; when more
than half of a split is in one that must not have it, the split is invalid and the stage fails (70). Rows that share
only one of two texts with dev or test (a context, a sentence of a pair) are kept and counted.

A row is never rejected for being short: its label still counts. It is for being empty, or longer than any row may be.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

from adaptbert.base.files import read_json
from adaptbert.codes import Code
from adaptbert.errors import BadData, UserError
from adaptbert.validation.accounts import Account, RejectFile
from adaptbert.validation.label_audit import (
    class_errors,
    conflicts,
    label_errors,
    label_warnings,
    number_errors,
    positive_errors,
)
from adaptbert.validation.limits import Limits
from adaptbert.validation.misread import offset_errors, scheme_errors
from adaptbert.validation.reject import rejects, repeated_ids, unreadable, writer
from adaptbert.validation.schemas import Reason
from adaptbert.validation.split import Split
from adaptbert.validation.task_rules import TaskRules

SPLITS = ("train", "dev", "test")
_HOLDERS = (("test", "dev"), ("test", "train"), ("dev", "train"))
"""(a split, one that must not have its rows)."""
_MAX_COPIES = 0.5
_SHOWN = 5
"""Groups of conflicting rows told one by one."""


@dataclass
class JudgedSet:
    """A validated task."""

    accounts: dict[str, Account]
    """Split -> its row counts."""
    held_out: list[str]
    """Texts of dev and test."""
    errors: list[UserError]


def pass_task(raw: Path, kept: Path, rejected: Path, limits: Limits) -> JudgedSet:
    """The three splits of one labelled set.

    Args:
        raw: folder, named after the set, with train, dev, test.parquet, manifest.json and, where rows could not be
            read, unreadable.parquet.
        kept: folder to write train, dev, test.parquet and task.json to.
        rejected: reject file to write.
        limits: the section `validate`.
    """
    rules = TaskRules.of(read_json(raw / "manifest.json"))
    splits = {split: Split(raw / f"{split}.parquet", rules, limits) for split in SPLITS}
    accounts = {split: rows.account for split, rows in splits.items()}
    errors = [error for rows in splits.values() for error in repeated_ids(rows.source, rows.repeated_ids())]
    for holder, looser in _HOLDERS:
        errors += _take_out_copies(splits[holder], splits[looser], holder, looser)

    with RejectFile(rejected) as reject_file:
        reject_file.write(unreadable(raw, accounts))
        for split, rows in splits.items():
            reject_file.write(rejects(rows.frame, rows.reasons, rows.invalid, split, rows.account))
    for rows in splits.values():
        rows.account.keep(rows.shown())
        rows.account.balance()
    misread = {split: _misread(rows, limits) for split, rows in splits.items()}
    errors += [error for split, rows in splits.items() for error in misread[split] or _useless(rows, limits)]

    labels = {split: rows.labels() for split, rows in splits.items()}
    trained = labels["train"].counts
    if accounts["train"].kept and not any(misread.values()):  # the labels of what is left would say the same once more
        errors += label_errors(labels, rules.labels, rules.renamed, raw)
        errors += class_errors(trained, rules.layout, raw)
        errors += positive_errors(trained, rules.positive, raw)
        errors += number_errors(splits["train"].numbers(), raw)
    accounts["train"].warnings.update(label_warnings(labels))
    for rows in splits.values():
        _warn(rows)
    for holder, looser in _HOLDERS:
        _count_shared_texts(splits[holder], splits[looser], holder)

    for split, rows in splits.items():
        with writer(kept / f"{split}.parquet", rules.layout) as kept_file:
            kept_file.write_table(rows.table())
    known = sorted(rules.labels or trained)
    counts = {split: account.kept for split, account in accounts.items()}
    rules.describe(known, counts, splits["train"].numbers()).write(kept)
    held_out = [text for split in ("dev", "test") for row in splits[split].texts() for text in row]
    return JudgedSet(accounts, held_out, errors)


def _take_out_copies(holder: Split, looser: Split, holder_name: str, looser_name: str) -> list[UserError]:
    """Reject the rows of `looser` whose input `holder` has."""
    exact = set(holder.texts())
    keys = set(holder.compared())
    same = Reason(Code.IN_OTHER_SPLIT, f"in_{holder_name}", f"the same text is in {holder_name}")
    similar = Reason(
        Code.ALMOST_IN_OTHER_SPLIT, same.name, f"the same text but for case, punctuation or spaces is in {holder_name}"
    )
    copied: set[tuple[str, ...]] = set()
    for row, text, key in zip(looser.left, looser.texts(), looser.compared(), strict=True):
        if key in keys:
            copied.add(key)
            looser.reasons[row] = same if text in exact else similar
    if len(copied) <= _MAX_COPIES * len(keys):
        return []
    problem = f"{len(copied)} of {len(keys)} texts of {holder_name} are in {looser_name}"
    return [
        BadData(
            Code.IN_OTHER_SPLIT,
            looser.source,
            problem,
            f"split again: {looser_name} must not hold what {holder_name} measures",
        )
    ]


def _count_shared_texts(holder: Split, looser: Split, holder_name: str) -> None:
    """Contexts, or single texts of pairs, that `looser` has in common with `holder`."""
    if len(holder.rules.layout.inputs) < 2:
        return
    layout = holder.rules.layout
    places = [layout.inputs.index(name) for name in layout.shared]
    held = {row[place] for row in holder.compared() for place in places}
    if shared := sum(any(row[place] in held for place in places) for row in looser.compared()):
        looser.account.warnings[f"rows_sharing_a_text_with_{holder_name}"] = shared


def _warn(rows: Split) -> None:
    """Count texts that come twice, and those that carry two labels; name the rows of these."""
    keys = rows.same()
    if repeated := len(keys) - len(set(keys)):
        rows.account.warnings["repeated_texts"] = repeated
    if rows.rules.layout.is_tagged:
        return
    if found := conflicts(zip(rows.places(), keys, rows.outputs(), strict=True)):
        rows.account.warnings["texts_with_conflicting_labels"] = len(found)
        shown = "; ".join(" and ".join(group[:2]) for group in found[:_SHOWN])
        logging.warning("%s: texts that carry different labels: %d, e.g. in %s", rows.source, len(found), shown)


def _misread(rows: Split, limits: Limits) -> list[UserError]:
    """Rows that say the whole file is read wrongly; what else is wrong with them follows from it."""
    return [*scheme_errors(rows, limits), *offset_errors(rows, limits), *rows.unanswered()]


def _useless(rows: Split, limits: Limits) -> list[UserError]:
    """Too many rows that are not valid, or none left."""
    account = rows.account
    if errors := account.too_many_invalid(limits.max_bad_fraction, rows.source):
        return [*errors]
    if account.kept:
        return []
    told = ", ".join(f"{name}: {count}" for name, count in sorted(account.rejected.items())) or "it had none"
    return [
        BadData(Code.NOTHING_LEFT, rows.source, f"0 of {account.rows_in} rows left ({told})", "each split needs rows")
    ]
