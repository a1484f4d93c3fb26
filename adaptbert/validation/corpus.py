"""Validation of one corpus: raw rows in; kept rows, rejected rows and row counts out.

Rows are processed in batches; memory holds only the digest of each distinct text and the ids.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.errors import BadData, UserError
from adaptbert.rows.cleaning import clean, digest, key
from adaptbert.rows.layout import CORPUS
from adaptbert.validation.accounts import Account, RejectFile
from adaptbert.validation.contamination import ForbiddenText
from adaptbert.validation.limits import Limits
from adaptbert.validation.reject import TOO_LONG, rejects, repeated_ids, table, unreadable, writer
from adaptbert.validation.schemas import EMPTY, Reason, faulty

if TYPE_CHECKING:
    import pandas as pd

TOO_SHORT = Reason(Code.TOO_SHORT, "too_short", "text is shorter than validate.min_characters")
DUPLICATE = Reason(Code.REPEATED_TEXT, "duplicate", "the same text as an earlier row")
LEAK = Reason(Code.DEV_OR_TEST_TEXT, "dev_or_test_text", "equals or contains a dev or test text")

_BATCH = 1_000
_MIN_DISTINCT = 0.01
_MAX_NUL = 0.01
_OVERLAP_WARNING = 0.5


@dataclass
class Corpus:
    """A validated corpus."""

    account: Account
    keys: npt.NDArray[np.uint64]
    """Digests of its distinct texts."""
    errors: list[UserError]

    def overlap(self, other: "Corpus") -> float:
        """Share of its distinct texts that are also in the other corpus."""
        return float(np.isin(self.keys, other.keys).mean()) if len(self.keys) else 0.0


def validate_corpus(raw: Path, output: Path, rejected: Path, forbidden: ForbiddenText, limits: Limits) -> Corpus:
    """Validate one corpus in batches.

    Args:
        raw: folder with text.parquet and, where rows could not be read, unreadable.parquet.
        output: parquet file to write, id and text.
        rejected: reject file to write.
        forbidden: dev and test text of all tasks.
        limits: the section `validate`.
    """
    source = raw / "text.parquet"
    account = Account()
    seen: set[int] = set()
    ids: set[str] = set()
    repeated: set[str] = set()
    with RejectFile(rejected) as reject_file, writer(output, CORPUS) as output_file:
        reject_file.write(unreadable(raw, {"": account}))
        for frame in _frames(source):
            account.rows_in += len(frame)
            invalid = faulty(frame, CORPUS, source)
            row_ids, texts = frame["id"].tolist(), frame["text"].tolist()
            valid = [row for row in range(len(frame)) if row not in invalid]
            for row in valid:
                (repeated if row_ids[row] in ids else ids).add(row_ids[row])
                texts[row], hidden = clean(texts[row])
                account.cleaned.update(hidden)
            unwanted = _unwanted({row: texts[row] for row in valid}, seen, forbidden, limits)
            reject_file.write(rejects(frame, invalid | unwanted, invalid, "", account))

            left = [row for row in valid if row not in unwanted]
            account.keep(texts[row] for row in left)
            output_file.write_table(table(CORPUS, [[row_ids[row] for row in left], [texts[row] for row in left]]))
    account.balance()
    errors = [
        *account.too_many_invalid(limits.max_bad_fraction, source),
        *repeated_ids(source, repeated),
        *_useless(account, len(seen), source),
    ]
    return Corpus(account, np.fromiter(seen, np.uint64, len(seen)), errors)


def overlaps(corpora: Mapping[str, Corpus]) -> dict[str, float]:
    """For each corpus except `general`: the share of its texts that `general` also has; over half is a warning."""
    shares = {name: corpus.overlap(corpora["general"]) for name, corpus in corpora.items() if name != "general"}
    for name, share in shares.items():
        if share > _OVERLAP_WARNING:
            corpora[name].account.warnings["texts_also_in_general"] = round(share * len(corpora[name].keys))
    return shares


def _frames(source: Path) -> "Iterator[pd.DataFrame]":
    with pq.ParquetFile(source) as file:
        for batch in file.iter_batches(_BATCH):
            yield batch.to_pandas()


def _unwanted(texts: Mapping[int, str], seen: set[int], forbidden: ForbiddenText, limits: Limits) -> dict[int, Reason]:
    """Valid rows that must not be trained on; the digests of the others are added to `seen`."""
    reasons: dict[int, Reason] = {}
    for row, text in texts.items():
        if (reason := _by_length(text, limits)) is not None:
            reasons[row] = reason
        elif (name := digest(key(text))) in seen:
            reasons[row] = DUPLICATE
        else:
            seen.add(name)
    left = [row for row in texts if row not in reasons]
    leaks = forbidden.matches([texts[row] for row in left])
    return reasons | {row: LEAK for row, leak in zip(left, leaks, strict=True) if leak}


def _by_length(text: str, limits: Limits) -> Reason | None:
    if not text:
        return EMPTY
    if len(text) < limits.min_characters:
        return TOO_SHORT
    return TOO_LONG if len(text) > limits.max_characters else None


def _useless(account: Account, distinct: int, source: Path) -> list[UserError]:
    """The error when no row, or too little distinct text, is kept."""
    candidates = distinct + account.rejected[DUPLICATE.name]
    if account.cleaned["nul"] > _MAX_NUL * max(1, account.characters):
        problem = f"{account.cleaned['nul']:,} NUL to {account.characters:,} other characters"
        return [BadData(Code.BINARY_FILE, source, problem, "a binary file? give text")]
    if distinct < _MIN_DISTINCT * candidates:
        problem = f"{distinct} distinct of {candidates} documents"
        return [BadData(Code.REPEATED_TEXT, source, problem, "give text that does not repeat itself")]
    if account.kept == 0:
        counts = ", ".join(f"{name}: {count}" for name, count in sorted(account.rejected.items())) or "it had none"
        return [
            BadData(Code.NOTHING_LEFT, source, f"0 of {account.rows_in} documents left ({counts})", "give more text")
        ]
    if account.kept == 1:
        return [
            BadData(
                Code.TOO_FEW_ROWS,
                source,
                "1 document cannot be split into training and held-out text",
                "give more text",
            )
        ]
    return []
