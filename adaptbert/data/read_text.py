"""Reads numbered lines of a text file, plain or gzip, in any encoding, in constant memory.

Only LF, CR and CRLF end a line: U+2028, U+0085, VT and FF are part of it. A line that cannot be decoded or is too long
has a problem; a file that is not text is an error.
"""

import codecs
import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from functools import cache
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple, cast

from adaptbert.codes import Code
from adaptbert.data.rows import Problem, Row, SourceFile
from adaptbert.errors import BadData

MAX_LINE = 10 * 1024 * 1024
"""Bytes; longer lines are not read."""
MAX_TEXT = 512 * 1024 * 1024
"""Bytes of a file that is read into memory."""
MAX_EXPANSION = 500
"""Maximum expansion of gzip; that of text is 3 to 20."""
MAX_NULS = 0.01
"""Share of NUL bytes above which a file is not text."""
BLOCK = 1024 * 1024
ARCHIVES = {
    b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7z", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard", b"Rar!": "rar", b"PAR1": "Parquet",
}  # fmt: skip
_SPECIAL = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}

DECLARE = "declare the `encoding` that all files of the set have"
COMMON = ("gb18030", "big5", "shift_jis", "euc-kr", "cp1252", "latin-1", "utf-16")
OTHER_ENCODING = f"write e.g. {', '.join(COMMON)}, or leave it out for UTF-8"
"""The remedy for one that cannot be read."""
_UNUSABLE = {"charmap", "hz", "idna", "iso2022_kr", "raw-unicode-escape", "utf-7"}
"""No text file is in them, or their lines cannot be decoded one by one."""
_LIKELY = ["gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1251", "koi8_r", "cp1252", "utf_8"]
_BYTES, _CHARACTERS = 48, 4
"""Fewer bytes beyond ASCII, or distinct characters, fit several encodings: of 300 posts in GBK with 24 to 32 such bytes
charset-normalizer takes 75 for Korean, with 48 to 64 it is 11."""


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
    first, blocks, name = _open(file)
    nuls, hint = 0, cache(lambda: _likely(first, name))
    for number, raw in _split(blocks):
        if raw is None:
            yield Line(number, "", Problem(Code.TOO_LONG, f"line longer than {MAX_LINE:,} bytes"))
            continue
        if count := raw.count(b"\0"):
            nuls += count
            raw = raw.replace(b"\0", b"")
        try:
            line = Line(number, raw.decode(name), None)
        except UnicodeDecodeError as error:
            line = Line(number, raw.decode(name, "replace"), _undecodable(raw, error, name, hint()))
        yield line
    if nuls:
        file.warnings["NUL bytes removed"] += nuls


def read_text(file: SourceFile) -> str:
    """The content of a file in a format without lines; checked like lines, but every problem is an error."""
    first, blocks, name = _open(file)
    content = bytearray()
    for block in blocks:
        content += block
        if len(content) > MAX_TEXT:
            remedy = "write JSON lines, or cut it into several"
            raise file.error(Code.TOO_LONG, f"larger than {MAX_TEXT:,} bytes", remedy)
    try:
        return content.decode(name)
    except UnicodeDecodeError as error:
        raise file.error(*_undecodable(bytes(content), error, name, _likely(first, name))) from None


def beginning(file: SourceFile) -> str:
    """About the first block of a file; characters that cannot be decoded are replaced."""
    first, _, name = _open(file)
    return first.decode(name, "replace")


# ---- paths


def check_name(path: Path) -> None:
    """Arrow and safetensors open no file whose name is not UTF-8, and no table can hold such a name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise BadData(Code.FILE, shown, "the name is not UTF-8", "rename it") from None


def check_regular(path: Path, shown: str) -> None:
    """Checked before opening: reading a pipe or a device may block forever."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise BadData(Code.FILE, shown, problem, "check the path and its permissions") from None
    if not stat.S_ISREG(mode):
        kind = _SPECIAL.get(stat.S_IFMT(mode))
        problem = f"{f'{kind}, ' if kind else ''}not a readable regular file"
        raise BadData(Code.FILE, shown, problem, "name a file")


# ---- encodings


def encoding_problem(name: str) -> str | None:
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


def _undecodable(line: bytes, error: UnicodeDecodeError, encoding: str, hint: str | None) -> Problem:
    byte, perhaps = line[error.start], f": {hint}?" if hint else ""
    expected = "is not UTF-8" if encoding == "utf-8" else f"at {error.start} is not {encoding}, which is declared"
    return Problem(Code.ENCODING, f"byte 0x{byte:02X} {expected}{perhaps}", DECLARE)


def _likely(text: bytes, encoding: str) -> str | None:
    """The encoding that the lines are probably in which cannot be decoded; None: they are too short to tell."""
    import charset_normalizer

    bad = b"\n".join(line for line in text.splitlines() if not _decodes(line, encoding))
    if sum(byte > 0x7F for byte in bad) < _BYTES:
        return None
    best = charset_normalizer.from_bytes(bad, cp_isolation=_LIKELY).best()
    return None if best is None else best.encoding.replace("_", "-")


def _decodes(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _is_utf_8(text: bytes) -> bool:
    """Whether text that is read in another encoding is UTF-8: most encodings decode any bytes without an error."""
    try:
        decoded = codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return False
    return sum(not character.isascii() for character in set(decoded)) >= _CHARACTERS


# ---- bytes


def _open(file: SourceFile) -> tuple[bytes, Iterator[bytes], str]:
    """The first block, all blocks, and the encoding to decode them with, in which a line feed is one byte."""
    name = codecs.lookup(file.encoding or "utf-8").name.removesuffix("-sig")
    blocks = _unpacked(file, file.source) if isinstance(file.source, Path) else _streamed(file, file.source)
    if name.startswith(("utf-16", "utf-32")):
        blocks, name = _transcoded(file, blocks, name), "utf-8"
    blocks = _text_blocks(file, blocks)
    first = next(blocks, b"")
    if name != "utf-8" and _is_utf_8(first):
        file.warnings[f"{Path(file.shown).name} is read as {name}, but is UTF-8: leave the encoding out"] += 1
    return first, chain([first], blocks), name


def _unpacked(file: SourceFile, path: Path) -> Iterator[bytes]:
    check_regular(path, file.shown)
    with path.open("rb") as raw:
        head = raw.read(512)
        raw.seek(0)
        packed = head.startswith(b"\x1f\x8b")
        if head and packed != path.name.lower().endswith(".gz"):
            problem = "content is gzip, name does not end in .gz" if packed else "name says gzip, content is not"
            raise file.error(Code.DAMAGED_FILE, problem, "rename the file")
        if kind := next((kind for magic, kind in ARCHIVES.items() if head.startswith(magic)), None):
            remedy = "unpack it first, or name it after its format"
            raise file.error(Code.WRONG_FORMAT, f"{kind}, not text", remedy)
        size, total = path.stat().st_size, 0
        stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw
        while block := _read(file, stream):
            if total == 0 and block[257:262] == b"ustar":
                raise file.error(Code.WRONG_FORMAT, "a tar archive, not text", "unpack it first")
            total += len(block)
            if packed and total > max(MAX_LINE, MAX_EXPANSION * size):
                problem = f"expands more than {MAX_EXPANSION} times"
                raise file.error(Code.DAMAGED_FILE, problem, "unpack it first and look inside")
            yield block
        if total == 0:
            raise file.error(Code.EMPTY_FILE, "file is empty", "fill it or take it away")


def _streamed(file: SourceFile, stream: BufferedReader) -> Iterator[bytes]:
    first = stream.read1(BLOCK)
    if not first:
        raise file.error(Code.EMPTY_FILE, "nothing came in", "write one record a line to it")
    yield first
    while block := stream.read1(BLOCK):
        yield block


def _read(file: SourceFile, stream: IO[bytes]) -> bytes:
    try:
        return stream.read(BLOCK)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        remedy = "copy or download the file again"
        raise file.error(Code.DAMAGED_FILE, "gzip is damaged, or ends early", remedy) from None


def _transcoded(file: SourceFile, blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(name)()
    position = 0
    try:
        for block in blocks:
            yield decoder.decode(block).encode()
            position += len(block)
        decoder.decode(b"", final=True)
    except UnicodeError:
        problem = f"not {name} near byte {position:,}, which is declared"
        raise file.error(Code.ENCODING, problem, DECLARE) from None


def _text_blocks(file: SourceFile, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Rejects bytes that are not text, and removes a byte-order mark."""
    total = nuls = 0
    for block in blocks:
        if total == 0:
            if file.encoding is None and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise file.error(Code.ENCODING, "file is UTF-16", "declare encoding: utf-16")
            if block.startswith(codecs.BOM_UTF8):
                file.warnings["byte-order marks removed"] += 1
                block = block[len(codecs.BOM_UTF8) :]
        total += len(block)
        nuls += block.count(0)
        if nuls > MAX_NULS * total:
            problem = f"{nuls:,} of the first {total:,} bytes are NUL: binary file?"
            remedy = "name a text file; where every second byte is NUL, declare the encoding: utf-16-le or utf-16-be"
            raise file.error(Code.BINARY_FILE, problem, remedy)
        yield block


def _split(blocks: Iterator[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Number and line; None: it is too long."""
    number, rest, too_long, after_cr = 1, b"", False, False
    for block in blocks:
        if after_cr and block.startswith(b"\n"):
            block = block[1:]  # the second half of a CRLF that two blocks share
        after_cr = block.endswith(b"\r")
        parts = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        parts[0] = rest + parts[0]
        rest = parts.pop()
        for part in parts:
            yield number, None if too_long or len(part) > MAX_LINE else part
            number, too_long = number + 1, False
        if too_long or len(rest) > MAX_LINE:
            rest, too_long = b"", True
    if rest or too_long:
        yield number, None if too_long else rest
