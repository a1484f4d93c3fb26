"""Validation of one corpus: raw rows in; kept rows, rejected rows and row counts out.

Rows are processed in batches. `_look` says of each batch what can be said without the others, in any process;
`validate_corpus` puts that together in the order of the rows. Memory holds only the digest of each distinct text and
the ids.
"""

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Limits
from adaptbert.data.accounts import TOO_LONG, Account, RejectFile, repeated_ids, unreadable
from adaptbert.data.cleaning import clean, digest, key
from adaptbert.data.layout import CORPUS
from adaptbert.data.leaks import ForbiddenText
from adaptbert.data.parquet import table, writer
from adaptbert.data.schema import EMPTY, Reason, faulty
from adaptbert.errors import BadData, UserError
from adaptbert.runtime.worker_pool import in_order

if TYPE_CHECKING:
    import pyarrow as pa

TOO_SHORT = Reason(Code.TEXT_MISSING, "too_short", "text is shorter than validate.min_characters")
DUPLICATE = Reason(Code.REPEATED_TEXT, "duplicate", "the same text as an earlier row")
LEAK = Reason(Code.LEAK, "dev_or_test_text", "equals or contains a dev or test text")

_BATCH = 1_000
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
    ids: set[str] = set()
    repeated: set[str] = set()
    unjudged: deque[pa.RecordBatch] = deque()
    with ExitStack() as stack:
        reject_file = stack.enter_context(RejectFile(rejected))
        output_file = stack.enter_context(writer(output, CORPUS))
        reject_file.write(unreadable(raw, {"": account}))
        look = partial(_look, source=source, forbidden=forbidden, limits=limits)
        looks = in_order(look, _batches(source, unjudged), workers)
        for looked, cleaned in stack.enter_context(closing(looks)):
            batch = unjudged.popleft()
            account.rows_in += len(batch)
            account.cleaned.update(cleaned)
            frame = batch.select(["id", "file", "line"]).to_pandas()
            reasons: dict[int, Reason] = {}
            for row, (row_id, (text, reason, name)) in enumerate(zip(frame["id"].tolist(), looked, strict=True)):
                if text is not None:
                    (repeated if row_id in ids else ids).add(row_id)
                if name is not None:
                    reason = DUPLICATE if name in seen else reason
                    seen.add(name)
                if reason is not None:
                    reasons[row] = reason
            rows = [row for row in range(len(batch)) if row not in reasons]
            invalid = {row for row, (text, *_) in enumerate(looked) if text is None}
            reject_file.write(account.reject(frame, reasons, invalid))
            texts = [str(looked[row].text) for row in rows]
            account.keep(texts)
            output_file.write_table(table(CORPUS, [frame["id"].iloc[rows].tolist(), texts]))
    account.balance()
    errors = [
        *account.too_many_invalid(limits.max_bad_fraction, source),
        *repeated_ids(source, repeated),
        *_useless(account, len(seen), source),
    ]
    return Corpus(account, errors)


def _batches(source: Path, unjudged: "deque[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Batches of rows; each is also put into `unjudged`, for whoever judges it when its look is there."""
    with pq.ParquetFile(source) as file:
        for batch in file.iter_batches(_BATCH):
            unjudged.append(batch)
            yield batch


class _Looked(NamedTuple):
    """What can be said of a row without the others.

    Attributes:
        text: cleaned; None of an invalid row.
        reason: why it is rejected, unless it is a duplicate.
        digest: of the text; None of a row that is no candidate.
    """

    text: str | None
    reason: Reason | None = None
    digest: int | None = None


def _look(
    batch: "pa.RecordBatch", source: Path, forbidden: ForbiddenText, limits: Limits
) -> tuple[list[_Looked], Counter[str]]:
    """The rows of a batch, in whichever process, and the hidden characters; `source` is the file, for messages."""
    frame = batch.to_pandas()
    invalid = faulty(frame, CORPUS, source)
    looked, hidden = list[_Looked](), Counter[str]()
    for row, raw in enumerate(frame["text"].tolist()):
        if row in invalid:
            looked.append(_Looked(None, invalid[row]))
            continue
        text, counts = clean(raw)
        hidden.update(counts)
        wrong = _by_length(text, limits)
        looked.append(_Looked(text, wrong, None if wrong else digest(key(text))))
    candidates = [row for row, (_, _, name) in enumerate(looked) if name is not None]
    leaks = forbidden.matches([str(looked[row].text) for row in candidates])
    for row, leak in zip(candidates, leaks, strict=True):
        if leak:
            looked[row] = looked[row]._replace(reason=LEAK)
    return looked, hidden


def _by_length(text: str, limits: Limits) -> Reason | None:
    if not text:
        return EMPTY
    if len(text) < limits.min_characters:
        return TOO_SHORT
    return TOO_LONG if len(text) > limits.max_characters else None


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
