"""Cleans text, and computes the keys by which two texts count as the same.

`clean` removes characters that readers cannot see and that disturb a tokenizer, and counts them by kind. Everything
visible stays as it was written: full-width forms, homoglyphs, emoji and their joiners (U+200C, U+200D).
The keys ignore more: `key` case, compatibility forms and white space, `letters` also punctuation and symbols,
`name_key` invisible characters. Keys are compared only; no model is trained on them.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

_STEPS = (
    ("ansi", re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]"), ""),
    ("line_break", re.compile(r"[\x0b\x0c\r\x85\u2028\u2029]+"), " "),
    ("nul", re.compile(r"\x00"), ""),
    ("control", re.compile(r"[\x01-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]"), ""),
    ("zero_width", re.compile(r"[\u200b\ufeff\u00ad]"), ""),
    ("bidi_override", re.compile(r"[\u202a-\u202e\u2066-\u2069]"), ""),
)
"""The substitutions of `clean`, in order: kind, pattern, replacement."""
_SUSPECT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u2028-\u202e\u2066-\u2069\ufeff]")
_LATIN = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456"
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",
    "abekmhopctyxi" + "abezhikmnoptyx",
)
"""Small letters of Cyrillic and Greek whose capitals look Latin; the keys know small ones only."""


def clean(text: str) -> tuple[str, Mapping[str, int]]:
    """The text without hidden characters, and how many of each kind were removed.

    Removed: NUL, control characters, terminal colour codes, U+200B, U+FEFF, soft hyphens and the characters that
    override the direction of writing. Line breaks other than newline become a space, so that no two words are joined.
    White space at both ends is removed and not counted.
    """
    if not _SUSPECT.search(text):
        return text.strip(), {}
    counts: dict[str, int] = {}
    for kind, pattern, substitute in _STEPS:
        text, removed = pattern.subn(substitute, text)
        if removed and not substitute:
            counts[kind] = removed
    return text.strip(), counts


def origins(text: str) -> Sequence[int]:
    """The offset in `text` of each character of `clean(text)[0]`, ascending; of a line break, where it began."""
    places: Sequence[int] = range(len(text))
    if _SUSPECT.search(text):
        for _, pattern, substitute in _STEPS:
            remaining: list[int] = []
            end = 0
            for match in pattern.finditer(text):
                remaining += places[end : match.start() + len(substitute)]
                end = match.end()
            places = [*remaining, *places[end:]]
            text = pattern.sub(substitute, text)
    return places[len(text) - len(text.lstrip()) : len(text.rstrip())]


def moved_back(text: str, ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges of `text` that non-empty ranges of `clean(text)[0]` come from."""
    places = origins(text)
    return [(places[start], places[end - 1] + 1) for start, end in ranges]


def key(text: str) -> str:
    """A key that is equal where only case, compatibility forms (full width, ligatures) or white space differ."""
    return " ".join(_folded(text).split())


def letters(text: str) -> str:
    """A key of letters and digits, equal where these are; a text without any (only emoji, say) falls back to `key`."""
    folded = _folded(text)
    return folded.translate(_LETTERS) or " ".join(folded.split())


def name_key(name: str) -> str:
    """A key that is equal for names (of labels) that look alike to a reader: `key` without invisible characters, with
    Latin letters for those of Cyrillic and Greek that look so."""
    return key(name.translate(_VISIBLE)).translate(_LATIN)


def odd_characters(name: str, other: str) -> str:
    """The characters that a name does not share with one that looks like it, where `seen` does not show them, as
    ` (CYRILLIC CAPITAL LETTER O)`."""
    odd = [unicodedata.name(each, "") for each in dict.fromkeys(name) if not each.isascii() and each not in other]
    return f" ({', '.join(odd)})" if odd and "\\" not in spelled(name) else ""


def spelled(name: str) -> str:
    """A name in quotes, as in YAML and messages; invisible characters and look-alikes are written as code points.

    `'neg'` and `"neg\\u200b"`, `"cafe\\u0301"`, `"\\uff30\\uff2f\\uff33"`.
    """
    is_composed = unicodedata.normalize("NFKC", name) == name
    shown = [character if _is_plain(character, is_composed=is_composed) else _escaped(character) for character in name]
    return f"'{name}'" if "".join(shown) == name and "'" not in name else f'"{"".join(shown)}"'


def seen(name: str) -> str:
    """A name as a reader sees it, followed by its `spelled` form where the two differ: `'ｎｏ' ("\\uff4e\\uff4f")`."""
    plain, code = "".join(filter(str.isprintable, name.translate(_VISIBLE))), spelled(name)
    return f"'{plain}' ({code})" if plain and "\\" in code else code


def digest(text: str) -> int:
    """A 64-bit hash of a text: among a million texts, two collide with a probability of 1 in 37 million."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _folded(text: str) -> str:
    """NFKC and locale-independent case folding; then NFKC again, since case folding can undo it."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


class _Table(dict[int, int | None]):
    """A table for str.translate: keeps some characters. Filled on demand: text has few distinct ones."""

    def __init__(self, keeps: Callable[[str], bool]) -> None:
        self._keeps = keeps

    def __missing__(self, code: int) -> int | None:
        self[code] = code if self._keeps(chr(code)) else None
        return self[code]


_LETTERS = _Table(lambda character: unicodedata.category(character)[0] in "LMN")


def _is_plain(character: str, *, is_composed: bool) -> bool:
    """Whether a reader recognises the character.

    Args:
        is_composed: whether the name is in NFKC; then its marks belong to its script.
    """
    if character in '"\\' or not character.isprintable() or _VISIBLE[ord(character)] is None:
        return False
    own = unicodedata.category(character)[0] != "M" and unicodedata.normalize("NFKC", character) == character
    return is_composed or own


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return f"\\u{ord(character):04x}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08x}"


_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Fillers, joiners and variation selectors, whose Unicode category is not `Cf` (format)."""


_VISIBLE = _Table(
    lambda character: (
        character.isspace() or not (unicodedata.category(character) in ("Cf", "Cc") or _IGNORABLE.match(character))
    )
)
