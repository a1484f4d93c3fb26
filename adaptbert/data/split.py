"""One split of a labelled set during validation: its rows, cleaned, and the reasons of rejected rows."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ConfigDict, Field

from adaptbert.codes import Code
from adaptbert.config.schema.section import Section
from adaptbert.config.schema.sources import Limits, Scheme
from adaptbert.config.schema.task_types import Target, TaskType, spec_of
from adaptbert.data import tag_schemes
from adaptbert.data.accounts import TOO_LONG, Account, table
from adaptbert.data.cells import as_text
from adaptbert.data.cleaning import clean, letters, origins
from adaptbert.data.label_audit import Labels
from adaptbert.data.layout import Layout
from adaptbert.data.schema import ANSWER_ELSEWHERE, ANY_NUMBER, EMPTY, OUT_OF_RANGE, Reason, faulty
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData, UserError

if TYPE_CHECKING:
    import pandas as pd


class TaskRules(Section):
    """What params.yaml says of the set, from the manifest of `collect_task`, which has only the keys of its target."""

    model_config = ConfigDict(strict=False)  # a range is a list in JSON

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

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> "TaskRules":
        """From a manifest, which has other keys as well."""
        return cls.model_validate({name: value for name, value in manifest.items() if name in cls.model_fields})

    @property
    def layout(self) -> Layout:
        return Layout(self.shape, self.target)

    def describe(self, labels: Sequence[str], rows: Mapping[str, int], numbers: Sequence[float]) -> TaskDescription:
        """The content of task.json.

        Args:
            labels: known classes, types of spans, or tags.
            rows: split -> rows kept.
            numbers: the training values of regression.
        """
        cell = self.layout.output.cell
        return TaskDescription(
            type=spec_of(self.shape, self.target).name,
            labels=list(labels),
            rows=dict(rows),
            range=[min(numbers, default=None), max(numbers, default=None)] if cell == "number" else None,
            no_answer=self.no_answer if cell == "answers" else None,
            replace=self.replace or None,
            positive=self.positive,
        )


class Split:
    """The rows of one split.

    Attributes:
        frame: the rows; valid ones are cleaned, with tags in BIO and offsets of answers in the cleaned text.
        invalid: position -> why the row is invalid.
        reasons: position -> why the row is rejected: invalid rows, and valid ones that are copies or out of limits.
        misfits: rows whose tags break the scheme of the file, repaired ones included.
    """

    def __init__(self, source: Path, rules: TaskRules, limits: Limits) -> None:
        self.source, self.rules = source, rules
        self.frame: pd.DataFrame = pq.read_table(source).to_pandas()
        self.account = Account(rows_in=len(self.frame))
        self.misfits = 0
        if rules.layout.output.marks_spans and "tags" in self.frame:
            self.frame["tags"] = [self._in_scheme(tags) for tags in self.frame["tags"]]
            if rules.repair_tags and self.misfits:
                self.account.warnings["tags_mended"] = self.misfits
        reasons = faulty(self.frame, rules.layout, source, rules.tag_scheme, rules.range)
        self.invalid = {row: self._with_value(row, reason) for row, reason in reasons.items()}
        self._texts: list[tuple[str, ...]] = []
        self._clean()
        lengths = [sum(map(len, row)) for row in self._texts]
        empty = {row: EMPTY for row, texts in enumerate(self._texts) if not all(texts)}
        too_long = {row: TOO_LONG for row, length in enumerate(lengths) if length > limits.max_characters}
        self.reasons: dict[int, Reason] = empty | too_long | self.invalid

    @property
    def left(self) -> list[int]:
        """Positions of the kept rows."""
        return [row for row in range(len(self.frame)) if row not in self.reasons]

    def texts(self) -> list[tuple[str, ...]]:
        """The inputs of the kept rows; the words of a tagged row are one text."""
        return [self._texts[row] for row in self.left]

    def shown(self) -> list[str]:
        """Each of the kept rows as one text."""
        return ["".join(texts) for texts in self.texts()]

    def compared(self) -> list[tuple[str, ...]]:
        """Equal for inputs with the same letters and digits."""
        return [tuple(map(letters, texts)) for texts in self.texts()]

    def labels(self) -> Labels:
        """The classes, entity types or tags of the kept rows."""
        output = self.rules.layout.output
        rows = zip(self._kept_cells(output.column), self.places(), strict=True)
        return Labels.of((label, place) for cell, place in rows for label in output.labels(cell))

    def places(self) -> list[str]:
        """File, line and id of the kept rows, for messages."""
        columns = (self._kept_cells(name) for name in ("file", "line", "id"))
        return [f"{file}:{line} (row {row_id!r})" for file, line, row_id in zip(*columns, strict=True)]

    def numbers(self) -> list[float]:
        """The values of the kept rows; empty unless the target is regression."""
        output = self.rules.layout.output
        return self._kept_cells(output.column) if output.cell == "number" else []

    def unanswered(self) -> list[UserError]:
        """The error when questions have no answer and `no_answer` is false."""
        if self.rules.layout.output.cell != "answers" or self.rules.no_answer:
            return []
        none = [row for row in self.left if not self.frame["answers"].iloc[row]]
        if not none:
            return []
        file, line = (self.frame[column].iloc[none[0]] for column in ("file", "line"))
        problem = f"{len(none)} questions without an answer, the first at {file}:{line}"
        return [BadData(Code.LABEL_MISSING, self.source, problem, "unanswerable questions need no_answer: true")]

    def in_another_scheme(self, limits: Limits) -> list[UserError]:
        """The error when more rows break the tag scheme than `max_bad_fraction` allows; it names one that fits more."""
        rules, total = self.rules, self.account.rows_in
        if self.misfits <= limits.max_bad_fraction * total:
            return []
        rows = pq.read_table(self.source, columns=["tags"])["tags"].to_pylist()
        looks = tag_schemes.looks_like([[str(tag) for tag in row] for row in rows if row is not None])
        problem = f"{self.misfits} of {total} rows are not {rules.tag_scheme}"
        if looks != rules.tag_scheme:
            problem = f"{problem}; they look like {looks}"
            return [BadData(Code.TAGS, self.source, problem, f"write tag_scheme: {looks}")]
        if rules.repair_tags:
            return []
        problem = f"{problem}, and no other scheme fits more: a mixture?"
        return [BadData(Code.TAGS, self.source, problem, "repair_tags: true")]

    def repeated_ids(self) -> set[str]:
        """Ids of more than one row."""
        counts = Counter(row_id for row_id in self.frame["id"] if isinstance(row_id, str) and row_id)
        return {row_id for row_id, count in counts.items() if count > 1}

    def table(self) -> pa.Table:
        """The kept rows, for the validated file."""
        layout = self.rules.layout
        return table(layout, [self._kept_cells(name) for name in layout.columns])

    def _with_value(self, row: int, reason: Reason) -> Reason:
        """The reason, with the value and the range where the value is out of range."""
        if reason != OUT_OF_RANGE:
            return reason
        value, (low, high) = self.frame["value"].iloc[row], self.rules.range
        wrong = f"not in {low:g} to {high:g}" if isfinite(value) else "not finite"
        return reason._replace(text=f"value {value:g} is {wrong}")

    def _kept_cells(self, column: str) -> list[Any]:
        return self.frame[column].iloc[self.left].tolist()

    def _in_scheme(self, tags: Any) -> Any:
        """The tags of a row, repaired where the rules say so and it is possible; counts those that break the scheme."""
        if tags is None or tag_schemes.fits([str(tag) for tag in tags], self.rules.tag_scheme):
            return tags
        self.misfits += 1
        if not self.rules.repair_tags:
            return tags
        try:
            return tag_schemes.legal([str(tag) for tag in tags], self.rules.tag_scheme)
        except ValueError:
            return tags  # not of a known scheme: the row is rejected later

    def _clean(self) -> None:
        """Replace cells of valid rows by cleaned ones, and adjust offsets of answers."""
        layout = self.rules.layout
        cells = {name: self.frame[name].tolist() for name in layout.fields}
        for row in range(len(self.frame)):
            if row in self.invalid:
                self._texts.append(("",) * len(layout.inputs))
                continue
            if layout.output.cell == "answers":
                answers = moved(cells["context"][row], cells["answers"][row])
                if isinstance(answers, Reason):
                    self.invalid[row] = answers
                cells["answers"][row] = answers
            for name in layout.inputs:
                cells[name][row] = self._cleaned(cells[name][row])
            self._texts.append(tuple(as_text(cells[name][row]) for name in layout.inputs))
            if layout.output.marks_spans:
                tags = cells["tags"][row]
                cells["tags"][row] = tag_schemes.tags(tag_schemes.spans(tags, self.rules.tag_scheme), len(tags), "bio")
        for name, column in cells.items():
            self.frame[name] = column

    def _cleaned(self, cell: Any) -> Any:
        parts = [clean(part) for part in ([cell] if isinstance(cell, str) else cell)]
        for _, hidden in parts:
            self.account.cleaned.update(hidden)
        return parts[0][0] if isinstance(cell, str) else [text for text, _ in parts]


def moved(context: str, answers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | Reason:
    """The answers in `clean(context)`; a reason where an answer has no visible character."""
    cleaned, offsets = clean(context)[0], origins(context)
    moved_answers = []
    for answer in answers:
        first = bisect_left(offsets, answer["start"])
        end = bisect_left(offsets, answer["start"] + len(answer["text"]))
        if not cleaned[first:end].strip():
            return ANSWER_ELSEWHERE
        moved_answers.append({"text": cleaned[first:end], "start": first})
    return moved_answers
