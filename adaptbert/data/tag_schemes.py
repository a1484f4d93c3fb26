"""Converts tags to spans and back in the common tagging schemes, strictly or to the nearest legal tags.

io     I-x everywhere (or the bare type): two adjacent entities of one type are one.
bio    IOB2: B-x begins an entity, I-x continues it (Tjong Kim Sang and Veenstra 1999, "Representing Text Chunks").
iob1   I-x everywhere; B-x only directly after an entity of the same type (Ramshaw and Marcus 1995).
iobes  B-x begins, I-x continues, E-x ends, S-x is a single token; letters of BILOU (L, U) and BMES (M) are accepted.

Pure: lists of strings in, lists out. A span is (first token, last token + 1, type).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

Scheme = Literal["io", "bio", "iob1", "iobes"]
Span = tuple[int, int, str]

OUTSIDE = "O"
SCHEMES: tuple[Scheme, ...] = ("bio", "io", "iob1", "iobes")
"""The most likely first: rows that fit several schemes are assigned to the first of these."""

WITH_PREFIX = re.compile(r"([BIESLUM])-(.+)", re.DOTALL)
PREFIXES: Mapping[Scheme, str] = {"io": "I", "bio": "BI", "iob1": "BI", "iobes": "BIES"}
_SAME = {"L": "E", "U": "S", "M": "I"}
"""Letters of BILOU and BMES, as iobes writes them."""


def spans(tags: Sequence[str], scheme: Scheme) -> list[Span]:
    """The entities of a row that fits the scheme.

    Raises:
        ValueError: the row does not fit the scheme; `legal` returns the nearest row that does.
    """
    entities = _read(tags, scheme)
    if _written(entities, len(tags), scheme) != [_parsed(tag, scheme) for tag in tags]:
        raise ValueError(f"not {scheme}")
    return entities


def tags(spans: Iterable[Span], length: int, scheme: Scheme) -> list[str]:
    """One tag a token for sorted spans that do not overlap; O outside of spans.

    In `io`, adjacent spans of one type become one.

    Args:
        length: tokens of the row.
    """
    return _as_tags(_written(spans, length, scheme))


def legal(tags: Sequence[str], scheme: Scheme) -> list[str]:
    """The nearest legal row: every tagged token stays in an entity of its type; only entity boundaries change.

    An entity ends where the type changes, before B- and S-, and after E- and S-. A legal row is returned unchanged
    (in the letters of this module).

    Raises:
        ValueError: a tag is neither O nor a prefix of the scheme with a type.
    """
    return _as_tags(_written(_read(tags, scheme), len(tags), scheme))


def kinds(tags: Sequence[str], scheme: Scheme) -> list[str]:
    """The type of each span of a row, or of the nearest legal one; a row with tags of another scheme has none."""
    with suppress(ValueError):
        return [kind for _, _, kind in _read(tags, scheme)]
    return []


def fits(tags: Sequence[str], scheme: Scheme) -> bool:
    """Whether a row is legal in the scheme."""
    try:
        spans(tags, scheme)
    except ValueError:
        return False
    return True


def renamed(tag: str, named: Callable[[str], str]) -> str:
    """A tag with its type renamed; the prefix stays. A tag without a prefix is a type."""
    match = WITH_PREFIX.fullmatch(tag)
    if match is None:
        return named(tag)
    return f"{match[1]}-{named(match[2])}"


def looks_like(rows: Sequence[Sequence[str]]) -> Scheme:
    """The scheme that most of the rows fit."""
    return max(SCHEMES, key=lambda scheme: sum(fits(row, scheme) for row in rows))


def _read(tags: Sequence[str], scheme: Scheme) -> list[Span]:
    """Entities as `legal` sees them."""
    entities: list[Span] = []
    before = ("", "")
    for place, (prefix, kind) in enumerate(_parsed(tag, scheme) for tag in tags):
        continues = kind == before[1] and prefix not in ("B", "S") and before[0] not in ("E", "S")
        if kind and continues:
            entities[-1] = (entities[-1][0], place + 1, kind)
        elif kind:
            entities.append((place, place + 1, kind))
        before = (prefix, kind)
    return entities


def _written(spans: Iterable[Span], length: int, scheme: Scheme) -> list[tuple[str, str]]:
    """Prefix and type of each token; both are empty outside."""
    row = [("", "")] * length
    for first, end, kind in spans:
        touches = first > 0 and row[first - 1][1] == kind
        row[first:end] = [(prefix, kind) for prefix in _prefixes(end - first, scheme, touches=touches)]
    return row


def _as_tags(parsed: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{prefix}-{kind}" if kind else OUTSIDE for prefix, kind in parsed]


def _prefixes(length: int, scheme: Scheme, *, touches: bool) -> str:
    """Prefixes of one entity; `touches`: the token before it is in an entity of the same type."""
    if scheme == "iobes":
        return "S" if length == 1 else f"B{'I' * (length - 2)}E"
    begins = scheme == "bio" or (scheme == "iob1" and touches)
    return f"{'B' if begins else 'I'}{'I' * (length - 1)}"


def _parsed(tag: str, scheme: Scheme) -> tuple[str, str]:
    if tag == OUTSIDE:
        return "", ""
    match = WITH_PREFIX.fullmatch(tag)
    if match is None and scheme == "io" and tag:
        return "I", tag
    prefix = "" if match is None else match[1]
    if scheme == "iobes":
        prefix = _SAME.get(prefix, prefix)
    if match is None or prefix not in PREFIXES[scheme]:
        raise ValueError(f"a tag is not of {scheme}")
    return prefix, match[2]
