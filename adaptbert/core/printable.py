"""Text of users as it is shown: what a terminal would execute, or show in another order, has escapes."""

import re

TURNING = re.compile("[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Marks that turn the direction of what follows, and ends of lines that are no newline."""
_NOT_PRINTABLE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff]|{TURNING.pattern}")


def printable(text: str, hidden: re.Pattern[str] = _NOT_PRINTABLE) -> str:
    """The text with escapes for what a stream cannot encode, or a terminal would execute or show in another order: a
    file name may have control characters, and bytes that are not UTF-8, which Python represents as lone surrogates.
    """
    return hidden.sub(lambda match: match[0].encode("unicode_escape").decode().replace(r"\udc", r"\x"), text)
