"""Files that stop the stage, each with a numbered error."""

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from adaptbert.data.layout import CORPUS
from adaptbert.data.readers.lines import MAX_LINE
from adaptbert.data.user_files import Files
from adaptbert.errors import BadData, Several, UserError
from tests.support.labelled_files import CLASS
from tests.support.reading import MANY, config, parquet, read, write

ZIP = io.BytesIO()
with zipfile.ZipFile(ZIP, "w") as archive:
    archive.writestr("a.txt", "text")
TAR = io.BytesIO()
with tarfile.open(fileobj=TAR, mode="w") as tar_archive:
    tar_archive.addfile(tarfile.TarInfo("a.txt"), io.BytesIO(b""))
PACKED = gzip.compress(MANY, mtime=0)
WRONG_SUM = PACKED[:-8] + bytes([PACKED[-8] ^ 1]) + PACKED[-7:]


@pytest.mark.parametrize(
    ("name", "content", "code", "words"),
    [
        ("a.txt", "text".encode("utf-16"), 3, "declare encoding: utf-16"),
        ("a.txt", "plain text".encode("utf-16-le"), 4, "every second byte is NUL"),
        ("a.txt", b"some text\0\0\0 and more", 10, "binary file"),
        ("a.txt", b"\n\r\n\n", 16, "0 documents in 3 lines"),
        ("a.txt", b"", 17, "file is empty"),
        ("a.jsonl", b"", 17, "file is empty"),
        ("a.parquet", b"", 17, "file is empty"),
        ("a.txt.gz", gzip.compress(b"", mtime=0), 17, "file is empty"),
        ("a.jsonl", b"\n \n", 16, "0 documents"),
        ("a.txt.gz", PACKED[: len(PACKED) // 2], 32, "gzip ends early at byte"),
        ("a.txt.gz", WRONG_SUM, 33, "checksum"),
        ("a.txt.gz", PACKED + b"rubbish", 33, "damaged"),
        ("a.txt.gz", gzip.compress(b"a" * 60_000_000, mtime=0), 34, "expands more than"),
        ("a.txt.gz", b"plain text", 35, "name says gzip, content is not"),
        ("a.txt", PACKED, 35, "content is gzip"),
        ("a.txt", ZIP.getvalue(), 37, "zip, not text"),
        ("a.txt", TAR.getvalue(), 37, "tar, not text"),
        ("a.txt.gz", gzip.compress(TAR.getvalue(), mtime=0), 37, "tar"),
        ("a.zip", ZIP.getvalue(), 37, "unpack it first"),
        ("a.parquet", b"PAR1 cut", 38, "footer missing"),
        ("a.jsonl", b'[{"text": "a"}]', 45, "one object per line"),
        ("a.jsonl", b'{"text": "a"}\n{"text": "a", "text": "b"}', 46, "2: key 'text' twice"),
        ("a.csv", b"text,text\na,b\n", 46, "column 'text' twice"),
        ("a.docx", b"x", 50, "no known format"),
        ("a.csv", b"Text,label\na,b\n", 58, "found Text, label (did you mean 'Text'?)"),
        ("a.jsonl", b'{"txt": "a"}', 56, "did you mean 'txt'?"),
        ("a.csv", b'text\n"a\nb\n', 96, "quote opened in line 2 never closes"),
        ("a.csv", b'text\n"a"b\n', 96, "not CSV"),
        ("a.csv", b"text;label\na;b\n", 96, "delimiter ';'?"),
        ("a.csv", b"text\n" + b"x" * (MAX_LINE + 1), 97, "longer than"),
        ("a.csv", b'text\n"' + (b"x" * 999 + b"\n") * (MAX_LINE // 1000 + 1), 97, "larger than"),
    ],
)  # fmt: skip
def test_unusable_files(tmp_path: Path, name: str, content: bytes, code: int, words: str) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(UserError) as raised:
        read(path)
    assert raised.value.code == code
    assert raised.value.exit_code == 65
    message = str(raised.value)
    assert words in message
    assert message.startswith(f"AB-{code:03d} {path}")
    assert message.count("\n") == 1


def test_parquet_cut_and_binary(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", text=["some text"] * 100)
    write(path, path.read_bytes()[:-20])
    with pytest.raises(BadData, match="AB-038"):
        read(path)
    with pytest.raises(BadData, match=r"AB-042 .*column 'text' is binary"):
        read(parquet(tmp_path / "b.parquet", text=[b"bytes"]))
    with pytest.raises(BadData, match=r"AB-042 .*column 'text' is int64"):
        read(parquet(tmp_path / "c.parquet", text=[1]))


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(BadData, match=r"AB-049 .*not a readable regular file"):
        read(tmp_path / "pipe.txt")
    with pytest.raises(BadData, match=r"AB-050 .*no such file"):
        read(tmp_path / "absent.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadData, match=r"AB-050 .*no file in this folder"):
        read(tmp_path / "empty")
    with pytest.raises(BadData, match=r"AB-153 .*\n  write the path out"):
        read(Path("~/posts.txt"))


def test_one_file_under_two_links_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "d" / "a.txt", "text\n")
    (tmp_path / "d" / "b.txt").symlink_to("a.txt")
    with pytest.raises(BadData, match=r"AB-051 .*listed twice"):
        read(tmp_path / "d")


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\ntwo\n")
    rows = Files(path, CORPUS, config()).rows()
    next(rows)
    write(path, "one\ntwo\nthree\n")
    with pytest.raises(BadData, match=r"AB-048 .*changed while reading"):
        list(rows)


def test_all_missing_columns_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(Several) as raised:
        read(write(tmp_path / "a.csv", "a,b\n1,2\n"), CLASS)
    assert [failure.code for failure in raised.value.failures] == [56, 56]
