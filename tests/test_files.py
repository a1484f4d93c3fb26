"""Reading the user's own files: what is accepted, what is put aside, what stops with a numbered error."""

import codecs
import gzip
import io
import json
import os
import re
import tarfile
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.corpora.files import Files
from adaptbert.corpora.labelled import LabelledSet
from adaptbert.corpora.lines import MAX_LINE, read_lines
from adaptbert.corpora.raw import RawWriter
from adaptbert.corpora.rows import Row, Unreadable
from adaptbert.corpora.sources import SourceConfig
from adaptbert.errors import BadData, Several, UserError
from adaptbert.layout import CORPUS, Layout
from tests.raw import CLASS, SPANS


def config(**values: Any) -> SourceConfig:
    return SourceConfig.model_validate({"source": "files", **values})


def read(path: Path, layout: Layout = CORPUS, **values: Any) -> tuple[list[Row], list[Unreadable], Files]:
    files = Files(path, layout, config(**values))
    found = list(files.rows())
    return [row for row in found if isinstance(row, Row)], [row for row in found if isinstance(row, Unreadable)], files


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def texts(path: Path, **values: Any) -> list[str]:
    return [row.values["text"] for row in read(path, **values)[0]]


def codes(path: Path, **values: Any) -> list[int]:
    return [row.problem.code for row in read(path, **values)[1]]


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


# --- formats


def test_every_format_gives_the_same_texts(tmp_path: Path) -> None:
    wanted = ["one, two", 'say "x"', "三"]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in wanted)
    made = [
        write(tmp_path / "a.txt", "\n".join(wanted)),
        write(tmp_path / "a.csv", 'text,n\n"one, two",1\n"say ""x""",2\n三,3\n'),
        write(tmp_path / "a.tsv", 'n\ttext\n1\tone, two\n2\tsay "x"\n3\t三\n'),
        write(tmp_path / "a.jsonl", lines),
        write(tmp_path / "a.json", lines),
        write(tmp_path / "a.jsonl.gz", gzip.compress(lines.encode())),
        parquet(tmp_path / "a.parquet", text=wanted, n=[1, 2, 3]),
    ]
    for path in made:
        assert texts(path) == wanted, path.name


def test_rows_are_named_after_file_and_line(tmp_path: Path) -> None:
    rows, _, _ = read(write(tmp_path / "posts.csv", 'text\none\n"two\nlines"\nthree\n'))
    assert [(row.id, row.file, row.line) for row in rows] == [
        ("posts-2", "posts.csv", 2),
        ("posts-3", "posts.csv", 3),
        ("posts-5", "posts.csv", 5),
    ]
    rows, _, _ = read(parquet(tmp_path / "p.parquet", text=["a", "b"]))
    assert [(row.id, row.line) for row in rows] == [("p-1", 1), ("p-2", 2)]


def test_mapped_columns_and_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"nr": 7, "content": "x", "more": 1}\n{"nr": null, "content": "y"}\n')
    rows, bad, files = read(path, columns={"id": "nr", "text": "content"})
    assert [(row.id, row.values) for row in rows] == [("7", {"text": "x"})]
    assert [(row.id, row.line, row.problem.code) for row in bad] == [("a-2", 2, 56)]
    assert "more" in " ".join(files.warnings)


@pytest.mark.parametrize("mapped", [True, False])
def test_an_id_that_is_not_mapped_is_told(tmp_path: Path, *, mapped: bool) -> None:
    """Ids may come twice, and the rows that are held out hang on them: nobody's rows are renamed in silence."""
    path = write(tmp_path / "a.csv", "id,text,by\np-1,one,x\n")
    rows, _, files = read(path, columns={"id": "id"} if mapped else None)
    assert [row.id for row in rows] == (["p-1"] if mapped else ["a-2"])
    (warning,) = files.warnings
    assert warning.startswith("files with columns that are not read: " + ("by" if mapped else "id, by ("))
    assert ("`columns: {id: id}`" in warning) is not mapped


def test_nothing_is_converted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,label\nNA,007\nnull,None\n")
    rows, bad, _ = read(path, CLASS)
    assert [row.values for row in rows] == [{"text": "NA", "label": "007"}, {"text": "null", "label": "None"}]
    assert not bad


def test_integer_labels_become_text_and_missing_ones_are_put_aside(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "a", "label": 1}\n{"text": "b", "label": null}\n')
    rows, bad, _ = read(path, CLASS)
    assert rows[0].values == {"text": "a", "label": "1"}
    assert [row.problem.code for row in bad] == [62]


def test_tokens_and_tags(tmp_path: Path) -> None:
    lines = [
        {"tokens": ["a", "b"], "tags": ["O", "B-X"]},
        {"tokens": ["a", "b"], "tags": ["O"]},
        {"tokens": ["a", 1], "tags": ["O", "O"]},
    ]
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)))
    rows, bad, _ = read(path, SPANS)
    assert rows[0].values == lines[0]
    assert [row.problem.code for row in bad] == [88, 65]
    with pytest.raises(BadData, match=r"AB-080 .*text where a list is expected"):
        read(write(tmp_path / "b.csv", "tokens,tags\na b,O O\n"), SPANS)


def test_replace_is_applied_to_the_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "hello @some_name and @other!\n")
    assert texts(path, replace=[[r"@\w+", "@user"], [r"!$", "."]]) == ["hello @user and @user."]


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path / "d" / "b.txt", "two\n")
    write(tmp_path / "d" / "a" / "x.txt", "one\n")
    write(tmp_path / "d" / "c.jsonl", '{"text": "three"}')
    write(tmp_path / "d" / ".hidden", "no")
    write(tmp_path / "d" / "b.txt.dvc", "no")
    rows, _, files = read(tmp_path / "d")
    assert [(row.id, row.values["text"]) for row in rows] == [
        ("a/x.txt-1", "one"),
        ("b.txt-1", "two"),
        ("c.jsonl-1", "three"),
    ]
    assert list(files.provenance()["files"]) == ["a/x.txt", "b.txt", "c.jsonl"]


def test_equal_bytes_under_two_names_are_read_once(tmp_path: Path) -> None:
    write(tmp_path / "d" / "a.txt", "same\n")
    write(tmp_path / "d" / "b.txt", "same\n")
    rows, _, files = read(tmp_path / "d")
    assert len(rows) == 1
    assert files.warnings == {"b.txt has the bytes of a.txt: read once": 1}


# --- lines and characters


def test_lf_cr_and_crlf_end_a_line_and_nothing_else_does(tmp_path: Path) -> None:
    inside = "a\u2028b\u2029c\x85d\x0be\x0cf"
    path = write(tmp_path / "a.txt", f"one\r\ntwo\rthree\n{inside}\r\n\r\nlast")
    assert texts(path) == ["one", "two", "three", inside, "last"]
    assert [row.line for row in read(path)[0]] == [1, 2, 3, 4, 6]


def test_a_crlf_on_the_border_of_two_blocks_is_one_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptbert.corpora.lines.BLOCK", 4)
    path = write(tmp_path / "a.txt", b"abc\r\ndef\r\rgh\r\n\nlast line")
    lines = list(read_lines(path, "a.txt", None, Files(path, CORPUS, config()).warnings))
    assert [line.text for line in lines] == ["abc", "def", "", "gh", "", "last line"]
    assert [line.number for line in lines] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("line", "code", "reason"),
    [
        (b"caf\xe9 au lait", 1, "byte 0xE9 is not UTF-8"),
        (b"\x93quoted\x94", 5, "Windows-1252"),
        (b"\xc0\xaf", 7, "overlong"),
        (b"\xe0\x80\xaf", 7, "overlong"),
        (b"\xed\xa0\x80", 8, "surrogate encoded"),
    ],
)
def test_lines_that_are_not_utf8_are_put_aside(tmp_path: Path, line: bytes, code: int, reason: str) -> None:
    path = write(tmp_path / "a.txt", b"good\n" + line + b"\nalso good\n")
    rows, bad, _ = read(path)
    assert [row.values["text"] for row in rows] == ["good", "also good"]
    assert [(row.id, row.line, row.problem.code) for row in bad] == [("a-2", 2, code)]
    assert reason in bad[0].problem.reason


MOODS = "正文,label\n味道很好,pos\n送得太慢,neg\n"
POSTS = "味道很好\n送得太慢\n"


@pytest.mark.parametrize(("name", "content"), [("a.csv", MOODS), ("a.txt", POSTS), ("a.jsonl", POSTS)])
def test_the_encoding_of_chinese_is_named(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(BadData, match=r"AB-0(01|18) .*is not UTF-8: Chinese in GBK\?.*; declare encoding: gb18030$"):
        collect(write(tmp_path / name, content.encode("gbk")), tmp_path / "raw")


@pytest.mark.parametrize("encoding", ["gbk", "utf-16"])
def test_a_file_that_is_not_in_the_declared_encoding(tmp_path: Path, encoding: str) -> None:
    """It is declared already: what is told is that all files of a set share it."""
    odd = "送得太慢了\n".encode()
    with pytest.raises(BadData, match=rf"not {encoding}.*, which is declared; the encoding is one for"):
        collect(write(tmp_path / "a.txt", odd), tmp_path / "raw", encoding=encoding)


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


@pytest.mark.parametrize("encoding", ["gb18030", "big5", "cp1252", "utf-16", "utf-16-le", "utf-32", "UTF-8"])
def test_declared_encodings(tmp_path: Path, encoding: str) -> None:
    wanted = ["“naïve”", "last"] if encoding == "cp1252" else ["三字\u3000經", "last"]
    path = write(tmp_path / "a.txt", "\n".join(wanted).encode(encoding))
    assert texts(path, encoding=encoding) == wanted


def test_lone_surrogate_escapes_are_put_aside(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "ok"}\n{"text": "x\\ud800"}\n{"text": "\\ud83d\\ude00"}\n')
    assert codes(path) == [9]
    assert texts(path) == ["ok", "😀"]
    rows = [{"text": "a", "nr": "x\ud800", "by": "y"}, {"text": "b", "nr": 1, "by": "\udc00"}]
    path = write(tmp_path / "b.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    _, bad, _ = read(path, CLASS, columns={"label": "text", "id": "nr", "group": "by"})
    assert [(row.id, row.problem.code) for row in bad] == [("b-1", 9), ("1", 9)]


def test_a_line_of_100_mb_is_put_aside_in_flat_memory(tmp_path: Path) -> None:
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


def test_a_cut_last_line_of_jsonl_is_put_aside(tmp_path: Path) -> None:
    rows, bad, _ = read(write(tmp_path / "a.jsonl", '{"text": "a"}\nnonsense\n3\n{"text": "b'))
    assert len(rows) == 1
    assert [(row.line, row.problem.code, "truncated" in row.problem.reason) for row in bad] == [
        (2, 44, False),
        (3, 44, False),
        (4, 44, True),
    ]


def test_deep_json_is_put_aside_not_a_traceback(tmp_path: Path) -> None:
    assert codes(write(tmp_path / "a.jsonl", '{"text": "a"}\n{"text": ' + "[" * 100_000 + "\n")) == [44]


def test_multi_member_gzip_is_read_to_its_end(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt.gz", gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert texts(path) == ["one", "two"]


# --- Parquet


def test_parquet_nulls_dictionaries_and_large_strings(tmp_path: Path) -> None:
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        column = pa.array(["a", None, "b"], pa.string()).cast(kind)
        rows, bad, _ = read(parquet(tmp_path / "a.parquet", text=column))
        assert [row.values["text"] for row in rows] == ["a", "b"], kind
        assert [(row.line, row.problem.code) for row in bad] == [(2, 41)]


def test_parquet_string_that_is_not_utf8(tmp_path: Path) -> None:
    column = pa.array([b"good", b"b\xffd"], pa.binary()).view(pa.string())
    rows, bad, _ = read(parquet(tmp_path / "a.parquet", text=column))
    assert [row.values["text"] for row in rows] == ["good"]
    assert [(row.line, row.problem.code) for row in bad] == [(2, 1)]


def test_parquet_parts_that_do_not_agree(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    parquet(tmp_path / "d" / "a.parquet", text=["x"], label=["1"])
    parquet(tmp_path / "d" / "b.parquet", text=["y"], label=[1])
    with pytest.raises(BadData, match=r"AB-039 .*column 'label': string in a.parquet, int64 in b.parquet"):
        read(tmp_path / "d", CLASS)
    parquet(tmp_path / "d" / "b.parquet", body=["y"], label=["1"])
    with pytest.raises(BadData, match=r"AB-040 .*b.parquet.*column 'text' missing; found body, label"):
        read(tmp_path / "d", CLASS)


# --- what stops

ZIP = io.BytesIO()
with zipfile.ZipFile(ZIP, "w") as archive:
    archive.writestr("a.txt", "text")
TAR = io.BytesIO()
with tarfile.open(fileobj=TAR, mode="w") as tar_archive:
    tar_archive.addfile(tarfile.TarInfo("a.txt"), io.BytesIO(b""))
MANY = "".join(f"line {number}\n" for number in range(20_000)).encode()
PACKED = gzip.compress(MANY)
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
        ("a.txt.gz", gzip.compress(b""), 17, "file is empty"),
        ("a.jsonl", b"\n \n", 16, "0 documents"),
        ("a.txt.gz", PACKED[: len(PACKED) // 2], 32, "gzip ends early at byte"),
        ("a.txt.gz", WRONG_SUM, 33, "checksum"),
        ("a.txt.gz", PACKED + b"rubbish", 33, "damaged"),
        ("a.txt.gz", gzip.compress(b"a" * 60_000_000), 34, "expands more than"),
        ("a.txt.gz", b"plain text", 35, "name says gzip, content is not"),
        ("a.txt", PACKED, 35, "content is gzip"),
        ("a.txt", ZIP.getvalue(), 37, "zip, not text"),
        ("a.txt", TAR.getvalue(), 37, "tar, not text"),
        ("a.txt.gz", gzip.compress(TAR.getvalue()), 37, "tar"),
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
    assert "\n" not in message


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
    with pytest.raises(BadData, match=r"AB-153 .*write the path out"):
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


def test_all_missing_columns_are_told_together(tmp_path: Path) -> None:
    with pytest.raises(Several) as raised:
        read(write(tmp_path / "a.csv", "a,b\n1,2\n"), CLASS)
    assert [failure.code for failure in raised.value.failures] == [56, 56]


# --- labelled sets


def splits(folder: Path, **contents: str) -> dict[str, Path]:
    return {split: write(folder / f"{split}.jsonl", content) for split, content in contents.items()}


def labelled(paths: dict[str, Path]) -> LabelledSet:
    return LabelledSet(paths, CLASS, config(), None, {})


def test_labels_of_mixed_types_are_refused_across_splits(tmp_path: Path) -> None:
    row = '{"text": "%s", "label": %s}\n'
    paths = splits(tmp_path, train=row % ("a", 1), dev=row % ("b", '"1"'), test=row % ("c", 1))
    made = labelled(paths)
    assert [row.id for row in made.rows("train")] == ["train-1"]
    with pytest.raises(BadData, match=r"AB-065 .*mixed types: .*integer.*text"):
        list(made.rows("dev"))
    for label in ("1.0", "[1]"):
        with pytest.raises(BadData, match="AB-065"):
            read(write(tmp_path / "x.jsonl", row % ("a", label)), CLASS)


def test_two_splits_with_the_same_bytes_are_refused(tmp_path: Path) -> None:
    row = '{"text": "a", "label": 1}\n'
    with pytest.raises(BadData, match=r"AB-051 .*test.jsonl has the bytes of train: train.jsonl"):
        labelled(splits(tmp_path, train=row, dev=row * 2, test=row))


# --- the raw folder


def collect(path: Path, out: Path, **values: Any) -> dict[str, Any]:
    files = Files(path, CORPUS, config(**values))
    out.mkdir()
    with RawWriter(out, CORPUS, files.config.max_bad_fraction) as writer:
        writer.write(files.rows(), "text", path)
        return writer.finish(files.provenance(), files.warnings)


def test_rows_in_are_rows_and_unreadable(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"one\nb\xe9d\nthree\n")
    manifest = collect(path, tmp_path / "out")
    kept = pq.read_table(tmp_path / "out" / "text.parquet").to_pylist()
    assert kept == [
        {"id": "a-1", "text": "one", "file": "a.txt", "line": 1},
        {"id": "a-3", "text": "three", "file": "a.txt", "line": 3},
    ]
    bad = pq.read_table(tmp_path / "out" / "unreadable.parquet").to_pylist()
    assert bad == [{"id": "a-2", "file": "a.txt", "line": 2, "code": 1, "reason": "byte 0xE9 is not UTF-8"}]
    assert (manifest["rows"], manifest["rows_in"], manifest["characters"]) == (2, 3, 8)
    assert re.fullmatch("[0-9a-f]{64}", manifest["digest"])
    assert manifest == json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))


def test_equal_input_gives_equal_bytes_and_another_byte_another_digest(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", MANY)
    first, second = collect(path, tmp_path / "1"), collect(path, tmp_path / "2")
    assert first == second
    for name in ("text.parquet", "unreadable.parquet", "manifest.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    write(path, MANY.replace(b"line 7\n", b"line x\n"))
    assert collect(path, tmp_path / "3")["digest"] != first["digest"]


def test_too_many_bad_rows_stop_with_a_hint(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "grüße\nähnlich\nplain\n".encode("latin-1"))
    with pytest.raises(BadData, match=r"AB-001 .*2 of 3 rows cannot be read .*declare the `encoding`"):
        collect(path, tmp_path / "out", max_bad_fraction=0.5)
    assert collect(path, tmp_path / "out2", max_bad_fraction=0.7)["rows"] == 1
    write(path, "grüße\nähnlich\n".encode("latin-1"))
    with pytest.raises(BadData, match=r"AB-018 .*0 of 2 documents left: 1 x byte 0xFC"):
        collect(path, tmp_path / "out3")
