"""The supported encodings of text files, by their Python names.

Python has codecs that no text file uses (`punycode`, `rot13`, `raw_unicode_escape`, `undefined`), codecs in which a
line does not end with a line feed (EBCDIC), and codecs whose lines cannot be decoded one by one (`utf-7`, `hz`,
`iso2022_kr`). So the supported ones are listed.
"""

import codecs

from adaptbert.codes import Code

COMMON = ("gb18030", "big5", "shift_jis", "euc-kr", "cp1252", "latin-1", "utf-16")
"""Suggested where another is rejected."""

_NAMES = (
    "ascii utf_8 utf_8_sig utf_16 utf_16_le utf_16_be utf_32 utf_32_le utf_32_be "
    "gb2312 gbk gb18030 big5 big5hkscs cp950 "
    "shift_jis shift_jis_2004 shift_jisx0213 cp932 euc_jp euc_jis_2004 euc_jisx0213 "
    "iso2022_jp iso2022_jp_1 iso2022_jp_2 iso2022_jp_2004 iso2022_jp_3 iso2022_jp_ext "
    "euc_kr cp949 johab tis_620 cp874 koi8_r koi8_t koi8_u kz1048 ptcp154 "
    "cp437 cp720 cp737 cp775 cp850 cp852 cp855 cp856 cp857 cp858 cp860 cp861 cp862 cp863 cp864 cp865 cp866 cp869 "
    "cp1006 cp1125 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 "
    "iso8859_1 iso8859_2 iso8859_3 iso8859_4 iso8859_5 iso8859_6 iso8859_7 iso8859_8 iso8859_9 iso8859_10 iso8859_11 "
    "iso8859_13 iso8859_14 iso8859_15 iso8859_16 "
    "mac_cyrillic mac_greek mac_iceland mac_latin2 mac_roman mac_turkish"
)
ERROR_CODES = (Code.NOT_DECODABLE, Code.WINDOWS_1252)
"""Errors of a row that usually mean that its file has another encoding."""

KNOWN = frozenset(codecs.lookup(name).name for name in _NAMES.split())


def problem(name: str) -> str | None:
    """Why files cannot be read in this encoding; None: they can."""
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return f"encoding '{name}' is unknown to Python"
    return None if codec in KNOWN else f"encoding '{name}' is none of text files"


def remedy() -> str:
    """The remedy for an unsupported encoding."""
    return f"write e.g. {', '.join(COMMON)}, or leave it out for UTF-8"
