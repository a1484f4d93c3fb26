"""One row of a user -> what the model reads, cleaned as the gate cleans; or why it cannot be answered.

Only inputs are looked at. Words and answers remember where they stand in the text as it was given.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from adaptbert.base.task_types import TaskType
from adaptbert.codes import Code
from adaptbert.collection.readers.character_spans import words
from adaptbert.collection.readers.fields import SURROGATE, Fields, half_character, kind
from adaptbert.collection.readers.records import Problem
from adaptbert.errors import BadParams, raise_all
from adaptbert.rows.cleaning import clean
from adaptbert.rows.layout import CORPUS, Layout, missing_columns
from adaptbert.validation.schemas import EMPTY, PAIR_MISSING, TOKEN_EMPTY, TOKEN_INVISIBLE, TOKENS_NULL, Reason


@dataclass(frozen=True, slots=True)
class Asked:
    """A row that wants an answer.

    Attributes:
        id: of its own, a whole number without a point; or the number of its line.
        line: where it begins, from 1.
        values: the inputs of the task type; empty where there is a problem.
        text: what `places` count in, as it was given.
        places: of a row to be tagged, first and last + 1 character of each word. In Unicode code points.
    """

    id: str
    line: int
    values: Mapping[str, Any]
    problem: Problem | None = None
    text: str = ""
    places: Sequence[tuple[int, int]] = ()


class Reader:
    """Rows under the user's names.

    Args:
        task_type: of the task.
        columns: our name of an input, or `id`, -> the user's; those left out have our name. An `id` is taken where
            there is one.
        replace: patterns and replacements for texts, as the task's own were read with.

    Raises:
        BadParams: a name of ours that this task type does not have.
    """

    def __init__(
        self, task_type: TaskType, columns: Mapping[str, str], replace: Sequence[Sequence[str]] | None = None
    ) -> None:
        self._own, self._names = Layout(task_type), dict(columns)
        self._id = self._names.pop("id", None)
        known = dict.fromkeys(name for layout in self._layouts() for name in layout.inputs)
        for name in self._names:
            if name not in known:
                problem = f"'{name}' is not an input of the shape {task_type}"
                raise BadParams(Code.CONTRADICTION, "--columns", problem, f"map one of id, {', '.join(known)}")
        self._every = [Fields(layout, self._names, replace) for layout in self._layouts()]
        self._fields = self._every[0]

    @property
    def columns(self) -> dict[str, str]:
        """Ours -> the user's, of what is read."""
        return self._fields.columns | ({"id": self._id} if self._id else {})

    def check(self, found: Sequence[str], place: str, remedy: Callable[[str], str]) -> None:
        """Settle what is read from these columns; a tagger takes `text` where there are no `tokens`.

        Args:
            remedy: our name of a column that is missing -> what to do.

        Raises:
            BadData: a column is missing.
        """
        fitting = [fields for fields in self._every if set(fields.columns.values()) <= set(found)]
        self._fields = (fitting or self._every)[0]
        read = self.columns.items()
        raise_all(
            [
                error
                for name, column in read
                for error in missing_columns(Code.COLUMN_MISSING, [column], found, place, remedy(name))
            ]
        )
        if self._id is None and "id" in found:
            self._id = "id"

    def read(self, record: Mapping[str, Any], line: int, place: str) -> Asked:
        """One row.

        Args:
            place: for messages.

        Raises:
            BadData: what is wrong is wrong with the whole column.
        """
        identity = self._identity(record) or str(line)
        if isinstance(identity, Problem):
            return Asked(str(line), line, {}, identity)
        values = self._fields.read(record, place).values
        if isinstance(values, Problem):
            return Asked(identity, line, {}, values)
        if self._own.is_tagged:
            return _words(identity, line, values)
        cleaned = {name: clean(text)[0] for name, text in values.items()}
        if not all(cleaned.values()):
            return _refused(identity, line, PAIR_MISSING if "text_b" in values else EMPTY)
        return Asked(identity, line, cleaned, text=values.get("context", ""))

    def _identity(self, record: Mapping[str, Any]) -> str | Problem:
        """Empty where the row has none. A column of integers of which some are missing comes as numbers."""
        found = record.get(self._id) if self._id else None
        if found is None or (isinstance(found, float) and isnan(found)):
            return ""
        if isinstance(found, float) and found.is_integer():
            return str(int(found))
        if not isinstance(found, str | int | float):
            return Problem(Code.COLUMN_MISSING, f"column '{self._id}': expected a name, found {kind(found)}")
        return half_character(str(self._id)) if SURROGATE.search(str(found)) else str(found)

    def _layouts(self) -> list[Layout]:
        return [self._own, CORPUS] if self._own.is_tagged else [self._own]


def _words(identity: str, line: int, values: Mapping[str, Any]) -> Asked:
    """Words as they are given, whose text is made of them with a space between two; or found in a text."""
    if "tokens" in values:
        given: list[str] = values["tokens"]
        text = " ".join(given)
        places, place = [], 0
        for token in given:
            places.append((place, place + len(token)))
            place += len(token) + 1
        tokens = [clean(token)[0] for token in given]
        if not all(token and not token.isspace() for token in given):
            return _refused(identity, line, TOKEN_EMPTY)
        if not all(tokens):
            return _refused(identity, line, TOKEN_INVISIBLE)
    else:
        text = values["text"]
        tokens, places = words(text)
    if not tokens:
        return _refused(identity, line, TOKENS_NULL if "tokens" in values else EMPTY)
    return Asked(identity, line, {"tokens": tokens}, text=text, places=places)


def _refused(identity: str, line: int, reason: Reason) -> Asked:
    return Asked(identity, line, {}, Problem(reason.code, reason.text))
