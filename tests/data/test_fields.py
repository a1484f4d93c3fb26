"""Patterns of `replace`: what is no pattern, what never ends, what grows, and that the rest means what Python means."""

import re
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
from tests.support.reading import read, write

ENDLESS = [(r"(a|a)*$", "a" * 40 + "!"), (r"(a|aa)+b", "a" * 120)]


@pytest.mark.parametrize(("pattern", "text"), ENDLESS)
def test_a_pattern_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, text: str) -> None:
    monkeypatch.setattr(fields, "SECONDS", 0.2)
    path = write(tmp_path / "a.txt", f"short\n{text}\n")
    with pytest.raises(BadData) as caught:
        read(path, replace=[[pattern, ""]])
    message = f"AB-191 {path}:2: replace: '{pattern}' does not come to an end in 0.2 seconds\n  write the pattern"
    assert str(caught.value).startswith(message)
    assert text not in str(caught.value)


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
    ],
)
def test_a_pattern_that_is_none(pattern: str, replacement: str, words: str | None) -> None:
    refused = list(contradictions(Corpus(path="a.txt", replace=[[pattern, replacement]])))
    if words is None:
        assert refused == []
        return
    assert words in str(refused[0])
    assert refused[0].remedy == "mend the regular expression"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("((a{1000}){1000}){20}", "its counts make more than 100,000 parts of it"),
        ("(?:(?:ab|c){400,}?){400}", "its counts make more than 100,000 parts of it"),
        ("(" * 3000 + "a" + ")" * 3000, "maximum recursion depth exceeded"),
        (r"((\d{1,3}\.){3}\d{1,3}|[\x18-\x1e]{8}-(\w{4}-){3}(?>\w{12}))(?=(a{0,999}){0,999})", None),
    ],
)
def test_a_pattern_that_would_fill_memory(pattern: str, words: str | None) -> None:
    """`regex` would take gigabytes and minutes to compile it."""
    refused = list(contradictions(Corpus(path="a.txt", replace=[[pattern, ""]])))
    assert [words in str(each) for each in refused if words] == ([True] if words else [])
    assert bool(refused) == bool(words)


@pytest.mark.parametrize("pairs", [[["", "x" * 100_000]], [["(?=(.*))", r"\1"]] * 9, [[".", "ab" * 60]]])
def test_a_replacement_that_makes_rows_much_longer(tmp_path: Path, pairs: list[list[str]]) -> None:
    path = write(tmp_path / "a.txt", f"{'y' * 2000}\n" * 9)
    with pytest.raises(BadData, match=r"AB-191 .*a.txt:1: replace: '.*' makes a text longer than 200,000 characters"):
        read(path, replace=pairs)
    (row,), _, _ = read(write(tmp_path / "b.txt", "short"), replace=[[".", "x" * 2000]])
    assert len(row.values["text"]) == 10_000


USUAL = [
    (r"@\S+", "@user"), (r"https?://\S+", "URL"), (r"\s+", " "), (r"(\w)\1{2,}", r"\1\1"), (r"^\W+|\W+$", ""),
    (r"(?i)rt\b:?", ""), (r"#(\w+)#", r"\g<1>"), (r"(?P<a>\d+)-(?P<b>\d+)", r"\g<b>-\g<a>"), (r"[^\u4e00-\u9fff]", ""),
    (r"\b", "|"), (r"x*", "-"), (r"(?<=a)b|b(?!c)", "B"), (r".$", "!"), (r"(?s:a.b)|(?m:^c)", ""),
    (r"(a)?b(?(1)c|d)", ""),
]  # fmt: skip


@given(st.text(alphabet="ab c1-2.\n@#:/RTrtx好猫éß", max_size=20), st.sampled_from(USUAL))
def test_patterns_mean_what_they_mean_to_python(text: str, pair: tuple[str, str]) -> None:
    assert Fields(CORPUS, None, [pair]).replaced(text, "here") == re.sub(*pair, text)
