"""Validation of labelled sets, from the user's files to the rows that are stored: what is kept, rejected, refused."""

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from adaptbert.config.schema.sources import Limits, Task
from adaptbert.core.files import read_json
from adaptbert.data.cleaning import clean, letters, name_key, seen, spelled
from adaptbert.data.collect import collect_task
from adaptbert.data.label_names import Labels, label_errors
from adaptbert.data.layout import Layout
from adaptbert.data.parquet import texts
from adaptbert.data.validate_rows import moved
from adaptbert.data.validate_set import validate_labelled_set
from adaptbert.errors import UserError
from tests.support import raw
from tests.support.raw import LIMITS, rows, validated
from tests.support.reading import ANSWER, CLASS, LABELS, NUMBER, PAIR, SPANS, TAGS, config, write


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
        "type": "text-classification",
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
        ("train", 6, 70),
        ("train", 7, 70),
        ("dev", 3, 70),
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
            changed(train=[("more", " ")]), None, [(62, "label missing: 1) at train.csv:5")], id="label missing"
        ),
        pytest.param(changed(dev=[("", "pos")]), None, [(41, "text is empty: 1) at dev.csv:3")], id="empty text"),
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
    assert codes(validated(tmp_path, splits).errors) == [41, 59, 60]


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
    st.one_of(st.sampled_from(["one", "One!", "two", "", "three", "x" * 250]), st.text(max_size=5)),
    st.sampled_from(["pos", "neg", " "]),
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


# --- each task type


def kept(folder: Path, split: str = "train") -> list[dict[str, Any]]:
    return rows(folder / f"kept/{split}.parquet")


def rejected(folder: Path) -> list[tuple[str, int, int]]:
    return [(row["split"], row["line"], row["code"]) for row in rows(folder / "rejected.parquet")]


def task(folder: Path) -> dict[str, Any]:
    return read_json(folder / "kept/task.json")


# --- answers


def question_row(context: str, question: str, *answers: tuple[str, int]) -> tuple[Any, ...]:
    return context, question, [{"text": text, "start": start} for text, start in answers]


QUESTIONS = {
    "train": [
        question_row("The cat sat.", "who?", ("The cat", 0), ("cat", 4)),
        question_row("The cat sat.", "what?", ("sat", 8)),
    ],
    "dev": [question_row("A dog ran.", "who?", ("dog", 2))],
    "test": [question_row("A cow ate.", "who?", ("cow", 2))],
}


def test_questions(tmp_path: Path) -> None:
    passed = validated(tmp_path, QUESTIONS, ANSWER, no_answer=False)
    assert passed.errors == []
    assert passed.held_out == ["A dog ran.", "who?", "A cow ate.", "who?"]
    assert kept(tmp_path)[0] == {
        "id": "train.csv-1",
        "context": "The cat sat.",
        "question": "who?",
        "answers": [{"text": "The cat", "start": 0}, {"text": "cat", "start": 4}],
    }
    assert task(tmp_path) == {
        "type": "question-answering",
        "labels": [],
        "rows": {"train": 2, "dev": 1, "test": 1},
        "no_answer": False,
    }
    assert pq.read_schema(tmp_path / "kept/train.parquet").equals(ANSWER.arrow())


def test_answers_move_with_the_text_that_is_cleaned(tmp_path: Path) -> None:
    row = question_row(
        "\u200b \x1b[31mThe\u200b cat\u2028sat on\x00 it.", "who?", ("cat\u2028sat", 12), ("on\x00 it", 20)
    )
    passed = validated(tmp_path, {**QUESTIONS, "train": [row]}, ANSWER, no_answer=False)
    assert passed.errors == []
    (cleaned,) = kept(tmp_path)
    assert cleaned["context"] == "The cat sat on it."
    assert cleaned["answers"] == [{"text": "cat sat", "start": 4}, {"text": "on it", "start": 12}]


@given(st.text(st.sampled_from("ab中\u0301\U0001f600 \n\u200b\x00\u2028\x1b[1m"), min_size=1, max_size=30), st.data())
def test_moved_answers_are_where_they_say(context: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(context) - 1))
    end = data.draw(st.integers(first + 1, len(context)))
    answers = moved(context, [{"text": context[first:end], "start": first}])
    if isinstance(answers, list):
        (answer,) = answers
        assert clean(context)[0][answer["start"] :].startswith(answer["text"])
        assert answer["text"].strip()


def test_an_answer_of_hidden_characters_is_rejected(tmp_path: Path) -> None:
    row = question_row("a\u200b b", "?", ("\u200b", 1))
    validated(tmp_path, {**QUESTIONS, "train": [*QUESTIONS["train"], row]}, ANSWER, LIMITS, no_answer=False)
    assert rejected(tmp_path) == [("train", 3, 81)]


def test_a_shared_context_is_counted_and_a_shared_question_is_not(tmp_path: Path) -> None:
    train = [
        *QUESTIONS["train"],
        question_row("A cow ate.", "what?", ("ate", 6)),
        question_row("A COW ate", "Who", ("COW", 2)),
    ]
    passed = validated(tmp_path, {**QUESTIONS, "train": train}, ANSWER, no_answer=False)
    assert [error.code for error in passed.errors] == [70], "the one question of test is asked in train"
    test = [*QUESTIONS["test"], question_row("An ox slept.", "who?", ("ox", 3))]
    passed = validated(tmp_path, {**QUESTIONS, "train": train, "test": test}, ANSWER, no_answer=False)
    assert passed.errors == []
    assert rejected(tmp_path) == [("train", 4, 70)]
    assert passed.accounts["train"].warnings == {"rows_sharing_a_text_with_test": 1}


def test_questions_without_an_answer(tmp_path: Path) -> None:
    splits = {**QUESTIONS, "dev": [*QUESTIONS["dev"], question_row("Nobody.", "where?")]}
    (error,) = validated(tmp_path, splits, ANSWER, no_answer=False).errors
    assert str(error).endswith(
        "1 questions without an answer, the first at dev.csv:2\n  unanswerable questions need no_answer: true"
    )
    assert validated(tmp_path, splits, ANSWER, no_answer=True).errors == []
    assert kept(tmp_path, "dev")[1]["answers"] == []
    assert task(tmp_path)["no_answer"] is True


# --- pairs, multi-label, regression


def test_pairs_are_compared_as_pairs(tmp_path: Path) -> None:
    splits = {
        "train": [("one", "two", "x"), ("two", "one", "y"), ("One!", "three", "x"), ("on", "ethree", "y")],
        "dev": [("four", "five", "x")],
        "test": [("one", "three", "x"), ("six", "seven", "y")],
    }
    passed = validated(tmp_path, splits, PAIR)
    assert passed.errors == []
    assert rejected(tmp_path) == [("train", 3, 70)], "the same letters split elsewhere are another pair"
    assert passed.accounts["train"].warnings["rows_sharing_a_text_with_test"] == 2
    assert kept(tmp_path)[0] == {"id": "train.csv-1", "text_a": "one", "text_b": "two", "label": "x"}
    assert passed.held_out == ["four", "five", "one", "three", "six", "seven"]


def test_multi_label(tmp_path: Path) -> None:
    splits = {"train": [("a", ["x", "y"]), ("b", [])], "dev": [("c", ["y"])], "test": [("d", [])]}
    assert validated(tmp_path, splits, LABELS).errors == []
    assert [row["labels"] for row in kept(tmp_path)] == [["x", "y"], []]
    assert task(tmp_path)["labels"] == ["x", "y"]
    splits = {"train": [("a", [])], "dev": [("c", [])], "test": [("d", ["z"])]}
    assert [error.code for error in validated(tmp_path, splits, LABELS).errors] == [60, 19]


def test_the_positive_label(tmp_path: Path) -> None:
    splits = {split: [(f"{split} {n}", "b", str(n)) for n in range(2)] for split in ("train", "dev", "test")}
    assert validated(tmp_path, splits, PAIR, positive="1").errors == []
    assert task(tmp_path)["positive"] == "1"
    (error,) = validated(tmp_path, splits, PAIR, positive="yes").errors
    assert (error.code, "known: '0', '1'" in str(error)) == (59, True)
    validated(tmp_path, splits, PAIR)
    assert "positive" not in task(tmp_path)


def test_regression(tmp_path: Path) -> None:
    splits = {"train": [("a", 1.5), ("b", -2.0), ("c", 9.0)], "dev": [("d", 0.0)], "test": [("e", 7.0)]}
    assert validated(tmp_path, splits, NUMBER).errors == []
    assert (task(tmp_path)["labels"], task(tmp_path)["range"]) == ([], [-2.0, 9.0])
    splits["train"].append(("f", float("inf")))
    validated(tmp_path, splits, NUMBER, LIMITS, range=[-2.0, 7.5])
    assert rejected(tmp_path) == [("train", 3, 65), ("train", 4, 65)]
    assert task(tmp_path)["range"] == [-2.0, 1.5]


def test_values_outside_the_range_are_reported_with_it(tmp_path: Path) -> None:
    values = [0.5, 6, 6, 7, 8, 9, 10, float("inf")]
    splits = {split: [(f"{split} {n}", value) for n, value in enumerate(values)] for split in ("train", "dev", "test")}
    first, *_ = validated(tmp_path, splits, NUMBER, range=[0.0, 5.0]).errors
    assert (first.code, str(first.place)) == (65, str(tmp_path / "raw/train.parquet"))
    assert "(value 6 is not in 0 to 5: 2, value 7 is not in 0 to 5: 1, " in first.problem
    assert "value 10 is not in 0 to 5: 1, and 1 more) at train.csv:2, " in first.problem
    assert "value inf is not finite" in {row["reason"] for row in rows(tmp_path / "rejected.parquet")}


def test_the_text_of_every_task_type_for_masked_language_modelling(tmp_path: Path) -> None:
    validated(tmp_path, QUESTIONS, ANSWER, no_answer=False)
    assert next(texts(tmp_path / "kept/train.parquet")) == ("train.csv-1", "The cat sat. who?")
    splits = {split: [(["Ann", split], ["N", "V"])] for split in QUESTIONS}
    assert validated(tmp_path, splits, TAGS).errors == []
    assert list(texts(tmp_path / "kept/dev.parquet")) == [("dev.csv-1", "Ann dev")]


# --- tags


def tagged(scheme: str, rows: list[str]) -> dict[str, list[tuple[Any, ...]]]:
    """One row in each of dev and test, the rest in train; all texts differ."""
    tagged_rows = [
        ([f"{scheme}{n}-{place}" for place in range(len(row.split()))], row.split()) for n, row in enumerate(rows)
    ]
    return {"dev": tagged_rows[:1], "test": tagged_rows[1:2], "train": tagged_rows[2:]}


@pytest.mark.parametrize(
    ("scheme", "row"),
    [("io", "I-X I-X O I-Y"), ("bio", "B-X I-X O B-Y"), ("iob1", "I-X I-X O I-Y"), ("iobes", "B-X E-X O S-Y")],
)
def test_every_scheme_is_stored_as_bio(tmp_path: Path, scheme: str, row: str) -> None:
    passed = validated(tmp_path, tagged(scheme, [row] * 4), SPANS, tag_scheme=scheme)
    assert passed.errors == []
    assert [stored["tags"] for stored in kept(tmp_path)] == [["B-X", "I-X", "O", "B-Y"]] * 2
    assert task(tmp_path)["labels"] == ["X", "Y"]


def test_rows_that_break_the_scheme_are_rejected_or_repaired(tmp_path: Path) -> None:
    rows = tagged("bio", ["B-X O", "B-X O", *["B-X I-X"] * 4, "O I-X", "O X"])
    validated(
        tmp_path, rows, SPANS, Limits(min_characters=2, max_characters=99, max_bad_fraction=0.4), tag_scheme="bio"
    )
    assert rejected(tmp_path) == [("train", 5, 89), ("train", 6, 89)]
    passed = validated(tmp_path, rows, SPANS, LIMITS, tag_scheme="bio", repair_tags=True)
    assert rejected(tmp_path) == [("train", 6, 89)], "a tag of no scheme cannot be repaired"
    assert kept(tmp_path)[-1]["tags"] == ["O", "B-X"]
    assert passed.accounts["train"].warnings["tags_mended"] == 2


def test_another_scheme_is_named_even_where_tags_may_be_repaired(tmp_path: Path) -> None:
    rows = tagged("iob1", ["I-X I-X O", "I-X B-X O", "I-X I-X O", "O I-Y B-Y", "I-X B-X I-X"])
    for repair in (False, True):
        errors = validated(tmp_path, rows, SPANS, tag_scheme="bio", repair_tags=repair).errors
        message = "3 of 3 rows are not bio; they look like iob1\n  write tag_scheme: iob1"
        assert [error.code for error in errors if message in str(error)] == [89]


def test_mixed_schemes_are_reported(tmp_path: Path) -> None:
    rows = tagged("bio", ["B-X I-X", "B-X I-X", "B-X I-X", "B-Y O", "I-X O"])
    errors = validated(tmp_path, rows, SPANS, tag_scheme="bio").errors
    assert "1 of 3 rows are not bio, and no other scheme fits more: a mixture?\n  repair_tags: true" in str(errors[0])
    assert validated(tmp_path, rows, SPANS, tag_scheme="bio", repair_tags=True).errors == []


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.sampled_from(["N", "V", "B-X", "-"]), min_size=1, max_size=4), min_size=3, max_size=8))
def test_plain_tags_are_stored_as_they_are(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    folder = tmp_path_factory.mktemp("tags")
    validated(folder, tagged("x", [" ".join(row) for row in rows]), TAGS)
    assert [row["tags"] for row in kept(folder)] == rows[2:]


# --- labels that look alike

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
    assert (first.code, shown in first.problem) == (59, True), first
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
    (error,) = [error for error in validated(tmp_path, splits, layout, **more).errors if error.code == 59]
    assert r'PER\u200b"' in error.problem
    assert (next(iter(pasted(error.remedy)))[:2] == "B-") == (layout == TAGS)


def labels(**splits: list[str]) -> dict[str, Labels]:
    by_split = {split: Labels() for split in ("train", "dev", "test")}
    for split, names in splits.items():
        for name in names:
            by_split[split].add(name, f"{split}.csv:1")
    return by_split


def test_the_labels_of_params() -> None:
    """`labels` and the data, and `labels` alone."""
    first, second = label_errors(labels(train=["neg", "pos"]), ["neg", "ｐｏｓ"], {}, Path("set"))
    assert (first.code, second.code) == (59, 59)
    assert (
        r"""'pos' and 'ｐｏｓ' ("\uff50\uff4f\uff53") are two labels, first in train.csv:1 and in `labels` of"""
        in str(first)
    )
    assert [error.code for error in label_errors(labels(train=["neg"]), ["neg", "a", "Ａ"], {}, Path("set"))] == [59]


def test_all_that_look_equal_are_one_error_with_one_block() -> None:
    """Each group maps to its most frequent label, or to the one that params.yaml names."""
    train = ["neg", "neg", "ＮＥＧ", "Neg", "pos", "pos\u200b", "pos\u200b", "好", "好\u200d"]
    (error,) = label_errors(labels(train=train, dev=["neg"], test=["neg"]), None, {}, Path("data/raw/mood"))
    assert pasted(error.remedy) == {"Neg": "neg", "ＮＥＧ": "neg", "pos": "pos\u200b", "好\u200d": "好"}
    assert error.problem.startswith(
        "'Neg', 'neg' and 'ＮＥＧ' (\"\\uff2e\\uff25\\uff27\") are 3 labels, first in train"
    )
    assert error.remedy.endswith(" below tasks.mood")
    first, second = label_errors(
        labels(train=["neg", "pos", "pos"]), ["neg", "ｐｏｓ", "Neg"], {"1": "pos"}, Path("set")
    )
    assert (first.code, second.code) == (59, 59)
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


# --- from the user's file to the stored rows

SPLITS = ("train", "dev", "test")


def stored(folder: Path, layout: Layout, suffix: str, files: dict[str, str], **values: Any) -> dict[str, Any]:
    """Errors, codes of rejected rows and rows kept, of the files of a set."""
    paths = {split: write(folder / f"{split}.{suffix}", files[split]) for split in SPLITS}
    task = config(layout, **values)
    assert isinstance(task, Task)
    (folder / "raw").mkdir()
    try:
        collect_task(task, paths, folder / "raw")
    except UserError as error:
        return {"errors": [error.code]}
    passed = validate_labelled_set(folder / "raw", folder / "kept", folder / "rejected.parquet", LIMITS)
    return {
        "errors": codes(passed.errors),
        "rejected": {row["code"] for row in rows(folder / "rejected.parquet")},
        "kept": {split: rows(folder / f"kept/{split}.parquet") for split in SPLITS},
    }


def each(text: str) -> dict[str, str]:
    """The same in every split but for its name."""
    return {split: text.replace("SPLIT", split) for split in SPLITS}


def lines(*content: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content)


ODD: dict[str, tuple[Layout, str, dict[str, str], dict[str, Any], list[int], set[int]]] = {
    "labels of two types": (
        CLASS, "jsonl", each(lines({"text": "SPLIT a", "label": "x"}, {"text": "SPLIT", "label": 1})), {}, [65], set(),
    ),
    "no label at all in test": (CLASS, "csv", each("text,label\nSPLIT,x\n") | {"test": "text\na\n"}, {}, [56], set()),
    "one class": (CLASS, "csv", each("text,label\nSPLIT a,x\nSPLIT b,x\n"), {}, [19], set()),
    "one value": (NUMBER, "csv", each("text,value\nSPLIT a,1\nSPLIT b,1.0\n"), {}, [19], set()),
    "labels in one text": (LABELS, "csv", each("text,labels\nSPLIT a,x;y\n"), {}, [65], set()),
    "an id twice": (
        CLASS, "csv", each("text,label,nr\nSPLIT a,x,1\nSPLIT b,y,1\n"), {"columns": {"id": "nr"}}, [86] * 3, set(),
    ),
    "NaN for a label": (
        CLASS, "jsonl", each('{"text": "SPLIT a", "label": "x"}\n{"text": "SPLIT b", "label": "y"}\n'
                             '{"text": "SPLIT c", "label": NaN}\n'), {}, [], {62},
    ),
    "an answer that is not at its offset": (
        ANSWER, "jsonl", each(lines(*({"context": f"The cat sat {n} SPLIT", "question": "SPLIT?",
                                       "answers": {"text": ["sat"], "answer_start": [at]}}
                                      for n, at in enumerate((8, 8, 7, 99))))), {"no_answer": False}, [], {81},
    ),
    "a token that nobody sees": (
        SPANS, "jsonl", each(lines({"tokens": ["SPLIT", "a"], "tags": ["B-X", "O"]},
                                   {"tokens": ["SPLIT", "\u200b"], "tags": ["B-X", "O"]})),
        {"tag_scheme": "bio"}, [], {89},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_odd_sets(tmp_path: Path, case: str) -> None:
    layout, suffix, files, values, errors, rejected = ODD[case]
    outcome = stored(tmp_path, layout, suffix, files, **values)
    assert outcome["errors"] == errors
    assert outcome.get("rejected", set()) == rejected


def test_names_of_labels_are_no_numbers(tmp_path: Path) -> None:
    outcome = stored(tmp_path, CLASS, "csv", each("text,label\nSPLIT a,NA\nSPLIT b,007\nSPLIT c,7\n"))
    assert (outcome["errors"], outcome["rejected"]) == ([], set())
    assert [row["label"] for row in outcome["kept"]["train"]] == ["NA", "007", "7"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_labels_in_one_text_that_names_its_separator(tmp_path: Path, suffix: str) -> None:
    """The remedy of AB-065: the same labels as from a list, none in an empty cell, each once."""
    pairs = [(f"SPLIT {number}", cell) for number, cell in enumerate(["y; x", "x", "", "x;;y;x", " ; "])]
    if suffix == "jsonl":
        file = lines(*({"text": text, "labels": cell} for text, cell in pairs))
    else:
        file = "\n".join({"csv": ",", "tsv": "\t"}[suffix].join(pair) for pair in [("text", "labels"), *pairs]) + "\n"
    outcome = stored(tmp_path, LABELS, suffix, each(file), separator=";")
    assert (outcome["errors"], outcome["rejected"]) == ([], set())
    assert [row["labels"] for row in outcome["kept"]["dev"]] == [["x", "y"], ["x"], [], ["x", "y"], []]


@pytest.mark.parametrize(
    ("layout", "outputs", "expected"),
    [
        (CLASS, ("pos", "Neg"), "neg"),
        (LABELS, (["pos"], ["Neg", "pos", "neg"]), ["neg", "pos"]),
        (TAGS, (["pos", "O"], ["Neg", "B-Neg"]), ["neg", "B-Neg"]),
        (SPANS, (["B-pos", "O"], ["B-Neg", "I-Neg"]), ["B-neg", "I-neg"]),
    ],
)
def test_labels_that_are_renamed(tmp_path: Path, layout: Layout, outputs: Any, expected: Any) -> None:
    """Of spans their types; of tags the tags as they stand."""
    (given_column,), (output,) = layout.inputs, layout.outputs
    given_cells = [["word", f"SPLIT{n}"] if layout.is_tagged else f"SPLIT{n}" for n in range(2)]
    content = lines(*({given_column: cell, output: value} for cell, value in zip(given_cells, outputs, strict=True)))
    scheme = {"tag_scheme": "bio"} if layout == SPANS else {}
    outcome = stored(tmp_path, layout, "jsonl", each(content), map_labels={"Neg": "neg"}, **scheme)
    assert outcome["errors"] == []
    assert outcome["kept"]["test"][1][output] == expected
    assert read_json(tmp_path / "raw/manifest.json")["map_labels"] == {"Neg": "neg"}
