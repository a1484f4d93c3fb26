"""Lines and characters of text files: encodings, ends of lines, what is cut, too long or no text."""

import codecs
import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from adaptbert.data.layout import CORPUS
from adaptbert.data.readers.lines import MAX_LINE, read_lines
from adaptbert.data.readers.records import SourceFile
from adaptbert.errors import BadData
from tests.support.labelled_files import CLASS
from tests.support.reading import codes, collect, read, texts, write

# --- lines and characters


def test_lf_cr_and_crlf_end_a_line_and_nothing_else_does(tmp_path: Path) -> None:
    inside = "a\u2028b\u2029c\x85d\x0be\x0cf"
    path = write(tmp_path / "a.txt", f"one\r\ntwo\rthree\n{inside}\r\n\r\nlast")
    assert texts(path) == ["one", "two", "three", inside, "last"]
    assert [row.line for row in read(path)[0]] == [1, 2, 3, 4, 6]


def test_a_crlf_on_the_border_of_two_blocks_is_one_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptbert.data.readers.lines.BLOCK", 4)
    path = write(tmp_path / "a.txt", b"abc\r\ndef\r\rgh\r\n\nlast line")
    lines = list(read_lines(SourceFile(path, "a.txt", CORPUS, {}, list)))
    assert [line.text for line in lines] == ["abc", "def", "", "gh", "", "last line"]
    assert [line.number for line in lines] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("line", "byte"), [(b"caf\xe9 au lait", "E9"), (b"\xc0\xaf", "C0"), (b"\xed\xa0\x80", "ED")])
def test_lines_that_are_not_utf8_are_rejected(tmp_path: Path, line: bytes, byte: str) -> None:
    path = write(tmp_path / "a.txt", b"good\n" + line + b"\nalso good\n")
    rows, bad, _ = read(path)
    assert [row.values["text"] for row in rows] == ["good", "also good"]
    assert [(row.id, row.line, row.problem.code) for row in bad] == [("a-2", 2, 1)]
    assert f"byte 0x{byte} is not UTF-8" in bad[0].problem.reason


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


def test_a_character_cut_at_the_end_of_the_file(tmp_path: Path) -> None:
    assert codes(write(tmp_path / "a.txt", "good\n三".encode()[:-1])) == [6]


def test_a_bad_byte_inside_a_quoted_csv_record_takes_that_record_only(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b'text,n\n"one\nb\xffd",1\ntwo,2\n')
    rows, bad, _ = read(path)
    assert [row.values["text"] for row in rows] == ["two"]
    assert [(row.line, row.problem.code) for row in bad] == [(2, 1)]


def test_byte_order_mark_and_nul_are_stripped_and_counted(tmp_path: Path) -> None:
    body = "x" * 300
    for name, content in (
        ("a.txt", body + "\0"),
        ("a.jsonl", json.dumps({"text": body}) + "\0"),
        ("a.csv", f"text\n{body}\0\n"),
    ):
        rows, _, files = read(write(tmp_path / name, codecs.BOM_UTF8 + content.encode()))
        assert [row.values["text"] for row in rows] == [body], name
        assert files.warnings == {"byte-order marks removed": 1, "NUL bytes removed": 1}


def test_lone_surrogate_escapes_are_rejected(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "ok"}\n{"text": "x\\ud800"}\n{"text": "\\ud83d\\ude00"}\n')
    assert codes(path) == [9]
    assert texts(path) == ["ok", "😀"]
    rows = [{"text": "a", "nr": "x\ud800", "by": "y"}, {"text": "b", "nr": 1, "by": "\udc00"}]
    path = write(tmp_path / "b.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    _, bad, _ = read(path, CLASS, columns={"label": "text", "id": "nr", "group": "by"})
    assert [(row.id, row.problem.code) for row in bad] == [("b-1", 9), ("1", 9)]


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


def test_a_cut_last_line_of_jsonl_is_rejected(tmp_path: Path) -> None:
    rows, bad, _ = read(write(tmp_path / "a.jsonl", '{"text": "a"}\nnonsense\n3\n{"text": "b'))
    assert len(rows) == 1
    assert [(row.line, row.problem.code, "truncated" in row.problem.reason) for row in bad] == [
        (2, 44, False),
        (3, 44, False),
        (4, 44, True),
    ]


def test_deep_json_is_rejected_not_a_traceback(tmp_path: Path) -> None:
    assert codes(write(tmp_path / "a.jsonl", '{"text": "a"}\n{"text": ' + "[" * 100_000 + "\n")) == [44]


def test_multi_member_gzip_is_read_to_its_end(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt.gz", gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert texts(path) == ["one", "two"]
