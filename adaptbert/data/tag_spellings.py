"""What tags are of no scheme, or of one in another spelling: B_x, x-B, b-x, a bare B, 0 for O, letters that look so.

Pure, as `tag_schemes`, in which any bare word is a type of `io`: here it has to look like one.
"""

import re
from collections.abc import Collection, Sequence

from adaptbert.data.cleaning import name_key
from adaptbert.data.tag_schemes import OUTSIDE, WITH_PREFIX, Scheme, fits, looks_like

_TYPE = re.compile(r"[^\W_][^()*=]*", re.DOTALL)
"""A bare type: no comment, and no tag that writes spans in brackets."""
_SPELLINGS = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(?P<sign>[BIESLUM])[_:/|.](?P<type>.+)",
        r"(?P<type>.+)[-_:/|.](?P<sign>[BIESLUM])",
        r"(?P<sign>[bieslum])[-_:/|.](?P<type>.+)",
        r"(?P<sign>[BIESLUM])(?P<type>)",
    )
]
_NO_SPAN = {"0", "o"}
_NO_SPAN_WITHOUT_O = _NO_SPAN | {"-", "_", "OTHER"}
"""Tags that may be types beside O."""
_UNNAMED = "SPAN"
"""The type of signs without one."""


def respelled(tags: Collection[str]) -> dict[str, str]:
    """Tag -> how `tag_schemes` writes it, where a file writes O or the signs otherwise; empty where it does not.

    Args:
        tags: all that occur in a file.
    """
    others = sorted({tag for tag in tags if tag != OUTSIDE and not WITH_PREFIX.fullmatch(tag)})
    are_numbers = any(tag.isdecimal() and tag not in _NO_SPAN for tag in others)
    no_span = _NO_SPAN if OUTSIDE in tags else _NO_SPAN_WITHOUT_O
    ours = {} if are_numbers else {tag: OUTSIDE for tag in others if tag in no_span or name_key(tag) == "o"}
    latin = {tag: name_key(tag[0]).upper() + tag[1:] for tag in others if tag[:1] and not tag.isascii()}
    ours |= {tag: spelled for tag, spelled in latin.items() if WITH_PREFIX.fullmatch(spelled)}
    for spelling in _SPELLINGS:
        matches = {tag: match for tag in others if tag not in ours and (match := spelling.fullmatch(tag))}
        begins = any(match["sign"] in "Bb" for match in matches.values())
        if begins and 2 * len(matches) > len(others) - len(ours):
            signed = {tag: f"{match['sign'].upper()}-{match['type'] or _UNNAMED}" for tag, match in matches.items()}
            return {**ours, **signed}
    return ours


def scheme_of(rows: Sequence[Sequence[str]]) -> Scheme | None:
    """The scheme that most of the rows fit; None: most fit none."""
    scheme = looks_like(rows)
    fitting = sum(fits(row, scheme) and (scheme != "io" or all(map(_TYPE.fullmatch, row))) for row in rows)
    return scheme if 2 * fitting > len(rows) else None
