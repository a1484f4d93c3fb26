"""Labels that look equal and are not: one line with both spellings as code points, and a remedy that can be pasted."""

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from adaptbert.data.cleaning import name_key, seen, spelled
from adaptbert.data.label_audit import Labels, label_errors
from tests.support.labelled_files import SPANS, TAGS
from tests.support.raw import validated

ALIKE = [
    ("neg", "ｎｅｇ", r"\uff4e\uff45\uff47"),
    ("neg", "neg\u200b", r"neg\u200b"),
    ("neg", "n\u00adeg", r"n\u00adeg"),
    ("neg", "neg\ufe0f", r"neg\ufe0f"),
    ("neg", "\ufeffneg", r"\ufeffneg"),
    ("neg", "neg\u00a0", r"neg\u00a0"),
    ("neg", "neg\u3000", r"neg\u3000"),
    ("café", "cafe\u0301", r"cafe\u0301"),
    ("好", "好\u200d", r"好\u200d"),
    ("好", "\u2068好\u2069", r"\u2068好\u2069"),
    ("正面（好）", "正面(好)", r"正面\uff08好\uff09"),
    ("か\u3099", "が", r"か\u3099"),
    ("ﬁne", "fine", r"\ufb01ne"),
]
OTHERS = [("neg", "pos"), ("好", "坏"), ("B", "b2"), ("a b", "ab"), ("🙂", "🙁"), ("C++", "C"), ("と", "ど")]


@pytest.mark.parametrize(("one", "other", "shown"), ALIKE)
def test_labels_that_look_equal(tmp_path: Path, one: str, other: str, shown: str) -> None:
    splits = {"train": [("Good one", one), ("Bad one", "x")], "dev": [("more", other)], "test": [("most", "x")]}
    first, *_ = validated(tmp_path, splits).errors
    assert (first.code, shown in first.problem) == (66, True), first
    assert all(place in first.problem for place in ("in train.csv:1", "in dev.csv:1"))
    assert pasted(first.remedy) in ({one: other}, {other: one})


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_labels_that_do_not(tmp_path: Path, one: str, other: str) -> None:
    rows = [("Good one", one), ("Bad one", other)]
    splits = {"train": rows, "dev": [("more", one)], "test": [("most", other)]}
    assert validated(tmp_path, splits).errors == []


@pytest.mark.parametrize(("layout", "more"), [(SPANS, {"tag_scheme": "bio"}), (TAGS, {})])
def test_types_of_spans_and_tags(tmp_path: Path, layout: Any, more: dict[str, Any]) -> None:
    """In one split as in two; the message names the type, without B-."""
    rows = [(["Ann", "Lee"], ["B-PER", "I-PER"]), (["Bob"], ["B-PER\u200b"])]
    held = [(["Eve", "Roe"], ["B-PER", "I-PER"])]
    splits = {"train": rows, "dev": held, "test": [(["Sue"], ["B-PER"])]}
    (error,) = [error for error in validated(tmp_path, splits, layout, **more).errors if error.code == 66]
    assert r'PER\u200b"' in error.problem
    assert (next(iter(pasted(error.remedy)))[:2] == "B-") == (layout == TAGS)


def labels(**splits: list[str]) -> dict[str, Labels]:
    by_split = {split: Labels.of((label, f"{split}.csv:1") for label in of) for split, of in splits.items()}
    return {"train": Labels.of([]), "dev": Labels.of([]), "test": Labels.of([])} | by_split


def test_the_labels_of_params() -> None:
    """`labels` and the data, and `labels` alone."""
    first, second = label_errors(labels(train=["neg", "pos"]), ["neg", "ｐｏｓ"], {}, "set")
    assert (first.code, second.code) == (66, 59)
    assert (
        r"""'pos' and 'ｐｏｓ' ("\uff50\uff4f\uff53") are two labels, first in train.csv:1 and in `labels` of"""
        in str(first)
    )
    assert [error.code for error in label_errors(labels(train=["neg"]), ["neg", "a", "Ａ"], {}, "set")] == [66]


def test_all_that_look_equal_are_one_error_with_one_block() -> None:
    """Each group maps to its most frequent label, or to the one that params.yaml names."""
    train = ["neg", "neg", "ＮＥＧ", "Neg", "pos", "pos\u200b", "pos\u200b", "好", "好\u200d"]
    (error,) = label_errors(labels(train=train, dev=["neg"], test=["neg"]), None, {}, "data/raw/mood")
    assert pasted(error.remedy) == {"Neg": "neg", "ＮＥＧ": "neg", "pos": "pos\u200b", "好\u200d": "好"}
    assert error.problem.startswith(
        "'Neg', 'neg' and 'ＮＥＧ' (\"\\uff2e\\uff25\\uff27\") are 3 labels, first in train"
    )
    assert error.remedy.endswith(" below tasks.mood")
    first, second = label_errors(labels(train=["neg", "pos", "pos"]), ["neg", "ｐｏｓ", "Neg"], {"1": "pos"}, "set")
    assert (first.code, second.code) == (66, 59)
    assert pasted(first.remedy) == {"1": "ｐｏｓ", "pos": "ｐｏｓ", "Neg": "neg"}
    assert first.remedy.endswith(", in place of what it says, and take 'Neg' out of labels")


def test_a_label_is_shown_as_it_reads_too() -> None:
    assert [seen(name) for name in ("neg", "正面（好）", "neg\u200b", "\u200b", "it's")] == [
        "'neg'", "'正面（好）' (\"正面\\uff08好\\uff09\")", "'neg' (\"neg\\u200b\")", '"\\u200b"', "\"it's\"",
    ]  # fmt: skip


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_shown_can_be_pasted(name: str) -> None:
    assert YAML(typ="safe", pure=True).load(spelled(name)) == name


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_equal_whatever_the_form(name: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert name_key(unicodedata.normalize(form, name)) == name_key(name)
    assert name_key(f" \u200b{name}\u2060 ") == name_key(name)


def pasted(remedy: str) -> dict[str, str]:
    match = re.search(r"map_labels: (\{.*\}) below tasks\.\w+", remedy)
    assert match is not None, remedy
    mapping: dict[str, str] = YAML(typ="safe", pure=True).load(match[1])
    return mapping
