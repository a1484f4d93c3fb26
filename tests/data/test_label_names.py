"""Labels that look alike to a reader are one error with the block of params.yaml that mends it."""

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from adaptbert.data.label_names import Labels, label_errors
from tests.support.raw import validated
from tests.support.reading import CLASS, SPANS, TAGS, config

ALIKE = [
    ("neg", "ｎｅｇ", r"\uff4e\uff45\uff47"),
    ("neg", "neg\ufe0f", r"neg\ufe0f"),
    ("café", "cafe\u0301", r"cafe\u0301"),
    ("好", "\u2068好\u2069", r"\u2068好\u2069"),
    ("ﬁne", "fine", r"\ufb01ne"),
    ("1", "1.0", "'1.0'"),
    ("-1", "-1.00", "'-1.00'"),
]
TASK = config(CLASS)
OTHERS = [("neg", "pos"), ("a b", "ab"), ("🙂", "🙁"), ("C++", "C"), ("v1", "v1.0"), ("1", "1.5"), ("と", "ど")]


def labels(**splits: list[str]) -> dict[str, Labels]:
    by_split = {split: Labels() for split in ("train", "dev", "test")}
    for split, names in splits.items():
        for name in names:
            by_split[split].add(name, f"{split}.csv:1")
    return by_split


def pasted(remedy: str) -> dict[str, str]:
    match = re.search(r"map_labels: (\{.*\}) below tasks\.\w+", remedy)
    assert match is not None, remedy
    mapping: dict[str, str] = YAML(typ="safe", pure=True).load(match[1])
    return mapping


@pytest.mark.parametrize(("one", "other", "shown"), ALIKE)
def test_labels_that_look_equal(one: str, other: str, shown: str) -> None:
    first, *_ = label_errors(labels(train=[one, "x"], dev=[other], test=["x"]), TASK, Path("set"))
    assert (first.code, shown in first.problem) == (59, True), first
    assert all(place in first.problem for place in ("in train.csv:1", "in dev.csv:1"))
    assert pasted(first.remedy) in ({one: other}, {other: one})


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_labels_that_do_not(one: str, other: str) -> None:
    assert list(label_errors(labels(train=[one, other], dev=[one], test=[other]), TASK, Path("set"))) == []


@pytest.mark.parametrize(("layout", "more"), [(SPANS, {"tag_scheme": "bio"}), (TAGS, {})])
def test_types_of_spans_and_tags(tmp_path: Path, layout: Any, more: dict[str, Any]) -> None:
    """In one split as in two; the message names the type, without B-."""
    rows = [(["Ann", "Lee"], ["B-PER", "I-PER"]), (["Bob"], ["B-PER\u200b"])]
    splits = {"train": rows, "dev": [(["Eve", "Roe"], ["B-PER", "I-PER"])], "test": [(["Sue"], ["B-PER"])]}
    (error,) = [error for error in validated(tmp_path, splits, layout, **more).errors if error.code == 59]
    assert r'PER\u200b"' in error.problem
    assert (next(iter(pasted(error.remedy)))[:2] == "B-") == (layout == TAGS)


def test_the_labels_of_params() -> None:
    """`labels` and the data, and `labels` alone."""
    first, second = label_errors(labels(train=["neg", "pos"]), config(CLASS, labels=["neg", "ｐｏｓ"]), Path("set"))
    assert (first.code, second.code) == (59, 59)
    two = r"""'pos' and 'ｐｏｓ' ("\uff50\uff4f\uff53") are two labels, first in train.csv:1 and in `labels` of"""
    assert two in str(first)
    alone = config(CLASS, labels=["neg", "a", "Ａ"])
    assert [error.code for error in label_errors(labels(train=["neg"]), alone, Path("set"))] == [59]


def test_all_that_look_equal_are_one_error_with_one_block() -> None:
    """Each group maps to its most frequent label, or to the one that params.yaml names."""
    train = ["neg", "neg", "ＮＥＧ", "Neg", "pos", "pos\u200b", "pos\u200b", "好", "好\u200d"]
    (error,) = label_errors(labels(train=train, dev=["neg"], test=["neg"]), TASK, Path("data/raw/mood"))
    assert pasted(error.remedy) == {"Neg": "neg", "ＮＥＧ": "neg", "pos": "pos\u200b", "好\u200d": "好"}
    assert error.problem.startswith(
        "'Neg', 'neg' and 'ＮＥＧ' (\"\\uff2e\\uff25\\uff27\") are 3 labels, first in train"
    )
    assert error.remedy.endswith(" below tasks.mood")
    named = config(CLASS, labels=["neg", "ｐｏｓ", "Neg"], map_labels={"1": "pos"})
    first, second = label_errors(labels(train=["neg", "pos", "pos"]), named, Path("set"))
    assert (first.code, second.code) == (59, 59)
    assert pasted(first.remedy) == {"1": "ｐｏｓ", "pos": "ｐｏｓ", "Neg": "neg"}
    assert first.remedy.endswith(", in place of what it says, and take 'Neg' out of labels")
