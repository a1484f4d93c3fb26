"""UTF-8 that is read in a declared encoding is reported once a file; text in that encoding is not."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.collection.readers.garbling import GarblingCheck
from adaptbert.errors import UserError
from tests.support.cells import Project
from tests.support.labelled_files import ANSWER, squad
from tests.support.predicting import CLASS, KINDS, model, run
from tests.support.reading import collect, read, write

CHINESE = ["今天天气很好，我们去公园。", "这部电影不好看", "plain"]
FRENCH = ["Le café était très bon", "À bientôt, garçon", "naïve"]
WIDE = ["gb18030", "gbk", "big5hkscs", "latin-1", "cp1252", "iso8859-15", "cp437", "koi8-r"]


def garbling_warnings(path: Path, **values: str) -> list[tuple[str, int]]:
    """Warnings of garbled text."""
    return [(what, count) for what, count in read(path, **values)[2].warnings.items() if "garbled" in what]


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("lines", [CHINESE, FRENCH], ids=["Chinese", "French"])
def test_utf_8_under_another_name(tmp_path: Path, lines: list[str], encoding: str) -> None:
    path = write(tmp_path / "a.txt", "\n".join(lines))
    ((what, count),) = garbling_warnings(path, encoding=encoding)
    beyond = sum(not line.isascii() for line in lines)
    assert what.startswith("a.txt is read as ")
    assert what.endswith("but 100.0% of its lines beyond ASCII are valid UTF-8: is it garbled? leave the encoding out")
    assert count == beyond
    assert garbling_warnings(path) == []


@pytest.mark.parametrize("encoding", ["gb18030", "gbk", "big5", "utf-16", "utf-8-sig"])
def test_text_that_is_in_it(tmp_path: Path, encoding: str) -> None:
    lines = ["今天天氣很好" if encoding == "big5" else "今天天气很好"] * 30
    assert garbling_warnings(write(tmp_path / "a.txt", "\n".join(lines).encode(encoding)), encoding=encoding) == []


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("耄", "gb18030"),
        ("拢 拢 拢\n" * 50, "gb18030"),
        ("«CAFÉ»\n" * 50, "latin-1"),
        ("plain text\n" * 50, "gb18030"),
        ("日本語のテキスト、長い文章です\n" * 5, "shift_jis"),
        ("한국어 문장입니다, 조금 길게\n" * 5, "euc-kr"),
        ("Привет, мир, как дела\n" * 5, "koi8-r"),
        ("สวัสดีชาวโลก วันนี้อากาศดี\n" * 5, "cp874"),
    ],
)
def test_what_looks_like_it_by_chance(tmp_path: Path, content: str, encoding: str) -> None:
    assert garbling_warnings(write(tmp_path / "a.txt", content.encode(encoding)), encoding=encoding) == []


def test_a_few_damaged_lines_do_not_hide_it(tmp_path: Path) -> None:
    content = "\n".join(CHINESE * 20).encode()
    ((what, _),) = garbling_warnings(write(tmp_path / "a.txt", content + b"\n\xff\xfe\n"), encoding="latin-1")
    assert "97.6%" in what
    assert garbling_warnings(write(tmp_path / "b.txt", content + b"\n\xff\xfe" * 20), encoding="latin-1") == []


def test_every_garbled_file_of_every_format_is_reported(tmp_path: Path) -> None:
    for name in ("a.txt", "b.csv", "c.jsonl"):
        rows = {"a.txt": CHINESE, "b.csv": ["text", *CHINESE]}.get(name)
        content = "\n".join(rows or [json.dumps({"text": text}, ensure_ascii=False) for text in CHINESE])
        write(tmp_path / "set" / name, content)
    assert [what.split()[0] for what, _ in garbling_warnings(tmp_path / "set", encoding="latin-1")] == [
        "a.txt",
        "b.csv",
        "c.jsonl",
    ]
    document = squad({"id": "q", "question": "今天天气很好吗？明天呢？", "answers": []})
    path = write(tmp_path / "d.json", json.dumps(document, ensure_ascii=False))
    assert "garbled" in str(read(path, ANSWER, encoding="latin-1", format="squad")[2].warnings)


def test_it_is_in_the_manifest_without_a_path(tmp_path: Path) -> None:
    manifest = collect(write(tmp_path / "a.txt", "\n".join(CHINESE)), tmp_path / "out", encoding="gb18030")
    (what,) = manifest["warnings"]
    assert "garbled" in what
    assert str(tmp_path) not in what


def test_where_it_cannot_even_be_read(tmp_path: Path) -> None:
    """An encoding with fewer characters: the rows are put aside, and the remedy is the same."""
    path = write(tmp_path / "a.txt", "今天天气很好\n" * 9)
    reasons = {row.problem.reason for row in read(path, encoding="ascii")[1]}
    assert reasons == {"byte 0xE4 at 0 is not ascii, which is declared: UTF-8?"}
    with pytest.raises(UserError, match=r"(?s)AB-018 .*: leave it out where they are UTF-8"):
        collect(path, tmp_path / "out", encoding="ascii")


def test_predict_tells_it(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {CLASS: KINDS[CLASS]}, (16, 8, 8))
    project.finetune(CLASS, "general", seeds=[1], epochs=1.0)
    path = write(tmp_path / "in.txt", "\n".join(CHINESE))
    done = run(model(project, CLASS), path, "-o", tmp_path / "out.jsonl", "--encoding", "latin-1")
    assert (done.exit_code, done.stderr.count("is it garbled? leave the encoding out (2)")) == (0, 1), done.output
    done = run(model(project, CLASS), path, "-o", tmp_path / "out.jsonl")
    assert "garbled" not in done.stderr


@given(st.lists(st.text("的一是在不了有和人这中大为上个国我以要他", min_size=1), min_size=4, max_size=20))
def test_common_chinese_in_gbk_is_none(lines: list[str]) -> None:
    check, warnings = GarblingCheck("a", "gbk"), Counter[str]()
    for line in lines:
        check.add(line.encode("gbk"))
    check.warn(warnings)
    assert not warnings
