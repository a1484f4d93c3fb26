"""One record of a file or data set -> the fields of a row, as strings; or the problem."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from adaptbert.corpora.rows import Problem
from adaptbert.corpora.sources import FIELDS
from adaptbert.errors import BadData

KINDS = {str: "text", bool: "true/false", int: "integer", float: "number", list: "list", dict: "mapping"}

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character: JSON can hold one, UTF-8 and Parquet cannot."""


class Fields:
    """Picks and checks the fields of one kind of row. What no reader sees is left to the gate.

    Attributes:
        columns: field -> its name in the file. `id` is among them only where the user mapped it.
        label_kinds: which types of labels were met, with the place of the first of each.
    """

    def __init__(
        self,
        kind: str,
        columns: Mapping[str, str] | None,
        replace: Sequence[Sequence[str]] | None,
    ) -> None:
        given = dict(columns or {})
        names = (*(("id",) if "id" in given else ()), *FIELDS[kind])
        self.columns = {name: given.get(name, name) for name in names}
        self.label_kinds: dict[str, str] = {}
        self._replace = [(re.compile(pattern), replacement) for pattern, replacement in replace or []]

    def read(self, record: Mapping[str, Any], place: str) -> tuple[str | None, dict[str, Any] | Problem]:
        """The mapped id, if there is one, and the fields."""
        identity: str | None = None
        values: dict[str, Any] = {}
        for name, column in self.columns.items():
            if column not in record:
                return identity, Problem(56, f"column '{column}' missing in this row")
            found = record[column]
            if name == "id":
                if not isinstance(found, str | int) or found == "":
                    return None, Problem(56, f"column '{column}': expected an id, found {_kind(found)}")
                identity = str(found)
                continue
            value = getattr(self, f"_{name}")(found, column, place)
            if isinstance(value, Problem):
                return identity, value
            values[name] = value
        if "tokens" in values and len(values["tokens"]) != len(values["tags"]):
            return identity, Problem(88, f"{len(values['tokens'])} tokens, {len(values['tags'])} tags")
        return identity, values

    def _text(self, found: object, column: str, place: str) -> str | Problem:
        if found is None:
            return Problem(41, "text is null")
        if not isinstance(found, str):
            return Problem(42, f"column '{column}' is {_kind(found)}, expected text")
        if SURROGATE.search(found):
            return _half_character(column)
        for pattern, replacement in self._replace:
            found = pattern.sub(replacement, found)
        return found

    def _label(self, found: object, column: str, place: str) -> str | Problem:
        if found is None or found == "":
            return Problem(62, "label missing")
        if not isinstance(found, str | int):
            raise BadData(
                65, place, f"label in column '{column}' is {_kind(found)}", "write labels as text or integers"
            )
        self.label_kinds.setdefault(_kind(found), place)
        label = str(found)
        return _half_character(column) if SURROGATE.search(label) else label

    def _tokens(self, found: object, column: str, place: str) -> list[str] | Problem:
        return self._strings(found, column, place)

    def _tags(self, found: object, column: str, place: str) -> list[str] | Problem:
        return self._strings(found, column, place)

    @staticmethod
    def _strings(found: object, column: str, place: str) -> list[str] | Problem:
        if found is None:
            return Problem(41, f"column '{column}' is null")
        if isinstance(found, str):
            raise BadData(
                80,
                place,
                f"column '{column}': text where a list is expected",
                "use jsonl or parquet, with a list a row",
            )
        if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
            return Problem(65, f"column '{column}' is not a list of text")
        return _half_character(column) if any(map(SURROGATE.search, found)) else found


def check_label_kinds(kinds: Mapping[str, str]) -> None:
    """Labels 1 and "1" would become one: refuse a column that mixes types.

    Args:
        kinds: type -> the place of its first label, over all splits.
    """
    if len(kinds) > 1:
        first = ", ".join(f"{kind} ({place})" for kind, place in kinds.items())
        raise BadData(65, list(kinds.values())[-1], f"labels have mixed types: {first}", "write them all alike")


def _half_character(column: str) -> Problem:
    return Problem(9, f"lone surrogate escape in field '{column}'")


def _kind(found: object) -> str:
    return "null" if found is None else KINDS.get(type(found), type(found).__name__)
