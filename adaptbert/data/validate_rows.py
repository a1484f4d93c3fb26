"""What validation says of rows without the others (valid or not, cleaned, and whether their length is in its limits),
and their counts: rows in = rows kept + rows rejected, each rejected row with its reason.

The counts are those of metrics/validate.json; the reject files below data/rejected hold ids, places and reasons, never
the text, and are readable by their owner only.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Limits, Scheme, Task
from adaptbert.data import tag_schemes
from adaptbert.data.cleaning import clean, origins
from adaptbert.data.layout import CORPUS, as_text
from adaptbert.data.parquet import Table, rows
from adaptbert.data.rows import MEND
from adaptbert.data.schema import ANSWER_ELSEWHERE, ANY_NUMBER, EMPTY, OUT_OF_RANGE, Reason, faulty
from adaptbert.data.source_config import layout_of
from adaptbert.errors import BadData, UserError, first_of

TOO_LONG = Reason(Code.TOO_LONG, "too_long", "text is longer than validate.max_characters")
TOO_SHORT = Reason(Code.TEXT_MISSING, "too_short", "text is shorter than validate.min_characters")

_SHOWN = 5
"""Places and reasons listed in a message; the others are counted."""
_IDS = 20
"""Repeated ids reported, one error each."""


class Examined:
    """Some rows of one file of data/raw.

    Args:
        table: the rows as `collect` writes them.
        limits: the section `validate`; a labelled row is not rejected for being short.
        task: how params.yaml describes a labelled set; None: the rows are of a corpus.

    Attributes:
        layout: the columns of the rows.
        scheme: of the tags, for spans.
        rows: column -> cell; of valid rows with cleaned text, tags in BIO and offsets of answers in the cleaned text.
        invalid: position -> why the row is invalid.
        reasons: position -> why the row is rejected: the invalid ones, and those out of limits. Who compares rows with
            others adds copies.
        cleaned: kind of hidden character -> characters removed.
        misfits: rows whose tags break the scheme, repaired ones included.
        blanks: tokens without a visible character, such as U+3000, which are left out: a model reads nothing of them.
    """

    def __init__(self, table: pa.Table | pa.RecordBatch, limits: Limits, task: Task | None = None) -> None:
        self.rows: list[dict[str, Any]] = table.to_pylist()
        self.cleaned, self.misfits, self.blanks = Counter[str](), 0, 0
        self.layout = CORPUS if task is None else layout_of(task)
        self.scheme: Scheme = (task.span_scheme if task else None) or "bio"
        self._bounds: Sequence[float] = (task.range if task else None) or ANY_NUMBER
        frame = table.to_pandas()
        if self.layout.has_spans:
            frame["tags"] = [self._in_scheme(row, bool(task and task.repair_tags)) for row in self.rows]
        reasons = faulty(frame, self.layout, self.scheme, self._bounds)
        self.invalid = {place: self._with_value(place, reason) for place, reason in reasons.items()}
        self.reasons: dict[int, Reason] = {}
        for place, row in enumerate(self.rows):
            if place not in self.invalid:
                self._clean(place, row)
            if reason := self.invalid.get(place) or self._by_length(place, limits):
                self.reasons[place] = reason

    @property
    def left(self) -> list[int]:
        """Positions of the rows that are kept."""
        return [place for place in range(len(self.rows)) if place not in self.reasons]

    def cells(self, column: str) -> list[Any]:
        """Cells of the rows that are kept."""
        return [self.rows[place][column] for place in self.left]

    def texts(self) -> list[tuple[str, ...]]:
        """The inputs of the rows that are kept; the words of a tagged row are one text."""
        return [self._texts(place) for place in self.left]

    def _texts(self, place: int) -> tuple[str, ...]:
        return tuple(as_text(self.rows[place][name]) for name in self.layout.inputs)

    def _in_scheme(self, row: dict[str, Any], repair: bool) -> list[str]:
        """Repair the tags where that is asked for and possible, and count those that break the scheme."""
        if not tag_schemes.fits(row["tags"], self.scheme):
            self.misfits += 1
            if repair:
                with suppress(ValueError):  # not of a known scheme: the row is invalid
                    row["tags"] = tag_schemes.legal(row["tags"], self.scheme)
        return list(row["tags"])

    def _with_value(self, place: int, reason: Reason) -> Reason:
        """The reason, with the value and the range where the value is out of range."""
        if reason != OUT_OF_RANGE:
            return reason
        value, (low, high) = self.rows[place]["value"], self._bounds
        wrong = f"not in {low:g} to {high:g}" if isfinite(value) else "not finite"
        return reason._replace(text=f"value {value:g} is {wrong}")

    def _clean(self, place: int, row: dict[str, Any]) -> None:
        """Clean the texts of a valid row, and move its tags and answers with them."""
        if "answers" in self.layout.outputs:
            row["answers"] = answers = moved(row["context"], row["answers"])
            if answers is None:
                self.invalid[place] = ANSWER_ELSEWHERE
        for name in self.layout.inputs:
            parts = [clean(part) for part in ([row[name]] if isinstance(row[name], str) else row[name])]
            for _, hidden in parts:
                self.cleaned.update(hidden)
            row[name] = parts[0][0] if isinstance(row[name], str) else [text for text, _ in parts]
        if self.layout.is_tagged:
            visible = [number for number, token in enumerate(row["tokens"]) if token]
            self.blanks += len(row["tokens"]) - len(visible)
            row["tags"] = self._tags_of(visible, row["tags"])
            row["tokens"] = [row["tokens"][number] for number in visible]

    def _tags_of(self, kept: Sequence[int], tags: Sequence[str]) -> list[str]:
        """The tags of the tokens that are kept, of spans in BIO."""
        if not self.layout.has_spans:
            return [tags[number] for number in kept]
        spans = tag_schemes.spans(tags, self.scheme)
        moved = [(bisect_left(kept, first), bisect_left(kept, end), kind) for first, end, kind in spans]
        return tag_schemes.tags([span for span in moved if span[0] < span[1]], len(kept), "bio")

    def _by_length(self, place: int, limits: Limits) -> Reason | None:
        texts = self._texts(place)
        characters = sum(map(len, texts))
        if characters > limits.max_characters:
            return TOO_LONG
        if not all(texts):
            return EMPTY
        return TOO_SHORT if self.layout.is_corpus and characters < limits.min_characters else None


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


# ---- counts


class Reject(NamedTuple):
    """One rejected row, as the reject file holds it; `code` is the number of a `Code`."""

    id: str
    split: str
    file: str
    line: int
    code: int
    reason: str


class RejectFile(Table):
    """Writes rejected rows in batches."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        numbers = ("line", "code")
        super().__init__(path, [(name, pa.int64() if name in numbers else pa.string()) for name in Reject._fields])

    def write_all(self, rejects: Iterable[Reject]) -> None:
        for reject in rejects:
            self.add(reject._asdict())


@dataclass
class Account:
    """Row counts of one corpus, or of one split of a labelled set.

    Attributes:
        split: of a labelled set.
        characters: of the rows kept.
        rejected: reason -> rows.
        cleaned: kind of hidden character -> characters removed.
        invalid: rows that could not be read or are not valid; duplicates and rows with dev or test text are valid.
        remedies: reason -> what to do about it, of rows that could not be read.
    """

    split: str = ""
    rows_in: int = 0
    kept: int = 0
    characters: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    cleaned: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    invalid: list[Reject] = field(default_factory=list)
    remedies: dict[str, str] = field(default_factory=dict)

    def add(self, examined: Examined) -> Iterator[Reject]:
        """Count rows, and yield the rejected ones."""
        self.rows_in += len(examined.rows)
        self.kept += len(examined.left)
        self.characters += sum(len(text) for texts in examined.texts() for text in texts)
        self.cleaned.update(examined.cleaned)
        for place, reason in sorted(examined.reasons.items()):
            row = examined.rows[place]
            reject = Reject(row["id"], self.split, row["file"], row["line"], reason.code, reason.text)
            self.rejected[reason.name] += 1
            if place in examined.invalid:
                self.invalid.append(reject)
            yield reject

    def too_many_invalid(self, limit: float, place: str | Path) -> list[UserError]:
        """The error when more than the share `limit` of the rows cannot be read or are not valid."""
        if len(self.invalid) <= limit * self.rows_in:
            return []
        reasons = Counter((reject.code, reject.reason) for reject in self.invalid)
        (code, most), _ = reasons.most_common(1)[0]
        listed = first_of((f"{reason}: {count}" for (_, reason), count in reasons.most_common()), _SHOWN)
        places = first_of((f"{reject.file}:{reject.line}" for reject in self.invalid), _SHOWN)
        problem = f"{len(self.invalid)} of {self.rows_in} rows cannot be read or are not valid ({listed})"
        remedy = self.remedies.get(most, MEND)
        if 2 * len(self.invalid) < self.rows_in:  # else most of the set would be lost
            remedy += f", or raise validate.max_bad_fraction ({limit})"
        return [BadData(Code(code), place, f"{problem} at {places}", remedy)]

    def nothing_kept(self, place: Path, rows: str, remedy: str) -> list[UserError]:
        """The error when no row is kept; `rows` is what the message calls them."""
        if self.kept:
            return []
        counts = ", ".join(f"{name}: {count}" for name, count in sorted(self.rejected.items())) or "it had none"
        return [BadData(Code.NOTHING_LEFT, place, f"0 of {self.rows_in} {rows} left ({counts})", remedy)]

    def __str__(self) -> str:
        """One line for the log."""
        notes = {**dict(sorted(self.rejected.items())), **dict(sorted(self.warnings.items()))}
        details = "".join(f", {name.replace('_', ' ')} {count:,}" for name, count in notes.items())
        return f"{self.kept:,} of {self.rows_in:,} rows kept{details}"

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, sorted, for metrics/validate.json."""
        counts = {name: dict(sorted(getattr(self, name).items())) for name in ("rejected", "cleaned", "warnings")}
        return {"rows_in": self.rows_in, "kept": self.kept, "characters": self.characters, **counts}


def unreadable(raw: Path, accounts: Mapping[str, Account]) -> Iterator[Reject]:
    """Rows that `collect` could not read, added to the row counts, so that these cover the source."""
    path = raw / "unreadable.parquet"
    for row in rows(path) if path.is_file() else []:
        remedy = row.pop("remedy")
        reject = Reject(**{"split": "", **row})
        account = accounts[reject.split]
        account.remedies.setdefault(reject.reason, remedy)
        account.rows_in += 1
        is_invalid = reject.code != Code.LEFT_OUT
        account.rejected["unreadable" if is_invalid else "left_out"] += 1
        account.invalid += [reject] if is_invalid else []
        yield reject


def repeated_ids(source: Path) -> list[UserError]:
    """One error for each repeated id, with its first two places."""
    with pq.ParquetFile(source) as file:
        counts = pc.value_counts(file.read(["id"])["id"].cast(pa.large_string()))
    shown = sorted(counts.filter(pc.greater(counts.field("counts"), 1)).field("values").to_pylist())[:_IDS]
    if not shown:
        return []
    places: dict[str, list[str]] = {row_id: [] for row_id in shown}
    for row in pq.read_table(source, columns=["id", "file", "line"], filters=[("id", "in", shown)]).to_pylist():
        places[row["id"]].append(f"{row['file']}:{row['line']}")
    return [
        BadData(Code.BAD_ID, source, f"id {row_id!r} twice, at {first} and {second}", "give each row an id of its own")
        for row_id, (first, second, *_) in places.items()
    ]
