"""One labelled set through the gate: raw splits in; kept rows, rejected rows and the books out.

A text that is in the test split is taken out of dev and train, and one that is in dev out of train. Copies across
splits are usual in public sets (up to a third of the test split), so they are removed and counted; when more than half
of the texts of a split are in one that must not have them, the split itself is wrong and the gate stops (70).

A row is never rejected for being short: its label still counts. It is for being empty, or longer than any row may be.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from adaptbert.errors import BadData, UserError
from adaptbert.gate.accounts import Account, RejectFile
from adaptbert.gate.label_audit import class_errors, conflicts, entity_types, label_errors, label_warnings
from adaptbert.gate.limits import Limits
from adaptbert.gate.rows import TOO_LONG, rejects, repeated_ids, table, unreadable, writer
from adaptbert.normalise import clean, key, letters
from adaptbert.outputs import read_json, write_json
from adaptbert.schemas import EMPTY, TAG_ILLEGAL, Reason, columns, faulty

if TYPE_CHECKING:
    import pandas as pd

SPLITS = ("train", "dev", "test")
_MAX_COPIES = 0.5
_SHOWN = 5
"""Groups of conflicting rows told one by one."""


@dataclass
class LabelledSet:
    """A task that went through the gate."""

    accounts: dict[str, Account]
    """Split -> its books."""
    held_out: list[str]
    """Texts of dev and test."""
    errors: list[UserError]


def pass_task(raw: Path, kept: Path, rejected: Path, limits: Limits) -> LabelledSet:
    """The three splits of one labelled set.

    Args:
        raw: folder with train, dev, test.parquet, manifest.json and, where rows could not be read, unreadable.parquet.
        kept: folder to write train, dev, test.parquet and task.json to.
        rejected: reject file to write.
        limits: the section `validate`.
    """
    manifest = read_json(raw / "manifest.json")
    splits = {split: _Split(raw / f"{split}.parquet", manifest["shape"], limits) for split in SPLITS}
    accounts = {split: rows.account for split, rows in splits.items()}
    errors = [error for rows in splits.values() for error in repeated_ids(rows.source, rows.repeated_ids())]
    for holder, looser in (("test", "dev"), ("test", "train"), ("dev", "train")):
        errors += _take_out_copies(splits[holder], splits[looser], holder, looser)

    with RejectFile(rejected) as reject_file:
        reject_file.write(unreadable(raw, accounts))
        for split, rows in splits.items():
            reject_file.write(rejects(rows.frame, rows.reasons, rows.invalid, split, rows.account))
    for rows in splits.values():
        rows.account.keep(rows.frame.loc[rows.left, "shown"])
        rows.account.balance()
        errors += _useless(rows, limits)

    labels = {split: Counter(rows.labels()) for split, rows in splits.items()}
    errors += label_errors(labels, manifest.get("labels"), raw)
    if manifest["shape"] == "single_sentence":
        errors += class_errors(labels["train"], raw)
    accounts["train"].warnings.update(label_warnings(labels))
    for rows in splits.values():
        rows.warn()

    for split, rows in splits.items():
        with writer(kept / f"{split}.parquet", rows.shape) as kept_file:
            kept_file.write_table(rows.table())
    known = sorted(manifest.get("labels") or labels["train"])
    counts = {split: account.kept for split, account in accounts.items()}
    write_json(kept / "task.json", {"shape": manifest["shape"], "labels": known, "rows": counts})
    held_out = [text for split in ("dev", "test") for text in splits[split].texts()]
    return LabelledSet(accounts, held_out, errors)


class _Split:
    """One split while it is judged: its rows, and why some are rejected.

    Attributes:
        frame: the rows, cleaned; column `shown` is each row as one text, by which rows are compared.
        invalid: position -> what is wrong with the row.
        reasons: position -> why the row is rejected; the invalid ones and those that are merely unwanted.
    """

    def __init__(self, source: Path, shape: str, limits: Limits) -> None:
        self.source, self.shape = source, shape
        self.frame: pd.DataFrame = pq.read_table(source).to_pandas()
        self.account = Account(rows_in=len(self.frame))
        self.invalid = faulty(self.frame, shape, source)
        self._clean()
        lengths = [len(text) for text in self.frame["shown"]]
        empty = {row: EMPTY for row, length in enumerate(lengths) if not length}
        too_long = {row: TOO_LONG for row, length in enumerate(lengths) if length > limits.max_characters}
        self.reasons = empty | too_long | self.invalid

    @property
    def left(self) -> list[int]:
        """Positions of the rows that are kept."""
        return [row for row in range(len(self.frame)) if row not in self.reasons]

    def texts(self) -> list[str]:
        """Of the rows that are kept."""
        return list(self.frame.loc[self.left, "shown"])

    def labels(self) -> Iterator[str]:
        """Of the rows that are kept: their classes, or the types of their entities."""
        if self.shape == "single_sentence":
            yield from self.frame.loc[self.left, "label"]
        else:
            for tags in self.frame.loc[self.left, "tags"]:
                yield from entity_types(tags)

    def repeated_ids(self) -> set[str]:
        """Ids of more than one row."""
        counts = Counter(row_id for row_id in self.frame["id"] if isinstance(row_id, str) and row_id)
        return {row_id for row_id, count in counts.items() if count > 1}

    def table(self) -> Any:
        """The rows that are kept, for the validated file."""
        kept = self.frame.loc[self.left]
        return table(self.shape, [kept[name].tolist() for name in columns(self.shape)])

    def warn(self) -> None:
        """Count texts that come twice, and those that carry two labels; name the rows of these."""
        keys = [key(text) for text in self.texts()]
        if repeated := len(keys) - len(set(keys)):
            self.account.warnings["repeated_texts"] = repeated
        if self.shape != "single_sentence":
            return
        kept = self.frame.loc[self.left]
        if found := conflicts(zip(kept["id"], keys, kept["label"], strict=True)):
            self.account.warnings["texts_with_conflicting_labels"] = len(found)
            shown = "; ".join(", ".join(group[:2]) for group in found[:_SHOWN])
            logging.warning("%s: %d texts carry different labels, e.g. rows %s", self.source, len(found), shown)

    def _clean(self) -> None:
        column = columns(self.shape)[1]
        cells = self.frame[column].tolist()
        shown = [""] * len(cells)
        for row in range(len(cells)):
            if row in self.invalid:
                continue
            pieces = [clean(piece) for piece in ([cells[row]] if column == "text" else cells[row])]
            for _, hidden in pieces:
                self.account.cleaned.update(hidden)
            shown[row] = " ".join(piece for piece, _ in pieces)
            cells[row] = shown[row] if column == "text" else [piece for piece, _ in pieces]
        self.frame[column], self.frame["shown"] = cells, shown


def _take_out_copies(holder: _Split, looser: _Split, holder_name: str, looser_name: str) -> list[UserError]:
    """Reject the rows of `looser` whose text `holder` has."""
    exact = set(holder.texts())
    keys = {letters(text) for text in exact}
    same = Reason(70, f"in_{holder_name}", f"the same text is in {holder_name}")
    similar = Reason(71, same.name, f"the same text but for case, punctuation or spaces is in {holder_name}")
    copied: set[str] = set()
    shown = looser.frame["shown"].tolist()
    for row in looser.left:
        if (text := letters(shown[row])) in keys:
            copied.add(text)
            looser.reasons[row] = same if shown[row] in exact else similar
    if len(copied) <= _MAX_COPIES * len(keys):
        return []
    problem = f"{len(copied)} of {len(keys)} texts of {holder_name} are in {looser_name}"
    return [
        BadData(70, looser.source, problem, f"split again: {looser_name} must not hold what {holder_name} measures")
    ]


def _useless(rows: _Split, limits: Limits) -> list[UserError]:
    """Too many rows that are not valid, or none left."""
    account = rows.account
    errors: list[UserError] = [*account.too_many_invalid(limits.max_bad_fraction, rows.source)]
    if errors and errors[0].code == TAG_ILLEGAL.code:
        # Not single slips: the whole file follows another scheme.
        problem = f"{account.rejected[TAG_ILLEGAL.name]} of {account.rows_in} rows are not BIO (IOB1 or IOBES, perhaps)"
        errors = [BadData(90, rows.source, problem, "write B-x where an entity begins and I-x where it goes on")]
    if not account.kept:
        told = ", ".join(f"{name}: {count}" for name, count in sorted(account.rejected.items())) or "it had none"
        errors.append(BadData(18, rows.source, f"0 of {account.rows_in} rows left ({told})", "each split needs rows"))
    return errors
