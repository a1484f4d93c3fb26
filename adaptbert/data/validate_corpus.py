"""Validation of one corpus: raw rows in; kept rows, rejected rows and row counts out.

Rows are processed in batches. `_look` finds out about each batch what does not need the others, in any process;
`validate_corpus` puts that together in the order of the rows. Memory holds only the digest of each distinct text, and
then the ids.
"""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Limits
from adaptbert.data.cleaning import digest, key
from adaptbert.data.layout import CORPUS
from adaptbert.data.leaks import ForbiddenText
from adaptbert.data.parquet import BATCH, Table
from adaptbert.data.schema import Reason
from adaptbert.data.validate_rows import Account, Examined, RejectFile, repeated_ids, unreadable
from adaptbert.errors import BadData, UserError
from adaptbert.runtime.worker_pool import in_order

if TYPE_CHECKING:
    import pyarrow as pa

DUPLICATE = Reason(Code.REPEATED_TEXT, "duplicate", "the same text as an earlier row")
LEAK = Reason(Code.LEAK, "dev_or_test_text", "equals or contains a dev or test text")

_MIN_DISTINCT = 0.01


class Corpus(NamedTuple):
    """A validated corpus."""

    account: Account
    errors: list[UserError]


def validate_corpus(
    raw: Path, output: Path, rejected: Path, forbidden: ForbiddenText, limits: Limits, workers: int = 0
) -> Corpus:
    """Validate one corpus in batches.

    Args:
        raw: folder with text.parquet and, where rows could not be read, unreadable.parquet.
        output: parquet file to write, id and text.
        rejected: reject file to write.
        forbidden: dev and test text of all tasks.
        limits: the section `validate`.
        workers: processes that look at rows; 0: this one. The output is bit-identical.
    """
    source = raw / "text.parquet"
    account = Account()
    seen: set[int] = set()
    looks = in_order(partial(_look, forbidden=forbidden, limits=limits), _batches(source), workers)
    with RejectFile(rejected) as reject_file, Table(output, CORPUS.arrow()) as kept, closing(looks):
        reject_file.write_all(unreadable(raw, {"": account}))
        for rows, digests in looks:
            for place, name in digests.items():
                if name in seen:
                    rows.reasons[place] = DUPLICATE
                seen.add(name)
            reject_file.write_all(account.add(rows))
            for place in rows.left:
                kept.add(rows.rows[place], len(rows.rows[place]["text"]))
    different = len(seen)
    seen.clear()  # before the ids are in memory
    errors = [
        *account.too_many_invalid(limits.max_bad_fraction, source),
        *repeated_ids(source),
        *_useless(account, different, source),
    ]
    return Corpus(account, errors)


def _batches(source: Path) -> "Iterator[pa.RecordBatch]":
    with pq.ParquetFile(source) as file:
        yield from file.iter_batches(BATCH)


def _look(batch: "pa.RecordBatch", forbidden: ForbiddenText, limits: Limits) -> tuple[Examined, dict[int, int]]:
    """The rows of a batch, in whichever process; and position -> digest of the text, of those within the limits."""
    rows = Examined(batch, limits)
    candidates, texts = rows.left, rows.cells("text")
    rows.reasons |= {place: LEAK for place, leak in zip(candidates, forbidden.matches(texts), strict=True) if leak}
    return rows, {place: digest(key(text)) for place, text in zip(candidates, texts, strict=True)}


def _useless(account: Account, distinct: int, source: Path) -> list[UserError]:
    """The error when no row, or too little distinct text, is kept."""
    candidates = distinct + account.rejected[DUPLICATE.name]
    if distinct < _MIN_DISTINCT * candidates:
        problem = f"{distinct} distinct of {candidates} documents"
        return [BadData(Code.REPEATED_TEXT, source, problem, "give text that does not repeat itself")]
    if account.kept == 1:
        problem = "1 document cannot be split into training and held-out text"
        return [BadData(Code.TOO_FEW_ROWS, source, problem, "give more text")]
    return account.nothing_kept(source, "documents", "give more text")
