"""What a user typed, and what the message tells to write: it can be pasted, and is then accepted."""

import re
from pathlib import Path

import pytest

from adaptbert.entry import check_all
from adaptbert.errors import UserError
from adaptbert.strict_yaml import load
from tests.import_closure import ROOT

FILE = Path("params.yaml")
SMOKE = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")


def told(text: str) -> list[str]:
    try:
        check_all(load(text, FILE), FILE)
    except UserError as error:
        return str(error).splitlines()
    return []


@pytest.mark.parametrize(
    ("key", "good", "typed", "remedy", "pasted"),
    [
        ("replay_fraction", "0.05", "5%", "write 0.05", "0.05"),
        ("vocabulary_size", "1000", "1,000", "write 1000", "1000"),
        ("vocabulary_size", "1000", "1e3", "write 1000", "1000"),
        ("vocabulary_size", "1000", "0.5", "write a whole number", ""),
        ("vocabulary_size", "1000", "many", "write a whole number, such as 8", ""),
        ("vocabulary_size", "1000", "１０００", "write 1000", "1000"),
        ("confidence", "0.95", "'0.9'", "write 0.9 without quotes", "0.9"),
        ("confidence", "0.95", "", "write a value behind the colon", ""),
        ("seeds", "[1, 2]", "1-3", "write it in brackets: [1, 2, 3]", "[1, 2, 3]"),
        ("seeds", "[1, 2]", "7", "write it in brackets: [7]", "[7]"),
        ("seeds", "[1, 2]", "[1, 1]", "write e.g. [1, 2, 3]", "[1, 2, 3]"),
        ("lowercase", "true", "yes", "write true without quotes", "true"),
        ("lowercase", "true", "“true”", "a curly quote (U+201C) stands in it: write '\"'", ""),
        ("tag_scheme", "bio", "BIO", "write bio", "bio"),
        ("shape", "single_sentence", "single_sentance", "write single_sentence", "single_sentence"),
        ("precision", "auto", "fast", "write one of them", ""),
        ("budget", "{tokens: 20_000}", "20000", "its keys are passes, steps, tokens", ""),
        ("heads", "2", "3", "write heads: 2, or a hidden_size that 3 divides", "2"),
        ("global_batch_size", "32", "33", "write global_batch_size: 32", "32"),
        ("global_batch_tokens", "2048", "1000", "write global_batch_tokens: 2048", "2048"),
        ("max_length", "64", "128", "write at most 64, or raise max_positions", "64"),
        ("init", "scratch", "models/init", "take encoder out: a checkpoint brings its own", ""),
    ],
)
def test_the_remedy(monkeypatch: pytest.MonkeyPatch, key: str, good: str, typed: str, remedy: str, pasted: str) -> None:
    monkeypatch.chdir(ROOT)
    pattern = re.compile(rf"\b{key}: {re.escape(good)}")
    assert pattern.search(SMOKE)
    found = told(pattern.sub(f"{key}: {typed}", SMOKE, count=1))
    assert any(line.endswith(f"; {remedy}") for line in found), found
    if pasted:
        assert told(pattern.sub(f"{key}: {pasted}", SMOKE, count=1)) == []


def test_a_section_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert told(SMOKE[: SMOKE.index("  confidence:")]) == [
        "AB-100 params.yaml: compare: expected a mapping, found nothing; write its keys below it, each line indented "
        "alike, as in presets/demo.yaml"
    ]
