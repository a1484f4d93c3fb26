"""Text to cleaned text, and text to the keys by which two texts count as the same.

`clean` takes away what a reader cannot see and a tokenizer would stumble over, and says how much of it there was.
Everything visible stays as it was written: full-width forms, homoglyphs, emoji and their joiners (U+200C, U+200D).
The keys are wider: `key` ignores case, compatibility forms and white space, `letters` also punctuation and symbols,
`name_key` invisible characters. They are only ever compared, never trained on.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_SPACE_LIKE = re.compile(r"[\x0b\x0c\r\x85\u2028\u2029]+")
_HIDDEN = {
    "nul": re.compile(r"\x00"),
    "control": re.compile(r"[\x01-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]"),
    "zero_width": re.compile(r"[\u200b\ufeff\u00ad]"),
    "bidi_override": re.compile(r"[\u202a-\u202e\u2066-\u2069]"),
}
_STEPS = (("ansi", _ANSI, ""), ("line_break", _SPACE_LIKE, " "), *((k, pattern, "") for k, pattern in _HIDDEN.items()))
"""What `clean` does, in order: kind, what is found, what is put in its place."""
_SUSPECT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u2028-\u202e\u2066-\u2069\ufeff]")
_NOTHING: Mapping[str, int] = {}


def clean(text: str) -> tuple[str, Mapping[str, int]]:
    """The text without hidden characters, and how many of each kind were taken away.

    Removed: NUL, control characters, terminal colour codes, U+200B, U+FEFF, soft hyphens and the characters that
    override the direction of writing. Line breaks other than newline become a space, so that no two words are glued.
    White space at both ends is dropped and not counted.
    """
    if not _SUSPECT.search(text):
        return text.strip(), _NOTHING
    counts: dict[str, int] = {}
    for kind, pattern, put in _STEPS:
        text, found = pattern.subn(put, text)
        if found and not put:
            counts[kind] = found
    return text.strip(), counts


def origins(text: str) -> Sequence[int]:
    """Where each character of `clean(text)[0]` stood in `text`; for a line break, where it began. Rising."""
    places: Sequence[int] = range(len(text))
    if _SUSPECT.search(text):
        for _, pattern, put in _STEPS:
            kept: list[int] = []
            end = 0
            for found in pattern.finditer(text):
                kept += places[end : found.start() + len(put)]
                end = found.end()
            places = [*kept, *places[end:]]
            text = pattern.sub(put, text)
    return places[len(text) - len(text.lstrip()) : len(text.rstrip())]


def moved_back(text: str, ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Where ranges of `clean(text)[0]` that are not empty stood in the text."""
    places = range(len(text)) if len(clean(text)[0]) == len(text) else origins(text)
    return [(places[start], places[end - 1] + 1) for start, end in ranges]


def key(text: str) -> str:
    """Equal for texts that differ only in case, compatibility forms (full width, ligatures) or white space."""
    return " ".join(_folded(text).split())


def letters(text: str) -> str:
    """Equal for texts with the same letters and digits; a text without any (only emoji, say) falls back to `key`."""
    folded = _folded(text)
    return folded.translate(_LETTERS) or " ".join(folded.split())


def name_key(name: str) -> str:
    """Equal for names, of labels say, that a reader may take for one: `key` without invisible characters."""
    return key(name.translate(_VISIBLE))


def spelled(name: str) -> str:
    """A name in quotes, as YAML and messages have it; what looks like something else, or like nothing, as code points.

    `'neg'` and `"neg\\u200b"`, `"cafe\\u0301"`, `"\\uff30\\uff2f\\uff33"`.
    """
    is_composed = unicodedata.normalize("NFKC", name) == name
    shown = [character if _is_plain(character, is_composed=is_composed) else _escaped(character) for character in name]
    return f"'{name}'" if "".join(shown) == name and "'" not in name else f'"{"".join(shown)}"'


def seen(name: str) -> str:
    """A name as a reader sees it, and as `spelled` writes it where it is not plain: `'ｎｏ' ("\\uff4e\\uff4f")`."""
    plain, code = "".join(filter(str.isprintable, name.translate(_VISIBLE))), spelled(name)
    return f"'{plain}' ({code})" if plain and "\\" in code else code


def digest(text: str) -> int:
    """Eight bytes that stand for a text: among a million texts two collide with a chance of 1 in 37 million."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _folded(text: str) -> str:
    """NFKC and lower case without regard to the locale; again NFKC, since case folding can undo it."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


class _LettersTable(dict[int, int | None]):
    """For str.translate: keeps letters, marks and digits. Fills itself, as text holds few distinct characters."""

    def __missing__(self, code: int) -> int | None:
        kept = code if unicodedata.category(chr(code))[0] in "LMN" else None
        self[code] = kept
        return kept


_LETTERS = _LettersTable()


def _is_plain(character: str, *, is_composed: bool) -> bool:
    """Whether a reader sees what stands there.

    Args:
        is_composed: whether the whole name is in NFKC; then its marks are those of its script.
    """
    if character in '"\\' or not character.isprintable() or _VISIBLE[ord(character)] is None:
        return False
    own = unicodedata.category(character)[0] != "M" and unicodedata.normalize("NFKC", character) == character
    return is_composed or own


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return f"\\u{ord(character):04x}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08x}"


class _VisibleTable(dict[int, int | None]):
    """For str.translate: takes out what shows nothing and is no white space. Fills itself."""

    def __missing__(self, code: int) -> int | None:
        character = chr(code)
        hidden = unicodedata.category(character) in ("Cf", "Cc") and not character.isspace()
        self[code] = None if hidden or _IGNORABLE.match(character) else code
        return self[code]


_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Fillers, joiners and selectors of variants, which are no format characters by their category."""
_VISIBLE = _VisibleTable()
