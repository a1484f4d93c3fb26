"""Encodings of text files: which can be declared, and which one a file is probably in that cannot be decoded."""

import codecs

from adaptbert.codes import Code
from adaptbert.data.readers.records import Problem

COMMON = ("gb18030", "big5", "shift_jis", "euc-kr", "cp1252", "latin-1", "utf-16")
"""Suggested where another is rejected."""
_UNUSABLE = {"charmap", "hz", "idna", "iso2022_kr", "raw-unicode-escape", "utf-7"}
"""No text file is in them, or their lines cannot be decoded one by one."""
REMEDY = "declare the `encoding` that all files of the set have"
_LIKELY = ["gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1251", "koi8_r", "cp1252", "utf_8"]
_BYTES, _CHARACTERS = 48, 4
"""Fewer bytes beyond ASCII, or distinct characters, fit several encodings: of 300 posts in GBK with 24 to 32 such bytes
charset-normalizer takes 75 for Korean, with 48 to 64 it is 11."""


def problem(name: str) -> str | None:
    """Why files cannot be read in this encoding; None: they can.

    A line has to end with the byte of a line feed: it does not in EBCDIC, nor in codecs that encode no text.
    """
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return f"encoding '{name}' is unknown to Python"
    try:
        ends_alike = "a\nb".encode(codec.removesuffix("-sig")) == b"a\nb" or codec.startswith(("utf-16", "utf-32"))
    except (LookupError, ValueError):
        ends_alike = False
    return None if ends_alike and codec not in _UNUSABLE else f"encoding '{name}' is none of text files"


def remedy() -> str:
    """The remedy for an unsupported encoding."""
    return f"write e.g. {', '.join(COMMON)}, or leave it out for UTF-8"


def likely(text: bytes, encoding: str) -> str | None:
    """The encoding that the lines are probably in which cannot be decoded; None: they are too short to tell."""
    import charset_normalizer

    bad = b"\n".join(line for line in text.splitlines() if not _fits(line, encoding))
    if sum(byte > 0x7F for byte in bad) < _BYTES:
        return None
    best = charset_normalizer.from_bytes(bad, cp_isolation=_LIKELY).best()
    return None if best is None else best.encoding.replace("_", "-")


def is_utf_8(text: bytes) -> bool:
    """Whether text that is read in another encoding is UTF-8: most encodings decode any bytes without an error."""
    try:
        decoded = codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return False
    return sum(not character.isascii() for character in set(decoded)) >= _CHARACTERS


def undecodable(line: bytes, error: UnicodeDecodeError, encoding: str, hint: str | None, is_last: bool) -> Problem:
    """The problem of a line, with the encoding that it is probably in."""
    if encoding == "utf-8" and is_last and error.reason == "unexpected end of data":
        return Problem(Code.ENCODING, "last line ends inside a character: file truncated?")
    byte, perhaps = line[error.start], f": {hint}?" if hint else ""
    expected = "is not UTF-8" if encoding == "utf-8" else f"at {error.start} is not {encoding}, which is declared"
    return Problem(Code.ENCODING, f"byte 0x{byte:02X} {expected}{perhaps}")


def _fits(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
