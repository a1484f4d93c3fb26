"""Characters that look like those of YAML: input methods, word processors and web pages insert them.

Text in; the first such character, its offset and what to write instead out.
"""

import re
from typing import NamedTuple

_PLAIN = {
    "：": ("a full-width colon", "a colon ':' and a blank"),
    "，": ("a full-width comma", "','"),
    "“": ("a curly quote", "'\"'"),
    "”": ("a curly quote", "'\"'"),
    "„": ("a curly quote", "'\"'"),
    "‘": ("a curly quote", '"\'"'),
    "’": ("a curly quote", '"\'"'),
    "［": ("a full-width bracket", "'['"),
    "］": ("a full-width bracket", "']'"),
    "｛": ("a full-width brace", "'{'"),
    "｝": ("a full-width brace", "'}'"),
    "＃": ("a full-width number sign", "'#'"),
    "\u3000": ("a full-width space", "a blank"),
    "\u00a0": ("a no-break space", "a blank"),
    "\u200b": ("an invisible space", "nothing"),
    "\ufeff": ("a byte-order mark", "nothing"),
    "\t": ("a tab", "blanks"),
}
"""Character -> its name, and the character of YAML."""

_CURLY = "“”„‘’"
_QUOTED, _COMMENT = re.compile(r"\"[^\"]*\"|'[^']*'"), re.compile(r"(?:^|\s)#")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_LINES = 3


class LookAlike(NamedTuple):
    """One such character.

    Attributes:
        place: in the text, from 0.
        name: what it is, with its code point.
        remedy: what to write.
    """

    place: int
    name: str
    remedy: str


def find(text: str) -> LookAlike | None:
    """The first one."""
    for place, character in enumerate(text):
        if character in _PLAIN:
            name, plain = _PLAIN[character]
            return LookAlike(place, f"{name} (U+{ord(character):04X})", f"write {plain}")
    return None


def quotes(text: str) -> LookAlike | None:
    """The first of two curly quotes around a text."""
    is_quoted = len(text) > 2 and text[0] in _CURLY and text[-1] in _CURLY
    return find(text[0]) if is_quoted else None


def before(text: str, line: int) -> LookAlike | None:
    """One that a parser of YAML may have stumbled over: outside comments and quotes, in a line (from 0) or else in the
    two before it that hold something, since the parser notices a missing colon only at the next key."""
    lines = [*_LINE.finditer(text)][: line + 1]
    code = [(whole.start(), _COMMENT.split(_QUOTED.sub(_hidden, whole[0]))[0]) for whole in lines]
    for start, words in reversed([(start, words) for start, words in code if words.strip()][-_LINES:]):
        if look_alike := find(words.replace("\t", " ")):  # the parser itself reports tabs
            return look_alike._replace(place=start + look_alike.place)
    return None


def _hidden(quoted: re.Match[str]) -> str:
    return "x" * len(quoted[0])
