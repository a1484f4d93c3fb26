"""Validation of labelled sets: copies of dev and test rows are rejected, and all errors are reported together."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.core.files import read_json
from adaptbert.data.cleaning import letters
from tests.support import raw
from tests.support.labelled_files import SPANS
from tests.support.raw import LIMITS, rows, validated


def codes(errors: list[Any]) -> list[int]:
    return [error.code for error in errors]


GOOD = {
    "train": [("good one", "pos"), ("bad one", "neg"), ("good two", "pos"), ("bad two", "neg")],
    "dev": [("good three", "pos"), ("bad three", "neg")],
    "test": [("good four", "pos"), ("bad four", "neg")],
}


def changed(**splits: list[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    """GOOD with rows added."""
    return {split: rows_of_split + splits.get(split, []) for split, rows_of_split in GOOD.items()}


def test_a_good_set_is_kept_completely(tmp_path: Path) -> None:
    passed = validated(tmp_path, GOOD)
    assert passed.errors == []
    assert passed.held_out == ["good three", "bad three", "good four", "bad four"]
    assert read_json(tmp_path / "kept/task.json") == {
        "shape": "single_sentence",
        "target": "class",
        "labels": ["neg", "pos"],
        "rows": {"train": 4, "dev": 2, "test": 2},
    }
    assert rows(tmp_path / "kept/dev.parquet") == [
        {"id": "dev.csv-1", "text": "good three", "label": "pos"},
        {"id": "dev.csv-2", "text": "bad three", "label": "neg"},
    ]
    assert rows(tmp_path / "rejected.parquet") == []


def test_replacements_of_texts_are_in_task_json(tmp_path: Path) -> None:
    pairs = [["@[a-z]+", "@user"]]
    assert validated(tmp_path, GOOD, replace=pairs).errors == []
    assert read_json(tmp_path / "kept/task.json")["replace"] == pairs


def test_copies_of_dev_and_test_leave_the_other_splits(tmp_path: Path) -> None:
    more_held_out = [(f"held out {number}", "pos") for number in range(6)]
    passed = validated(
        tmp_path,
        changed(
            train=[("good four", "pos"), ("Bad, four!", "neg"), ("good three", "pos"), ("x", "pos")],
            dev=[("BAD four", "neg"), *[(f"dev {text}", label) for text, label in more_held_out]],
            test=more_held_out,
        ),
    )
    assert passed.errors == []
    assert [(row["split"], row["line"], row["code"]) for row in rows(tmp_path / "rejected.parquet")] == [
        ("train", 5, 70),
        ("train", 6, 71),
        ("train", 7, 70),
        ("dev", 3, 71),
    ]
    assert passed.accounts["train"].rejected == {"in_test": 2, "in_dev": 1}
    assert passed.accounts["train"].kept == 5, "a labelled row is not rejected for being short"


def test_equal_splits_are_an_error(tmp_path: Path) -> None:
    errors = validated(tmp_path, GOOD | {"dev": GOOD["test"]}).errors
    assert codes(errors) == [70, 18]
    assert "2 of 2 texts of test are in dev\n  split again" in str(errors[0])


@pytest.mark.parametrize(
    ("splits", "labels", "expected"),
    [
        pytest.param(
            changed(train=[("more", "negg")]),
            ["pos", "neg"],
            [
                (
                    59,
                    "labels of train that are not among `labels`: 1 x 'negg' (did you mean 'neg'?), first in "
                    "train.csv:5 (row 'train.csv-5')\n  known: 'neg', 'pos'",
                )
            ],
            id="unknown",
        ),
        pytest.param(
            changed(test=[("more", "odd"), ("and more", "odd")]),
            None,
            [
                (
                    60,
                    "labels of test that train never shows: 2 x 'odd', first in test.csv:3 (row 'test.csv-3')\n  "
                    "add training rows, or write map_labels: {'odd': a label of train}",
                )
            ],
            id="only in test",
        ),
        pytest.param(
            changed(train=[("more", None)]), None, [(62, "label missing: 1) at train.csv:5")], id="label missing"
        ),
        pytest.param(changed(dev=[("", "pos")]), None, [(74, "text is empty: 1) at dev.csv:3")], id="empty text"),
        pytest.param(GOOD | {"dev": []}, None, [(18, "0 of 0 rows left")], id="empty split"),
    ],
)
def test_a_set_that_cannot_be_used(
    tmp_path: Path, splits: dict[str, Any], labels: list[str] | None, expected: list[tuple[int, str]]
) -> None:
    errors = validated(tmp_path, splits, **({"labels": labels} if labels else {})).errors
    assert codes(errors) == [code for code, _ in expected]
    for error, (_, part) in zip(errors, expected, strict=True):
        assert part in str(error)


def test_many_labels_that_train_never_shows_are_one_line_a_split(tmp_path: Path) -> None:
    """The wrong column of tags gives dozens; a line each would hide all other errors."""
    odd = [(f"more {number}", f"odd {number}") for number in range(9)]
    dev, test = validated(tmp_path, changed(dev=[("other", "odd 0")], test=odd)).errors
    assert (dev.code, test.code) == (60, 60)
    assert test.problem.endswith("1 x 'odd 4', first in test.csv:7 (row 'test.csv-7'); and 4 more labels")


def test_all_errors_of_a_set_are_reported_together(tmp_path: Path) -> None:
    splits = changed(train=[("more", "Pos"), ("", "neg")], test=[("more yet", "odd")])
    assert codes(validated(tmp_path, splits).errors) == [74, 66, 60]


TAGGED = {
    "train": [(["Paris", "is", "big"], ["B-LOC", "O", "O"]), (["Ann", "Lee", "won"], ["B-PER", "I-PER", "O"])],
    "dev": [(["Bob"], ["B-PER"])],
    "test": [(["Rome", "fell\u200b"], ["B-LOC", "O"])],
}


def test_a_tagged_set(tmp_path: Path) -> None:
    passed = validated(tmp_path, TAGGED, SPANS, tag_scheme="bio")
    assert passed.errors == []
    assert passed.held_out == ["Bob", "Rome fell"]
    task = read_json(tmp_path / "kept/task.json")
    assert (task["type"], task["labels"]) == ("token-classification", ["LOC", "PER"])
    assert rows(tmp_path / "kept/test.parquet") == [
        {"id": "test.csv-1", "tokens": ["Rome", "fell"], "tags": ["B-LOC", "O"]}
    ]


LABELLED = st.tuples(
    st.one_of(st.none(), st.sampled_from(["one", "One!", "two", "", "three", "x" * 250]), st.text(max_size=5)),
    st.sampled_from(["pos", "neg", None, " "]),
)


@settings(max_examples=40, deadline=None)
@given(st.fixed_dictionaries({split: st.lists(LABELLED, max_size=10) for split in GOOD}), st.integers(0, 2))
def test_task_rows_in_are_rows_kept_and_rows_rejected(
    tmp_path_factory: pytest.TempPathFactory, splits: dict[str, list[tuple[Any, ...]]], unreadable: int
) -> None:
    folder = tmp_path_factory.mktemp("set")
    (folder / "raw").mkdir()
    raw.unreadable(folder / "raw", unreadable, split="dev")
    passed = validated(folder, splits, limits=LIMITS)
    rejected = rows(folder / "rejected.parquet")
    kept = {split: rows(folder / "kept" / f"{split}.parquet") for split in splits}
    for split, rows_of_split in splits.items():
        ids = [row["id"] for row in kept[split]] + [row["id"] for row in rejected if row["split"] == split]
        read = [f"{split}.csv-{number}" for number in range(1, len(rows_of_split) + 1)]
        assert sorted(ids) == sorted(read + ([f"bad-{n}" for n in range(unreadable)] if split == "dev" else []))
        assert passed.accounts[split].rows_in == len(ids)
    texts = {split: {letters(row["text"]) for row in rows_of_split} for split, rows_of_split in kept.items()}
    assert not texts["test"] & (texts["dev"] | texts["train"])
    assert not texts["dev"] & texts["train"]
