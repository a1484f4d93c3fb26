"""Names, columns, encodings and patterns that nobody means to give, and what is said of them."""

import encodings
import encodings.aliases
import os
import pkgutil
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.config.schema.sources import Corpus
from adaptbert.data import fields
from adaptbert.data.fields import Fields
from adaptbert.data.layout import CORPUS
from adaptbert.data.read_text import encoding_problem
from adaptbert.data.rows import Row
from adaptbert.data.source_config import contradictions
from adaptbert.errors import BadData, BadParams, UserError
from adaptbert.prediction import outputs
from adaptbert.prediction.inputs import Input, Reader
from adaptbert.prediction.predictor import Predictor
from tests.support import tiny
from tests.support.reading import collect, read, texts, write

LATIN = os.fsdecode(b"caf\xe9")

# --- names of files


@pytest.mark.parametrize("name", [f"{LATIN}.txt", f"{LATIN}/a.txt"])
def test_a_name_that_is_not_utf_8(tmp_path: Path, name: str) -> None:
    write(tmp_path / "texts/a.txt", "one\n")
    write(tmp_path / "texts" / name, "two\n")
    with pytest.raises(BadData, match=r"AB-050 .*/texts/caf\\xe9\S*: the name is not UTF-8\n  rename it") as caught:
        read(tmp_path / "texts")
    str(caught.value).encode()


def test_a_hidden_name_is_not_read_whatever_it_is(tmp_path: Path) -> None:
    write(tmp_path / "texts/a.txt", "one\n")
    write(tmp_path / "texts" / f".{LATIN}", b"\xff")
    assert texts(tmp_path / "texts") == ["one"]


def test_predict_reads_a_file_of_any_name(tmp_path: Path) -> None:
    """The error has its name; no file has."""
    path = write(tmp_path / f"{LATIN}.txt", "one\n")
    source = Input(path, "single_sentence", Reader("single_sentence", {}), None, None)
    assert [row.values for row in source.rows()] == [{"text": "one"}]


def test_predict_and_names_that_libraries_do_not_take(tmp_path: Path) -> None:
    """Arrow and safetensors open none."""
    folder, file = tmp_path / LATIN, write(tmp_path / f"{LATIN}.parquet", b"PAR1")
    tiny.pretrained(tmp_path / "plain")
    (tmp_path / "plain").rename(folder)
    uses: list[Callable[[], object]] = [
        lambda: Predictor.load(folder),
        lambda: outputs.check(file, tmp_path / "in.jsonl"),
        lambda: Input(file, "single_sentence", Reader("single_sentence", {}), None, None),
    ]
    for use in uses:
        with pytest.raises(BadData, match=r"AB-050 .*caf\\xe9\S*: the name is not UTF-8"):
            use()


# --- columns of Parquet


def twice(path: Path, name: str) -> Path:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"]), pa.array(["c"])], [name, "text", name])
    pq.write_table(table, path)
    return path


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    path = twice(tmp_path / "a.parquet", "text")
    with pytest.raises(BadData, match=r"AB-056 .*a.parquet: column 'text' twice\n  rename one of the two"):
        read(path)
    with pytest.raises(BadData, match=r"AB-056 .*: column 'text' twice"):
        list(Input(path, "single_sentence", Reader("single_sentence", {}), None, None).rows())
    assert texts(twice(tmp_path / "b.parquet", "other")) == ["b"], "nobody reads these"


def test_two_fields_of_one_name_inside_a_column(tmp_path: Path) -> None:
    answer = pa.StructArray.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"])
    pq.write_table(pa.table({"text": ["a"], "id": answer}), tmp_path / "a.parquet")
    with pytest.raises(UserError):
        read(tmp_path / "a.parquet", columns={"id": "id"})


# --- encodings


REFUSED = """punycode idna rot13 base64 hex undefined raw_unicode_escape unicode_escape utf-7 hz iso2022_kr cp037
charmap é utf\0 unknown"""


@pytest.mark.parametrize("name", [*REFUSED.split(), ""])
def test_an_encoding_that_no_text_file_is_in(tmp_path: Path, name: str) -> None:
    (refusal,) = contradictions(Corpus(path="a.txt", encoding=name))
    assert f"encoding '{name}'" in str(refusal) or "encoding ''" in str(refusal)
    assert re.match("write e.g. gb18030, big5, .*leave it out for", refusal.remedy)
    path = write(tmp_path / "a.txt", "a\n")
    if name:
        with pytest.raises(BadParams, match="AB-111 --encoding: "):
            Input(path, "single_sentence", Reader("single_sentence", {}), None, name)


def test_every_codec_of_python_is_read_or_refused(tmp_path: Path) -> None:
    """Lines of an allowed one come back as they were written."""
    modules = {module.name for module in pkgutil.iter_modules(encodings.__path__)} - {"aliases"}
    for name in sorted(modules | set(encodings.aliases.aliases)):
        for lines in (["alpha", "beta, gamma"], ["日本", "語"], ["Привет"], ["한국"], ["né"], ["สวัสดี"]):
            with suppress(UnicodeEncodeError):
                if encoding_problem(name) is None:
                    path = write(tmp_path / "a.txt", "\n".join(lines).encode(name))
                    assert texts(path, encoding=name) == lines, name


def test_common_aliases_are_known() -> None:
    names = "GBK gb2312 GB18030 cp936 big5 Big5-HKSCS sjis euc-jp euc-kr cp949 koi8-r windows-1251 windows-1252 latin-1"
    names += " ISO-8859-15 ascii UTF8 utf-8-sig utf-16 UTF-16LE"
    assert [name for name in names.split() if encoding_problem(name)] == []


# --- patterns


ENDLESS = [(r"(a|a)*$", "a" * 40 + "!"), (r"(a|aa)+b", "a" * 120)]


@pytest.mark.parametrize(("pattern", "text"), ENDLESS)
def test_a_pattern_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, text: str) -> None:
    monkeypatch.setattr(fields, "SECONDS", 0.2)
    path = write(tmp_path / "a.txt", f"short\n{text}\n")
    began = time.monotonic()
    with pytest.raises(BadData) as caught:
        read(path, replace=[[pattern, ""]])
    message = f"AB-191 {path}:2: replace: '{pattern}' does not come to an end in 0.2 seconds\n  write the pattern"
    assert str(caught.value).startswith(message)
    assert text not in str(caught.value)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("pattern", "replacement", "words"),
    [
        ("(", "", "unterminated subpattern at position 0"),
        ("a{2", "", None),
        ("[z-a]", "", "bad character range z-a at position 1"),
        ("(a)", r"\2", "invalid group reference 2 at position 1"),
        ("a{99999999999}", "", "repetition number is too large"),
        ("(?P<x>a)(?P<x>b)", "", "redefinition of group name 'x'"),
        ("(?L)a", "", "cannot use 'L' flag"),
        ("(" * 5_000, "", "replace: "),
    ],
)
def test_a_pattern_that_is_none(pattern: str, replacement: str, words: str | None) -> None:
    found = list(contradictions(Corpus(path="a.txt", replace=[[pattern, replacement]])))
    if words is None:
        assert found == []
        return
    assert words in str(found[0])
    assert found[0].remedy == "mend the regular expression"


USUAL = [
    (r"@\S+", "@user"), (r"https?://\S+", "URL"), (r"\s+", " "), (r"(\w)\1{2,}", r"\1\1"), (r"^\W+|\W+$", ""),
    (r"(?i)rt\b:?", ""), (r"#(\w+)#", r"\g<1>"), (r"(?P<a>\d+)-(?P<b>\d+)", r"\g<b>-\g<a>"), (r"[^\u4e00-\u9fff]", ""),
    (r"\b", "|"), (r"x*", "-"), (r"(?<=a)b|b(?!c)", "B"), (r".$", "!"), (r"(?s:a.b)|(?m:^c)", ""),
    (r"(a)?b(?(1)c|d)", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pairs", "text"), [([["", "xxxxxxxx"]] * 50, "a" * 1000), ([["(.)", r"\1" * 20]], "a" * 2000)]
)
def test_a_text_that_grows_and_grows(pairs: list[list[str]], text: str) -> None:
    longest = 10 * len(text) + 10_000
    with pytest.raises(BadData) as caught:
        Fields(CORPUS, None, pairs).replaced(text, "posts.txt:7")
    problem = str(caught.value)
    assert problem.startswith(f"AB-191 posts.txt:7: replace: '{pairs[0][0]}' -> '{pairs[0][1]}' makes more than ")
    assert f"{longest:,} characters of a text of {len(text):,}\n  a text may grow to 10 times" in problem


def test_each_character_may_be_spelled_out() -> None:
    assert (
        Fields(CORPUS, None, [["猫", "zhuang "], [r"(\w) ", r"\1_ "]]).replaced("猫" * 50_000, "x")
        == "zhuang_ " * 50_000
    )
    assert (
        Fields(CORPUS, None, [[":\\)", " smiling face with smiling eyes "]])
        .replaced(":)" * 300, "x")
        .count("smiling face")
        == 300
    )


@given(st.text(alphabet="ab c1-2.\n@#:/RTrtx好猫éß", max_size=20), st.sampled_from(USUAL))
def test_patterns_mean_what_they_mean_to_python(text: str, pair: tuple[str, str]) -> None:
    assert Fields(CORPUS, None, [pair]).replaced(text, "here") == re.sub(*pair, text)


def test_replaced_texts_are_collected(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "@ann said a thing\n")
    assert texts(path, replace=[[r"@\S+", "@user"]]) == ["@user said a thing"]
    assert collect(path, tmp_path / "out", replace=[["thing", "word"]])["rows"] == 1
    assert Fields(CORPUS, {}, [["a", "b"]]).read(Row("1", "x", 1, {"text": "a"}), "x").values == {"text": "b"}
