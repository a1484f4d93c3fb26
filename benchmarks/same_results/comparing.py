"""Two records and the table of names -> what is the same, what differs on purpose, and what nobody explained.

No value is left out: what the stages write holds no time, speed or identity of a run.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

Kinds = dict[str, dict[str, Any]]
"""Kind -> path -> value."""

NAMES = Path(__file__).with_name("names.yaml")
SECTIONS = ("renamed", "reworded", "rounded", "gone", "new", "changed")
SHOWN = 20
"""Differences that are shown of each kind."""


class BadTable(Exception):
    """A table of names that cannot be used."""


@dataclass
class Entry:
    """A line of the table.

    Attributes:
        section: `renamed`, `reworded`, `rounded`, `gone`, `new` or `changed`.
        kind: the only one it is for; empty: for all.
        pattern: a regular expression, searched in the path; of `reworded` it is searched in values that are text.
        to: of `renamed` and `reworded`: what stands in its place, as in `re.sub`.
        why: the reason.
        where: of `reworded`: a regular expression that is searched in the path.
        digits: of `rounded`: decimals that OLD kept.
        values: how many it excused.
    """

    section: str
    pattern: str
    why: str
    kind: str = ""
    to: str = ""
    where: str = ""
    digits: int = 0
    values: int = 0

    def is_for(self, kind: str, path: str) -> bool:
        return self.kind in ("", kind) and re.search(self.where, path) is not None

    def has(self, kind: str, path: str) -> bool:
        return self.is_for(kind, path) and re.search(self.pattern, path) is not None


@dataclass
class Comparison:
    """Counts, and what is not explained.

    Attributes:
        counts: kind -> `compared`, `equal`, `mapped` (equal under another name), `gone`, `new`, `changed`.
        unexplained: kind -> a line for each value that is missing, new or different without an entry.
        entries: of the table, with their counts.
    """

    entries: list[Entry]
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    unexplained: dict[str, list[str]] = field(default_factory=dict)

    @property
    def idle(self) -> list[Entry]:
        """Entries that excused nothing: the table says more than is true."""
        return [entry for entry in self.entries if not entry.values]

    @property
    def is_same(self) -> bool:
        """Every kind has values in both, and nothing differs that has no entry."""
        is_compared = bool(self.counts) and all(counts["compared"] for counts in self.counts.values())
        return is_compared and not any(self.unexplained.values()) and not self.idle

    def lines(self) -> Iterator[str]:
        """The report."""
        for entry in self.entries:
            to = f" -> {entry.to}" if entry.section in ("renamed", "reworded") else ""
            yield f"{entry.section:9}{entry.values:7,}  {entry.kind or 'all kinds'}: {entry.pattern}{to}  ({entry.why})"
        columns = ("compared", "equal", "mapped", "gone", "new", "changed")
        yield f"\n{'kind':18}" + "".join(f"{column:>12}" for column in (*columns, "unexplained"))
        for kind, counts in self.counts.items():
            numbers = [*(counts[column] for column in columns), len(self.unexplained[kind])]
            yield f"{kind:18}" + "".join(f"{number:12,}" for number in numbers)
        for kind, found in self.unexplained.items():
            if found:
                yield f"\n{kind}: {len(found):,} values that no entry explains"
                yield from (f"  {line}" for line in found[:SHOWN])
        for entry in self.idle:
            yield f"\nan entry that excuses nothing: {entry.section}: {entry.pattern}"


def table(path: Path = NAMES) -> list[Entry]:
    """The entries of a file; see its head.

    Raises:
        BadTable: it cannot be read, or has another section, key or pattern.
    """
    try:
        sections = YAML(typ="safe").load(path.read_text(encoding="utf-8")) or {}
        if not isinstance(sections, dict) or not sections.keys() <= set(SECTIONS):
            raise BadTable(
                f"{path}: expected the sections {', '.join(SECTIONS)}, found {', '.join(map(str, sections))}"
            )
        entries = [Entry(section, **values) for section, entries in sections.items() for values in entries or []]
    except (OSError, ValueError, TypeError, YAMLError) as error:
        raise BadTable(f"{path}: {error}") from None
    for entry in entries:
        try:
            re.sub(entry.pattern, entry.to, "")
            re.compile(entry.where)
        except (re.error, LookupError, TypeError) as error:
            raise BadTable(f"{path}: {entry.section}: {entry.pattern}: {error}") from None
    return entries


def compared(old: Kinds, new: Kinds, entries: list[Entry]) -> Comparison:
    """Every value of both."""
    comparison = Comparison(entries)
    for kind in {**old, **new}:
        counts, unexplained = Counter[str](), list[str]()
        mapped = _mapped(kind, _by_name(old.get(kind, {})), entries, unexplained)
        values = _by_name(new.get(kind, {}))
        for path, (value, is_mapped) in mapped.items():
            if path in values:
                counts["compared"] += 1
                if _same(value, values[path]):
                    counts["mapped" if is_mapped else "equal"] += 1
                elif _was_rounded(kind, path, value, values[path], entries):
                    counts["mapped"] += 1
                elif not _excused("changed", kind, path, entries, counts):
                    unexplained.append(f"different {path}: {_short(value)} -> {_short(values[path])}")
            elif not _excused("gone", kind, path, entries, counts):
                unexplained.append(f"missing {path}: {_short(value)}")
        for path, value in values.items():
            if path not in mapped and not _excused("new", kind, path, entries, counts):
                unexplained.append(f"new {path}: {_short(value)}")
        comparison.counts[kind], comparison.unexplained[kind] = counts, unexplained
    return comparison


def _by_name(values: dict[str, Any]) -> dict[str, Any]:
    """An object of a list stands under its name, so that its place may be another: `arms.domain` for `arms.3`."""
    names = {path.removesuffix(".name"): str(name) for path, name in values.items() if re.search(r"\.\d+\.name$", path)}

    def named(path: str) -> str:
        parts = path.split(".")
        return ".".join(names.get(".".join(parts[: place + 1]), part) for place, part in enumerate(parts))

    return {named(path): value for path, value in values.items()}


def _mapped(
    kind: str, old: dict[str, Any], entries: list[Entry], unexplained: list[str]
) -> dict[str, tuple[Any, bool]]:
    """The values of OLD under the names of NEW, and whether path or value has another name there."""
    mapped: dict[str, tuple[Any, bool]] = {}
    for before, was in old.items():
        path, value = before, was
        for entry in entries:
            if not entry.is_for(kind, path):
                continue
            if entry.section == "renamed":
                path, number = re.subn(entry.pattern, entry.to, path)
                entry.values += bool(number)
            elif entry.section == "reworded" and isinstance(value, str):
                value, number = re.subn(entry.pattern, entry.to, value)
                entry.values += bool(number)
        if path in mapped:
            unexplained.append(f"two values of OLD are called {path}; one was {before}")
        mapped[path] = value, (path, value) != (before, was)
    return mapped


def _was_rounded(kind: str, path: str, old: Any, new: Any, entries: list[Entry]) -> bool:
    for entry in entries:
        if entry.section == "rounded" and entry.has(kind, path) and isinstance(old, float) and isinstance(new, float):
            entry.values += 1
            return _same(old, round(new, entry.digits))
    return False


def _excused(section: str, kind: str, path: str, entries: list[Entry], counts: Counter[str]) -> bool:
    for entry in entries:
        if entry.section == section and entry.has(kind, path):
            entry.values += 1
            counts[section] += 1
            return True
    return False


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal to the last bit, and of one type: NaN is NaN, -0.0 is not 0.0, and 1 is not 1.0."""
    return type(one) is type(other) and repr(one) == repr(other)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}..."
