"""What a user typed, and the remedy of the message: it can be pasted, and is then accepted."""

import json
import re
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from adaptbert.base import bounds
from adaptbert.errors import UserError
from adaptbert.runtime.params.all_sections import check_all
from adaptbert.runtime.params.params_file import flatten
from adaptbert.runtime.params.strict_yaml import load
from tests.support.imports import ROOT
from tests.support.messages import messages_in

FILE = Path("params.yaml")
SMOKE = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")


def messages(text: str) -> list[str]:
    try:
        check_all(load(text, FILE), FILE)
    except UserError as error:
        return messages_in(str(error))
    return []


@pytest.mark.parametrize(
    ("key", "good", "typed", "remedy", "pasted"),
    [
        ("replay_fraction", "0.05", "5%", "write 0.05", "0.05"),
        ("vocabulary_size", "1000", "1,000", "write 1000", "1000"),
        ("vocabulary_size", "1000", "1e3", "write 1000", "1000"),
        (
            "vocabulary_size",
            "1000",
            "0.5",
            "write a whole number, at least 100 and at most 1,000,000, such as 100",
            "100",
        ),
        ("vocabulary_size", "1000", "many", "write a whole number, such as 100", "100"),
        ("vocabulary_size", "1000", "1.2k", "write 1200", "1200"),
        ("vocabulary_size", "1000", "1 000", "write 1000", "1000"),
        ("vocabulary_size", "1000", "0.1万", "write 1000", "1000"),
        (
            "vocabulary_size",
            "1000",
            "1.0e30",
            "write a whole number, at least 100 and at most 1,000,000, such as 100",
            "",
        ),
        (
            "vocabulary_size",
            "1000",
            "3万亿",
            "write a whole number, at least 100 and at most 1,000,000, such as 100",
            "",
        ),
        (
            "tokens",
            "20_000",
            "1.0e30",
            f"write a whole number, at least 0 and at most {bounds.TOKENS:,}, such as 8",
            "",
        ),
        ("tokens", "20_000", "20K", "write 20000", "20000"),
        ("confidence", "0.95", "'95%'", "write 0.95", "0.95"),
        (
            "confidence",
            "0.95",
            "'950%'",
            "write a plain number without quotes, above 0 and below 1, such as 0.5",
            "0.8",
        ),
        ("confidence", "0.95", "high", "write a plain number without quotes, such as 0.5", "0.5"),
        ("vocabulary_size", "1000", "１０００", "write 1000", "1000"),
        ("confidence", "0.95", "'0.9'", "write 0.9 without quotes", "0.9"),
        ("confidence", "0.95", "", "write a value behind the colon", ""),
        ("seeds", "[1, 2]", "1-3", "write it in brackets: [1, 2, 3]", "[1, 2, 3]"),
        ("seeds", "[1, 2]", "3", "write [1, 2, 3]", "[1, 2, 3]"),
        ("seeds", "[1, 2]", "'2'", "write [1, 2]", "[1, 2]"),
        ("seeds", "[1, 2]", "42", "write it in brackets: [42]", "[42]"),
        ("confidence", "0.95", "95", "it should be less than 1; for 95 % write 0.95", "0.95"),
        ("replay_fraction", "0.05", "2.5", "it should be less than 1; for 2.5 % write 0.025", "0.025"),
        ("confidence", "0.95", "950", "it should be less than 1", ""),
        ("seeds", "[1, 2]", "[1, 1]", "write e.g. [1, 2, 3]", "[1, 2, 3]"),
        ("lowercase", "true", "yes", "write true without quotes", "true"),
        ("lowercase", "true", "“true”", "write '\"', or put the whole in quotes", ""),
        ("lowercase", "true", "“true", "a curly quote (U+201C) stands in it: write '\"'", ""),
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
    lines = messages(pattern.sub(f"{key}: {typed}", SMOKE, count=1))
    assert any(line.endswith(f"\n  {remedy}") for line in lines), lines
    if pasted:
        assert messages(pattern.sub(f"{key}: {pasted}", SMOKE, count=1)) == []


@pytest.mark.parametrize(("section", "typed"), [("finetune", "finetunes"), ("compare", "compair"), ("seed", "sed")])
def test_a_section_that_is_mistyped_is_reported_once(monkeypatch: pytest.MonkeyPatch, section: str, typed: str) -> None:
    monkeypatch.chdir(ROOT)
    (line,) = messages(re.sub(rf"^{section}:", f"{typed}:", SMOKE, count=1, flags=re.MULTILINE))
    assert line.startswith(f"AB-099 params.yaml: {typed}: unknown section '{typed}' (did you mean '{section}'?)\n  ")


NUMBERS = [
    "many",
    "12k",
    "1.5M",
    "3 million",
    "1.2万",
    "-5",
    "1e99",
    "1.0e30",
    "'1e400'",
    "0",
    "250%",
    "1/2",
    "0.5",
    "nan",
]


@pytest.mark.parametrize("typed", NUMBERS)
def test_what_a_remedy_proposes_for_a_number_is_accepted(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    """Of every number of the smoke recipe, all at once."""
    monkeypatch.chdir(ROOT)
    values = flatten(load(SMOKE, FILE))
    numbers = [key for key, value in values.items() if isinstance(value, int | float) and not isinstance(value, bool)]
    errors = {line.split(": ")[1]: line for line in messages_about(dict.fromkeys(numbers, load(typed, FILE)))}
    pattern = re.compile(r"\n  write (?:.*such as )?(-?[\d.]+(?:e-?\d+)?)(?: without quotes)?$")
    remedies = {key: pattern.search(errors.get(key, "")) for key in numbers}
    proposed = {key: load(match[1], FILE) for key, match in remedies.items() if match is not None}
    assert len(proposed) > 20 or typed in ("-5", "0", "0.5")
    assert [line for line in messages_about(proposed) if re.match("AB-(100|109|117)", line)] == []


def messages_about(changes: dict[str, Any]) -> list[str]:
    document = load(SMOKE, FILE)
    for key, value in changes.items():
        *above, last = key.split(".")
        reduce(getitem, above, document)[last] = value
    return messages(json.dumps(document))


def test_a_section_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert messages(SMOKE[: SMOKE.index("  confidence:")]) == [
        "AB-100 params.yaml: compare: expected a mapping, found nothing\n  write its keys below it, each line indented "
        "alike, as in presets/demo.yaml"
    ]
