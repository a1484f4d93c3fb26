"""The valid parts of a params.yaml with errors, so that the remaining checks can run on them.

Thus one run of `adaptbert check` reports a wrong value, a contradiction of other sections and a missing file.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptbert.errors import UserError
from adaptbert.runtime.params import expanded_ladder

_SETS = ("collect", "collect_task")
"""Sections whose entries are independent of each other."""


class Incomplete(Exception):
    """A rule needs a section that has errors."""


class Sound(Mapping[str, Any]):
    """The sections of a file. Access to one with errors, or to one that is not there, raises Incomplete."""

    def __init__(self, document: Mapping[str, Any], wrong: Collection[str]) -> None:
        self._document, self._wrong = document, wrong

    def __getitem__(self, section: str) -> Any:
        if section in self._wrong or section not in self._document:
            raise Incomplete
        return self._document[section]

    def names(self, section: str) -> list[str]:
        """The keys of a section of mappings; errors in these do not matter.

        Raises:
            Incomplete: the section is missing, or has no keys, or other values.
        """
        entries = self._document.get(section)
        if not isinstance(entries, Mapping) or not all(isinstance(entry, Mapping) for entry in entries.values()):
            raise Incomplete
        return list(entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def __len__(self) -> int:
        return len(self._document)


def wrong_sections(errors: Iterable[UserError], file: Path) -> set[str]:
    """Sections with errors in single values, and missing ones."""
    return {key.partition(".")[0] for key in _keys(errors, file)}


def for_files(document: Mapping[str, Any], errors: Iterable[UserError], file: Path) -> dict[str, Any]:
    """The sections without errors, and of `collect` and `collect_task` the sets without: they name the files to check.

    Without a sound ladder the sections with blocks are left out: what they have for its names was not checked.

    Args:
        errors: of single values.
    """
    keys = _keys(errors, file)
    wrong = {key.partition(".")[0] for key in keys}
    valid = {name: values for name, values in document.items() if name not in wrong}
    for section in _SETS:
        if section in wrong and section not in keys:  # else the error is in the section as a whole
            sets = document[section].items()
            valid[section] = {name: values for name, values in sets if not _is_wrong(f"{section}.{name}", keys)}
    left_out = expanded_ladder.SECTIONS if "ladder" in wrong or "collect_task" in keys else ()
    if "collect" in wrong:
        left_out = (*left_out, "tokenizer")  # a check of the vocabulary needs all of its corpora
    return {name: values for name, values in valid.items() if name not in left_out}


def _keys(errors: Iterable[UserError], file: Path) -> set[str]:
    return {error.place.removeprefix(f"{file}: ") for error in errors}


def _is_wrong(name: str, keys: Collection[str]) -> bool:
    return any(key == name or key.startswith(f"{name}.") for key in keys)
