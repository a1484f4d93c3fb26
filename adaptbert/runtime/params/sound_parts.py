"""What can be judged of a params.yaml with errors: the file and its errors in, the parts that none of them is in out.

So that one run of `adaptbert check` tells a wrong value, a rule that other sections break and a file that is not there.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptbert.errors import UserError

_SETS = ("collect", "collect_task")
"""Sections whose entries stand for themselves."""


class Incomplete(Exception):
    """Whoever asks needs a section that is wrong."""


class Sound(Mapping[str, Any]):
    """The sections of a file. Raises Incomplete where one is asked for that is wrong."""

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
    """Those that errors of single values are in, or that are missing."""
    return {key.partition(".")[0] for key in _keys(errors, file)}


def for_files(document: Mapping[str, Any], errors: Iterable[UserError], file: Path) -> dict[str, Any]:
    """The sections without errors, and of the sets those without: what says which files are read, and how.

    Args:
        errors: of single values.
    """
    keys = _keys(errors, file)
    wrong = {key.partition(".")[0] for key in keys}
    kept = {name: values for name, values in document.items() if name not in wrong}
    for section in _SETS:
        if section in wrong and section not in keys:  # else all of it is
            sets = document[section].items()
            kept[section] = {name: values for name, values in sets if not _is_wrong(f"{section}.{name}", keys)}
    if "collect" in wrong:
        kept.pop("tokenizer", None)  # whether a vocabulary is up to date is seen from all of its corpora
    return kept


def _keys(errors: Iterable[UserError], file: Path) -> set[str]:
    return {error.place.removeprefix(f"{file}: ") for error in errors}


def _is_wrong(name: str, keys: Collection[str]) -> bool:
    return any(key == name or key.startswith(f"{name}.") for key in keys)
