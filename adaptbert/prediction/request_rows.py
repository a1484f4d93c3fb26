"""A user's row -> the inputs of the model, cleaned as validation cleans them; or the reason why it cannot be answered.

Only inputs are read. Words and answers keep their offsets in the original text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.schema.task_types import TaskType
from adaptbert.data.cleaning import clean
from adaptbert.data.layout import CORPUS, Layout, missing_columns
from adaptbert.data.readers.character_spans import words
from adaptbert.data.readers.fields import Fields, kind, whole
from adaptbert.data.readers.records import BadRow, Problem, Row
from adaptbert.data.schema import EMPTY, PAIR_MISSING, TOKEN_EMPTY, TOKEN_INVISIBLE, TOKENS_NULL, Reason
from adaptbert.errors import BadParams, raise_all


@dataclass(frozen=True, slots=True)
class RequestRow:
    """A row to predict on.

    Attributes:
        id: its own, with integers written without a point; or the number of its line.
        line: where it begins, from 1.
        values: the inputs of the task type; empty where there is a problem.
        text: the original text, to which `places` refer.
        places: for tagging, the offsets (begin, end) of each word, in Unicode code points.
    """

    id: str
    line: int
    values: Mapping[str, Any]
    problem: Problem | None = None
    text: str = ""
    places: Sequence[tuple[int, int]] = ()


class Reader:
    """Converts records with the user's column names.

    Args:
        task_type: of the task.
        columns: name of an input, or `id`, -> its name in the records; the others have the name of the input. `id` is
            optional.
        replace: patterns and replacements, as collect_task applied them to the task.

    Raises:
        BadParams: an input that this task type does not have.
    """

    def __init__(
        self, task_type: TaskType, columns: Mapping[str, str], replace: Sequence[Sequence[str]] | None = None
    ) -> None:
        self._own, self._names = Layout(task_type), dict(columns)
        self._id = self._names.pop("id", None)
        known = dict.fromkeys(name for layout in self._layouts() for name in layout.inputs)
        for name in self._names:
            if name not in known:
                problem = f"'{name}' is not an input of the task type {task_type}"
                raise BadParams(Code.CONTRADICTION, "--columns", problem, f"map one of id, {', '.join(known)}")
        self._every = [Fields(layout, self._names, replace) for layout in self._layouts()]
        self._fields = self._every[0]

    @property
    def columns(self) -> dict[str, str]:
        """Name of each input that is read -> its column."""
        return self._fields.columns | ({"id": self._id} if self._id else {})

    def check(self, columns: Sequence[str], place: str, remedy: Callable[[str], str]) -> None:
        """Choose the inputs to read from these columns; a tagger reads `text` where there are no `tokens`.

        Args:
            remedy: name of a missing input -> what to do.

        Raises:
            BadData: a column is missing.
        """
        fitting = [fields for fields in self._every if set(fields.columns.values()) <= set(columns)]
        self._fields = (fitting or self._every)[0]
        read = self.columns.items()
        raise_all([error for name, column in read for error in missing_columns([column], columns, place, remedy(name))])
        if self._id is None and "id" in columns:
            self._id = "id"

    def read(self, record: Mapping[str, Any], line: int, place: str) -> RequestRow:
        """One row.

        Args:
            place: for messages.

        Raises:
            BadData: a whole column is unusable.
        """
        try:
            identity = self._identity(record) or str(line)
        except BadRow as bad:
            return RequestRow(str(line), line, {}, bad.problem)
        row = self._fields.read(Row(identity, "", line, record), place)
        if row.problem is not None:
            return RequestRow(identity, line, {}, row.problem)
        values = row.values
        if self._own.is_tagged:
            return _words(identity, line, values)
        cleaned = {name: clean(text)[0] for name, text in values.items()}
        if not all(cleaned.values()):
            return _refused(identity, line, PAIR_MISSING if "text_b" in values else EMPTY)
        return RequestRow(identity, line, cleaned, text=values.get("context", ""))

    def _identity(self, record: Mapping[str, Any]) -> str:
        """The id; empty where the row has none. Integers with gaps come from Parquet as floats: 7.0 becomes 7."""
        value = record.get(self._id) if self._id else None
        if value is None or (isinstance(value, float) and isnan(value)):
            return ""
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        if not isinstance(value, str | int | float):
            raise BadRow(Code.COLUMNS, f"column '{self._id}': expected a name, found {kind(value)}")
        return whole(str(value), str(self._id))

    def _layouts(self) -> list[Layout]:
        return [self._own, CORPUS] if self._own.is_tagged else [self._own]


def _words(identity: str, line: int, values: Mapping[str, Any]) -> RequestRow:
    """Words from `tokens`, joined by spaces into a text; or the words of `text`."""
    if "tokens" in values:
        raw_tokens: list[str] = values["tokens"]
        text = " ".join(raw_tokens)
        places, place = [], 0
        for token in raw_tokens:
            places.append((place, place + len(token)))
            place += len(token) + 1
        tokens = [clean(token)[0] for token in raw_tokens]
        if not all(token and not token.isspace() for token in raw_tokens):
            return _refused(identity, line, TOKEN_EMPTY)
        if not all(tokens):
            return _refused(identity, line, TOKEN_INVISIBLE)
    else:
        text = values["text"]
        tokens, places = words(text)
    if not tokens:
        return _refused(identity, line, TOKENS_NULL if "tokens" in values else EMPTY)
    return RequestRow(identity, line, {"tokens": tokens}, text=text, places=places)


def _refused(identity: str, line: int, reason: Reason) -> RequestRow:
    return RequestRow(identity, line, {}, Problem(reason.code, reason.text))
