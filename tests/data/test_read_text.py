"""Text files: encodings, ends of lines, what is too long or no text; names of files that nobody means."""

import gzip
import json
import os
import re
import tracemalloc
from pathlib import Path

import pytest

from adaptbert.config.schema.sources import Corpus
from adaptbert.data.layout import CORPUS
from adaptbert.data.read_text import MAX_LINE, beginning, read_lines
from adaptbert.data.rows import SourceFile
from adaptbert.data.source_config import contradictions
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData, BadParams
from adaptbert.prediction.inputs import Input, Reader
from tests.support.peak import peak
from tests.support.reading import SPANS, collect, read, texts, write

LATIN = os.fsdecode(b"caf\xe9")

# --- lines and characters


def test_a_crlf_on_the_border_of_two_blocks_is_one_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptbert.data.read_text.BLOCK", 4)
    path = write(tmp_path / "a.txt", b"abc\r\ndef\r\rgh\r\n\nlast line")
    lines = list(read_lines(SourceFile(path, "a.txt", CORPUS, {}, list)))
    assert [line.text for line in lines] == ["abc", "def", "", "gh", "", "last line"]
    assert [line.number for line in lines] == [1, 2, 3, 4, 5, 6]


def test_the_beginning_has_the_line_ends_that_are_read(tmp_path: Path) -> None:
    """Else a blank line would follow every line, as in CoNLL."""
    for content, expected in (("\ufeffa b\r\r\nc d\r\r\n", "a b\nc d\n"), ("a\r\r\nb\n", "a\r\r\nb\n")):
        path = write(tmp_path / "a.txt", content)
        assert beginning(SourceFile(path, "a.txt", CORPUS, {}, list)) == expected


@pytest.mark.parametrize("name", ["a.txt.gz", "a.csv.gz", "a.tsv.gz", "a.jsonl.gz", "a.conll.gz"])
def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A few bytes of gzip may be a line of gigabytes."""
    monkeypatch.setattr("adaptbert.data.read_text.MAX_LINE", 1 << 16)
    path = write(tmp_path / name, gzip.compress(b"x" * (1 << 28), 1))
    layout = SPANS if "conll" in name else CORPUS

    def reading() -> None:
        with pytest.raises(BadData, match=rf"AB-022 .*{name}:1: line longer than 655,360 characters\n  end the line"):
            read(path, layout, "train" if layout == SPANS else "")

    assert peak(reading) < 20 << 20


LIKELY = {
    "gb18030": "味道很好，下次还会再来的\n送得太慢了，等了一个小时\n",
    "big5": "今天天氣很好，我們去公園散步\n味道很好，下次還會再來\n",
    "cp1252": "“Le café était très bon”\nÀ bientôt, garçon naïve, déjà vu, ça va, après\n",
    "koi8-r": "Привет, мир, как дела\n",
    "cp932": "日本語のテキスト、長い文章です\n",
}
DECLARE = "declare the `encoding` that all files of the set have"


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.jsonl"])
@pytest.mark.parametrize("encoding", LIKELY)
def test_the_likely_encoding_is_named(tmp_path: Path, name: str, encoding: str) -> None:
    with pytest.raises(BadData, match=rf"AB-0(01|18) .*is not UTF-8: {encoding}\?.*\n  {DECLARE}$"):
        collect(write(tmp_path / name, (LIKELY[encoding] * 4).encode(encoding)), tmp_path / "raw")


@pytest.mark.parametrize(
    ("content", "message"),
    [("你好\n".encode("gbk"), f"0 of 1 documents left: 1 x byte 0xC4 is not UTF-8\n  {DECLARE}$"),
     (b"text\n", "0 documents\n  name a source with text")],
)  # fmt: skip
def test_a_short_line_tells_no_encoding_and_a_header_alone_is_no_text(
    tmp_path: Path, content: bytes, message: str
) -> None:
    name = "a.csv" if content.isascii() else "a.txt"
    with pytest.raises(BadData, match=f"AB-018 .*: {message}"):
        collect(write(tmp_path / name, content), tmp_path / "raw")


@pytest.mark.parametrize(("encoding", "hint"), [("ascii", r": utf-8\?"), ("utf-16", "")])
def test_a_file_that_is_not_in_the_declared_encoding(tmp_path: Path, encoding: str, hint: str) -> None:
    odd = LIKELY["gb18030"].encode()
    with pytest.raises(BadData, match=rf"not {encoding}, which is declared{hint}\n  {DECLARE}"):
        collect(write(tmp_path / "a.txt", odd), tmp_path / "raw", encoding=encoding)


@pytest.mark.parametrize("name", ["a.txt", "a.json"])
@pytest.mark.parametrize("encoding", ["gb18030", "latin-1"])
def test_utf_8_under_another_name_is_a_warning(tmp_path: Path, name: str, encoding: str) -> None:
    """Most encodings decode any bytes without an error."""
    content = json.dumps({"text": LIKELY["gb18030"]}, ensure_ascii=False)
    _, _, files = read(write(tmp_path / name, content), encoding=encoding)
    (what,) = (what for what in files.warnings if "UTF-8" in what)
    assert what.startswith(f"{name} is read as ")
    assert what.endswith(", but is UTF-8: leave the encoding out")
    for text, own in (("plain text", encoding), ("拢 拢 拢\n" * 50, "gb18030"), ("今天天气很好\n" * 30, "gb18030")):
        assert not read(write(tmp_path / "b.txt", text.encode(own)), encoding=own)[2].warnings


def test_a_line_of_100_mb_is_rejected_in_flat_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.write(b"first\n")
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"\nlast\n")
    tracemalloc.start()
    rows, bad, _ = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [row.values["text"] for row in rows] == ["first", "last"]
    assert [(row.line, row.problem.code) for row in bad] == [(2, 22)]
    assert peak < 6 * MAX_LINE


# --- encodings


@pytest.mark.parametrize("name", ["rot13", "utf\0", "unknown", ""])
def test_an_encoding_that_no_text_file_is_in(tmp_path: Path, name: str) -> None:
    (refusal,) = contradictions(Corpus(path="a.txt", encoding=name))
    assert f"encoding '{name}' is none that Python reads text in" in str(refusal)
    assert re.match("write e.g. gb18030, big5, .*leave it out for", refusal.remedy)
    path = write(tmp_path / "a.txt", "a\n")
    if name:
        with pytest.raises(BadParams, match="AB-111 --encoding: "):
            Input(path, Reader(TaskDescription(type="text-classification", labels=[]), {}), None, name)


# --- names of files


@pytest.mark.parametrize("name", [f"{LATIN}.txt", f"{LATIN}/a.txt"])
def test_a_name_that_is_not_utf_8(tmp_path: Path, name: str) -> None:
    write(tmp_path / "texts/a.txt", "one\n")
    write(tmp_path / "texts" / f".{LATIN}", b"\xff")  # hidden: not read, whatever its name
    assert texts(tmp_path / "texts") == ["one"]
    write(tmp_path / "texts" / name, "two\n")
    with pytest.raises(BadData, match=r"AB-050 .*/texts/caf\\xe9\S*: the name is not UTF-8\n  rename it") as caught:
        read(tmp_path / "texts")
    str(caught.value).encode()
