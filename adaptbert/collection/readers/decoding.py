"""Why a line cannot be decoded, with the likely cause and the remedy."""

from adaptbert.codes import Code
from adaptbert.collection.readers.records import Problem

DECLARED = ", which is declared"
"""In the reason of a problem: the encoding is the declared one."""
_IS_UTF_8 = ": UTF-8?"
_CHINESE = ": Chinese in GBK?"


def decoding_remedy(reason: str) -> str:
    """The remedy for a line that cannot be decoded, by the reason of its problem."""
    if _IS_UTF_8 in reason:
        return "the encoding is one for all files of a set: leave it out where they are UTF-8, or save this one in it"
    if DECLARED in reason:
        return "the encoding is one for all files of a set: save this one in it, too"
    return "declare encoding: gb18030" if _CHINESE in reason else "declare the `encoding`"


def _is_valid(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_chinese(line: bytes) -> bool:
    """Whether it has two or more characters of GB 2312, whose bytes are all high: rare for accented letters."""
    try:
        return sum(not character.isascii() for character in line.decode("gb2312")) > 1
    except UnicodeDecodeError:
        return False


def undecodable(line: bytes, error: UnicodeDecodeError, encoding: str, is_last: bool) -> Problem:
    """The problem, with the likely cause."""
    byte = line[error.start]
    following = line[error.start + 1] if error.start + 1 < len(line) else 0
    if encoding != "utf-8":
        is_utf_8 = _IS_UTF_8 if _is_valid(line) else ""
        return Problem(Code.NOT_DECODABLE, f"byte 0x{byte:02X} at {error.start} is not {encoding}{DECLARED}{is_utf_8}")
    if is_last and error.reason == "unexpected end of data":
        return Problem(Code.CUT_CHARACTER, "last line ends inside a character: file truncated?")
    if _is_chinese(line):
        return Problem(Code.NOT_DECODABLE, f"byte 0x{byte:02X} is not UTF-8{_CHINESE}")
    if (
        byte in (0xC0, 0xC1)
        or (byte == 0xE0 and 0x80 <= following < 0xA0)
        or (byte == 0xF0 and 0x80 <= following < 0x90)
    ):
        return Problem(Code.OVERLONG_UTF_8, "overlong UTF-8 sequence")
    if byte == 0xED and 0xA0 <= following <= 0xBF:
        return Problem(Code.SURROGATE_IN_UTF_8, "surrogate encoded in UTF-8")
    if byte in (0x85, 0x91, 0x92, 0x93, 0x94, 0x96, 0x97):
        return Problem(Code.WINDOWS_1252, f"byte 0x{byte:02X} is not UTF-8 (Windows-1252 quote?)")
    return Problem(Code.NOT_DECODABLE, f"byte 0x{byte:02X} is not UTF-8")
