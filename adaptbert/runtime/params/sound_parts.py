"""The valid parts of a params.yaml with errors, so that the remaining checks can run on them.

Thus one run of `adaptbert check` reports a wrong value, a contradiction of other sections and a missing file.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptbert.errors import UserError

_SETS = ("collect", "collect_task")
"""Sections whose entries are independent of each other."""


class Incomplete(Exception):
    """A rule needs a section that has errors."""


class Sound(Mapping[str, Any]):
    """The sections of a file. Access to one with errors raises Incomplete."""

    def __init__(self, document: Mapping[str, Any], wrong: Collection[str]) -> None:
        self._document, self._wrong = document, wrong

    def __getitem__(self, section: str) -> Any:
        if section in self._wrong:
            raise Incomplete
        return self._document[section]

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def __len__(self) -> int:
        return len(self._document)


def wrong_sections(errors: Iterable[UserError], file: Path) -> set[str]:
    """Sections with errors in single values, and missing ones."""
    return {key.partition(".")[0] for key in _keys(errors, file)}


def for_files(document: Mapping[str, Any], errors: Iterable[UserError], file: Path) -> dict[str, Any]:
    """The sections without errors, and of `collect` and `collect_task` the sets without: they name the files to check.

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
    if "collect" in wrong:
        valid.pop("tokenizer", None)  # a check of the vocabulary needs all of its corpora
    return valid


def _keys(errors: Iterable[UserError], file: Path) -> set[str]:
    return {error.place.removeprefix(f"{file}: ") for error in errors}


def _is_wrong(name: str, keys: Collection[str]) -> bool:
    return any(key == name or key.startswith(f"{name}.") for key in keys)
