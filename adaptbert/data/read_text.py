"""Reads numbered lines of a text file, plain or gzip, in any encoding, in constant memory.

Python's text streams end lines and decode: only LF, CR and CRLF end a line; U+2028, U+0085, VT and FF are part of it.
Where every line ends with CR CR LF, as after two conversions, that is one end, and no line is blank because of it. A
line that cannot be decoded or is too long has a problem; a file that is not text is an error.
"""

import codecs
import gzip
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from io import BufferedReader, FileIO, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import NamedTuple, cast

from adaptbert.codes import Code
from adaptbert.data.rows import Problem, Row, SourceFile
from adaptbert.errors import BadData

MAX_LINE = 10 * 1024 * 1024
"""Most characters of a line; longer lines are not read, and one of ten times as many ends the reading."""
MAX_TEXT = 512 * 1024 * 1024
"""Characters of a file that is read into memory."""
MAX_NULS = 0.01
"""Share of NUL characters at the beginning above which a file is not text."""
BLOCK = 1024 * 1024
"""Bytes that are looked at before a file is read."""
_OFFICE, _POINTER = "a file of Excel or another office program", "a pointer of Git LFS"
_KINDS = {
    rb"PK\x03\x04.{26}(\[Content_Types\]|_rels/|docProps/|xl/|mimetype)|\xd0\xcf\x11\xe0": _OFFICE,
    rb"version https://git-lfs\.": _POINTER, rb"PK\x03\x04": "zip", rb"7z\xbc\xaf\x27\x1c": "7z", rb"BZh": "bzip2",
    rb"\xfd7zXZ\x00": "xz", rb"\x28\xb5\x2f\xfd": "zstandard", rb"Rar!": "rar", rb"PAR1": "Parquet",
}  # fmt: skip
"""How a file begins that is not text -> what it is; the first that fits."""
_REMEDIES = {
    _OFFICE: "open it there and save it as CSV UTF-8",
    _POINTER: "run `git lfs pull` where it was cloned, and take the file then",
}
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",  # the mark of UTF-16 begins that of UTF-32
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip

COMMON = ("gb18030", "big5", "shift_jis", "euc-kr", "cp1252", "latin-1", "utf-16")
OTHER_ENCODING = f"write e.g. {', '.join(COMMON)}, or leave it out for UTF-8"
"""The remedy for one that cannot be read."""
_LIKELY = ["gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1251", "koi8_r", "cp1252", "utf_8"]
_BYTES, _CHARACTERS = 48, 4
"""Fewer bytes beyond ASCII, or distinct characters, fit several encodings: of 300 posts in GBK with 24 to 32 such bytes
charset-normalizer takes 75 for Korean, with 48 to 64 it is 11."""
_UNDECODED = re.compile("[\udc80-\udcff]")
"""The bytes that could not be decoded, as `surrogateescape` keeps them."""


class Line(NamedTuple):
    """A line without its end; with a problem, the part that could be decoded."""

    number: int
    text: str
    problem: Problem | None


def records(file: SourceFile) -> Iterator[Row]:
    """A document a line; a blank line is skipped in a corpus, and is a row among rows to predict."""
    file.check(["text"])
    number = documents = 0
    for number, text, problem in read_lines(file):
        has_text = problem is not None or bool(text.strip())
        documents += has_text
        if has_text or not file.layout.is_corpus:
            yield file.row(number, {"text": text}, problem)
    if not documents:
        raise file.error(Code.EMPTY_FILE, f"0 documents in {number:,} lines", "write one document a line")


def read_lines(file: SourceFile) -> Iterator[Line]:
    """Every line, empty ones included."""
    nuls = 0
    with _opened(file) as (text, first):
        for number, line in enumerate(iter(lambda: text.readline(MAX_LINE + 1), ""), 1):
            if len(line) > MAX_LINE and not line.endswith("\n"):
                for _ in range(9):
                    if not (rest := text.readline(MAX_LINE)) or rest.endswith("\n"):
                        break
                else:
                    reason = f"line longer than {10 * MAX_LINE:,} characters"
                    raise file.error(Code.TOO_LONG, reason, "end the line after each document", number)
                yield Line(number, "", Problem(Code.TOO_LONG, f"line longer than {MAX_LINE:,} characters"))
                continue
            nuls += line.count("\0")
            line = line.removesuffix("\n").removesuffix("\r\r").replace("\0", "")
            problem = _undecodable(file, line, text.encoding, first)
            yield Line(number, line if problem is None else _UNDECODED.sub("\ufffd", line), problem)
    if nuls:
        file.warnings["NUL bytes removed"] += nuls


def read_text(file: SourceFile) -> str:
    """The content of a file in a format without lines; checked like lines, but every problem is an error."""
    with _opened(file, "") as (text, first):
        content = text.read(MAX_TEXT + 1)
        if len(content) > MAX_TEXT:  # also of a small file in gzip
            remedy = "write JSON lines, or cut it into several"
            raise file.error(Code.TOO_LONG, f"more than {MAX_TEXT:,} characters", remedy)
        if problem := _undecodable(file, content, text.encoding, first):
            raise file.error(*problem)
    return content


def is_utf_8(file: SourceFile) -> bool:
    """Whether a file is UTF-8, whatever it is declared to be: no other text looks like it."""
    with _opened(file) as (_, first):
        return _is_utf_8(first)


def beginning(file: SourceFile) -> str:
    """About the first block of a file; characters that cannot be decoded are replaced."""
    with _opened(file) as (text, first):
        characters = first.decode(text.encoding, "replace").removeprefix("\ufeff")
    return characters.replace("\r\r\n", "\n") if _ends_twice(characters) else characters


# ---- paths


def check_name(path: Path) -> None:
    """Arrow opens no file whose name is not UTF-8, and no table can hold such a name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise BadData(Code.FILE, path, "the name is not UTF-8", "rename it") from None


def check_regular(path: Path) -> None:
    """Check before opening: reading a pipe or a device may block forever."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise BadData(Code.FILE, path, problem, "check the path and its permissions") from None
    if not stat.S_ISREG(mode):
        raise BadData(Code.FILE, path, "not a readable regular file", "name a file")


# ---- encodings


def encoding_problem(name: str) -> str | None:
    """Why text cannot be read in this encoding; None: it can."""
    try:
        "a".encode(name)
    except (LookupError, ValueError):
        return f"encoding '{name}' is none that Python reads text in"
    return None


def _undecodable(file: SourceFile, text: str, encoding: str, first: bytes) -> Problem | None:
    if (match := _UNDECODED.search(text)) is None:
        return None
    expected = "UTF-8" if encoding == "utf-8" else f"{encoding}, which is declared"
    perhaps = f": {likely}?" if (likely := _likely(first, encoding)) else ""
    return Problem(
        Code.ENCODING, f"byte 0x{ord(match[0]) - 0xDC00:02X} is not {expected}{perhaps}", file.name_encoding()
    )


@lru_cache(maxsize=1)
def _likely(text: bytes, encoding: str) -> str | None:
    """The encoding that the lines are probably in which cannot be decoded; None: they are too short to tell."""
    import charset_normalizer

    lines = text.splitlines()
    bad = b"\n".join(line for line in lines if _UNDECODED.search(line.decode(encoding, "surrogateescape")))
    if sum(byte > 0x7F for byte in bad) < _BYTES:
        return None
    best = charset_normalizer.from_bytes(bad, cp_isolation=_LIKELY).best()
    return None if best is None else best.encoding.replace("_", "-")


def _is_utf_8(text: bytes) -> bool:
    """Whether text that is read in another encoding is UTF-8: most encodings decode any bytes without an error."""
    try:
        decoded = codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return False
    return sum(not character.isascii() for character in set(decoded)) >= _CHARACTERS


# ---- bytes


@contextmanager
def _opened(file: SourceFile, newline: str | None = None) -> Iterator[tuple[TextIOWrapper, bytes]]:
    """The text, and the bytes of its beginning.

    Args:
        newline: of `io.TextIOWrapper`; None: each line ends with a line feed, or where all do, with CR CR LF.

    Raises:
        BadData: it is not text, or not in its encoding; also of what is read in the block.
    """
    name = codecs.lookup(file.encoding or "utf-8").name.removesuffix("-sig")
    opened = _unpacked(file.source) if isinstance(file.source, Path) else nullcontext(file.source)
    try:
        with opened as stream:
            first = stream.peek(BLOCK)
            _check(file, first, name)
            characters = first.decode(name, "replace")
            if newline is None and _ends_twice(characters):
                newline = "\n"
            text = TextIOWrapper(stream, name, "surrogateescape", newline)
            if characters.startswith("\ufeff"):
                file.warnings["byte-order marks removed"] += 1
                text.read(1)
            try:
                yield text, first
            finally:
                text.detach()  # else it would close stdin
    except (EOFError, gzip.BadGzipFile, zlib.error):
        remedy = "copy or download the file again"
        raise file.error(Code.DAMAGED_FILE, "gzip is damaged, or ends early", remedy) from None
    except UnicodeError:
        raise file.error(Code.ENCODING, f"not {name}, which is declared", file.name_encoding()) from None


def _unpacked(path: Path) -> BufferedReader:
    """The bytes of a file, those in gzip unpacked."""
    check_regular(path)
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    return BufferedReader(cast(RawIOBase, gzip.open(path)) if packed else FileIO(path), BLOCK)


def check_kind(file: SourceFile, first: bytes, kind: str = "text") -> None:
    """Reject a file that begins as one of another kind does."""
    for begins, found in _KINDS.items():
        if found != kind and re.match(begins, first, re.DOTALL):
            remedy = _REMEDIES.get(found, "unpack it first, or name it after its format")
            raise file.error(Code.WRONG_FORMAT, f"{found}, not {kind}", remedy)


def _ends_twice(characters: str) -> bool:
    """Whether every line ends with CR CR LF."""
    return 0 < characters.count("\r\r\n") == characters.count("\n")


def _check(file: SourceFile, first: bytes, name: str) -> None:
    """Reject bytes that are not text, and warn of text that is in UTF-8 and read in another encoding."""
    if not first:
        problem = "file is empty" if isinstance(file.source, Path) else "nothing came in"
        raise file.error(Code.EMPTY_FILE, problem, "fill it or take it away")
    check_kind(file, first)
    marked = next((encoding for mark, encoding in _MARKS.items() if first.startswith(mark)), None)
    if file.encoding is None and marked:
        raise file.error(Code.ENCODING, f"file is {marked.upper()}", file.name_encoding(marked))
    characters = first.decode(name, "replace")
    if (nuls := characters.count("\0")) > MAX_NULS * len(characters):
        problem = f"{nuls:,} of the first {len(characters):,} characters are NUL: binary file?"
        remedy = f"name a text file; where every second byte is NUL, {file.name_encoding('utf-16-le or utf-16-be')}"
        if nuls == len(characters):  # a crash or a full disk while it was written
            remedy = "its content was lost while it was written or copied: take it from where it came"
        raise file.error(Code.BINARY_FILE, problem, remedy)
    if not name.startswith("utf") and _is_utf_8(first):
        file.warnings[f"{Path(file.shown).name} is read as {name}, but is UTF-8: leave the encoding out"] += 1
