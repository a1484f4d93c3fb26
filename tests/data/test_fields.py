"""Patterns of `replace`: what is no pattern, what never ends, what grows, and that the rest means what Python means."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.config.schema.sources import Corpus
from adaptbert.data import fields
from adaptbert.data.fields import Fields
from adaptbert.data.layout import CORPUS
from adaptbert.data.source_config import contradictions
from adaptbert.errors import BadData
from tests.support.reading import read, texts, write

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
    refused = list(contradictions(Corpus(path="a.txt", replace=[[pattern, replacement]])))
    if words is None:
        assert refused == []
        return
    assert words in str(refused[0])
    assert refused[0].remedy == "mend the regular expression"


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
    spelled = Fields(CORPUS, None, [["猫", "zhuang "], [r"(\w) ", r"\1_ "]]).replaced("猫" * 50_000, "x")
    assert spelled == "zhuang_ " * 50_000
    smiling = Fields(CORPUS, None, [[":\\)", " smiling face with smiling eyes "]]).replaced(":)" * 300, "x")
    assert smiling.count("smiling face") == 300


@given(st.text(alphabet="ab c1-2.\n@#:/RTrtx好猫éß", max_size=20), st.sampled_from(USUAL))
def test_patterns_mean_what_they_mean_to_python(text: str, pair: tuple[str, str]) -> None:
    assert Fields(CORPUS, None, [pair]).replaced(text, "here") == re.sub(*pair, text)


def test_replaced_texts_are_collected(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "@ann said a thing\n")
    assert texts(path, replace=[[r"@\S+", "@user"]]) == ["@user said a thing"]
