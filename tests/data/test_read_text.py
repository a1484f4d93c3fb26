"""Lines and characters of text files: encodings, ends of lines, what is cut, too long or no text."""

import json
import tracemalloc
from pathlib import Path

import pytest

from adaptbert.data.layout import CORPUS
from adaptbert.data.read_text import MAX_LINE, read_lines
from adaptbert.data.rows import SourceFile
from adaptbert.errors import BadData
from tests.support.reading import collect, read, write

# --- lines and characters


def test_a_crlf_on_the_border_of_two_blocks_is_one_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptbert.data.read_text.BLOCK", 4)
    path = write(tmp_path / "a.txt", b"abc\r\ndef\r\rgh\r\n\nlast line")
    lines = list(read_lines(SourceFile(path, "a.txt", CORPUS, {}, list)))
    assert [line.text for line in lines] == ["abc", "def", "", "gh", "", "last line"]
    assert [line.number for line in lines] == [1, 2, 3, 4, 5, 6]


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


def test_a_short_line_tells_no_encoding(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=rf"AB-018 .*: 1 x byte 0xC4 is not UTF-8\n  {DECLARE}$"):
        collect(write(tmp_path / "a.txt", "你好\n".encode("gbk")), tmp_path / "raw")


@pytest.mark.parametrize(("encoding", "hint"), [("ascii", r": utf-8\?"), ("utf-16", "")])
def test_a_file_that_is_not_in_the_declared_encoding(tmp_path: Path, encoding: str, hint: str) -> None:
    odd = LIKELY["gb18030"].encode()
    with pytest.raises(BadData, match=rf"not {encoding}.*, which is declared{hint}\n  {DECLARE}"):
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


@pytest.mark.parametrize(
    ("name", "content", "reasons"),
    [
        ("a.txt", b"caf\xe9\n\xc0\xaf\nx\n", ["byte 0xE9 is not UTF-8", "byte 0xC0 is not UTF-8"]),
        ("a.txt", "x\n三".encode()[:-1], ["byte 0xE4 is not UTF-8"]),
        ("a.jsonl", b'3\n{"text": "b', ["not a JSON object"] * 2),
        ("a.csv", b"text,n\na\n", ["expected 2 columns, found 1"]),
        ("a.jsonl", b'{"text": null}\n{"text": 1}\n', ["text is null", "column 'text' is integer, expected text"]),
        ("a.jsonl", b'{"text": "\\ud800"}\n', ["lone surrogate escape in field 'text'"]),
    ],
)
def test_what_is_said_of_a_row(tmp_path: Path, name: str, content: bytes, reasons: list[str]) -> None:
    _, bad, _ = read(write(tmp_path / name, content))
    assert [row.problem.reason for row in bad if row.problem] == reasons
