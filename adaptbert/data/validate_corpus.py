"""Validation of one corpus: raw rows in; kept rows, rejected rows and row counts out.

Rows are processed in batches. `_look` says of each batch what can be said without the others, in any process;
`validate_corpus` puts that together in the order of the rows. Memory holds only the digest of each distinct text and
the ids.
"""

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Limits
from adaptbert.data.accounts import TOO_LONG, Account, RejectFile, rejects, repeated_ids, table, unreadable, writer
from adaptbert.data.cleaning import clean, digest, key
from adaptbert.data.layout import CORPUS
from adaptbert.data.leaks import ForbiddenText
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
_MAX_NUL = 0.01


@dataclass
class Corpus:
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
        for seen_rows in stack.enter_context(closing(looks)):
            batch = unjudged.popleft()
            account.rows_in += len(batch)
            account.cleaned.update(seen_rows.cleaned)
            row_ids = batch.column("id").to_pylist()
            for row in seen_rows.texts:
                (repeated if row_ids[row] in ids else ids).add(row_ids[row])
            unwanted = seen_rows.unwanted(seen)
            frame = batch.select(["id", "file", "line"]).to_pandas()
            reject_file.write(rejects(frame, seen_rows.invalid | unwanted, seen_rows.invalid, "", account))

            left = {row: text for row, text in seen_rows.texts.items() if row not in unwanted}
            account.keep(left.values())
            output_file.write_table(table(CORPUS, [[row_ids[row] for row in left], list(left.values())]))
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


@dataclass(frozen=True)
class Looked:
    """What can be said of the rows of a batch without the others.

    Attributes:
        invalid: row -> why it is invalid.
        texts: valid row -> its text, cleaned.
        cleaned: kind of hidden character -> characters removed.
        wrong_length: valid row -> why its length is wrong.
        digests: of the other valid rows.
        leaks: those of them that equal or contain a dev or test text.
    """

    invalid: dict[int, Reason]
    texts: dict[int, str] = field(default_factory=dict)
    cleaned: Counter[str] = field(default_factory=Counter)
    wrong_length: dict[int, Reason] = field(default_factory=dict)
    digests: dict[int, int] = field(default_factory=dict)
    leaks: set[int] = field(default_factory=set)

    def unwanted(self, seen: set[int]) -> dict[int, Reason]:
        """Valid rows that must not be trained on; the digests of the others are added to `seen`, those of leaks too."""
        reasons = dict(self.wrong_length)
        for row, name in self.digests.items():
            if name in seen:
                reasons[row] = DUPLICATE
            elif row in self.leaks:
                reasons[row] = LEAK
            seen.add(name)
        return reasons


def _look(batch: "pa.RecordBatch", source: Path, forbidden: ForbiddenText, limits: Limits) -> Looked:
    """Look at a batch of rows by itself, in whichever process; `source` is the file, for messages."""
    frame = batch.to_pandas()
    looked = Looked(faulty(frame, CORPUS, source))
    for row, text in enumerate(frame["text"].tolist()):
        if row in looked.invalid:
            continue
        looked.texts[row], hidden = clean(text)
        looked.cleaned.update(hidden)
        if (reason := _by_length(looked.texts[row], limits)) is not None:
            looked.wrong_length[row] = reason
        else:
            looked.digests[row] = digest(key(looked.texts[row]))
    matches = forbidden.matches([looked.texts[row] for row in looked.digests])
    looked.leaks.update(row for row, leak in zip(looked.digests, matches, strict=True) if leak)
    return looked


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
    if account.kept == 1:
        problem = "1 document cannot be split into training and held-out text"
        return [BadData(Code.TOO_FEW_ROWS, source, problem, "give more text")]
    return account.nothing_kept(source, "documents", "give more text")
