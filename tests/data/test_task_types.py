"""Validation of every task type: stored rows, compared texts, offsets and tags."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.config.schema.sources import Limits
from adaptbert.core.files import read_json
from adaptbert.data.cleaning import clean
from adaptbert.data.layout import Layout
from adaptbert.data.parquet import texts
from adaptbert.data.split import moved
from tests.support import raw
from tests.support.labelled_files import ANSWER, LABELS, NUMBER, SPANS, TAGS
from tests.support.raw import validated

PAIR = Layout("sentence_pair", "class")


def kept(folder: Path, split: str = "train") -> list[dict[str, Any]]:
    return raw.rows(folder / f"kept/{split}.parquet")


def rejected(folder: Path) -> list[tuple[str, int, int]]:
    return [(row["split"], row["line"], row["code"]) for row in raw.rows(folder / "rejected.parquet")]


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
        "shape": "extractive_answer",
        "target": "answer",
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
    validated(tmp_path, {**QUESTIONS, "train": [*QUESTIONS["train"], row]}, ANSWER, raw.LIMITS, no_answer=False)
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
    assert rejected(tmp_path) == [("train", 4, 71)]
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
    assert rejected(tmp_path) == [("train", 3, 71)], "the same letters split elsewhere are another pair"
    assert passed.accounts["train"].warnings["rows_sharing_a_text_with_test"] == 2
    assert kept(tmp_path)[0] == {"id": "train.csv-1", "text_a": "one", "text_b": "two", "label": "x"}
    assert passed.held_out == ["four", "five", "one", "three", "six", "seven"]


def test_multi_label(tmp_path: Path) -> None:
    splits = {"train": [("a", ["x", "y"]), ("b", [])], "dev": [("c", ["y"])], "test": [("d", [])]}
    assert validated(tmp_path, splits, LABELS).errors == []
    assert [row["labels"] for row in kept(tmp_path)] == [["x", "y"], []]
    assert task(tmp_path)["labels"] == ["x", "y"]
    splits = {"train": [("a", [])], "dev": [("c", [])], "test": [("d", ["z"])]}
    assert [error.code for error in validated(tmp_path, splits, LABELS).errors] == [60, 67]


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
    splits["train"].append(("f", float("nan")))
    validated(tmp_path, splits, NUMBER, raw.LIMITS, range=[-2.0, 7.5])
    assert rejected(tmp_path) == [("train", 3, 77), ("train", 4, 62)]
    assert task(tmp_path)["range"] == [-2.0, 1.5]


def test_values_outside_the_range_are_reported_with_it(tmp_path: Path) -> None:
    values = [0.5, 6, 6, 7, 8, 9, 10, float("inf")]
    splits = {split: [(f"{split} {n}", value) for n, value in enumerate(values)] for split in ("train", "dev", "test")}
    first, *_ = validated(tmp_path, splits, NUMBER, range=[0.0, 5.0]).errors
    assert (first.code, first.place) == (77, str(tmp_path / "raw/train.parquet"))
    assert "(value 6 is not in 0 to 5: 2, value 7 is not in 0 to 5: 1, " in first.problem
    assert "value 10 is not in 0 to 5: 1, and 1 more) at train.csv:2, " in first.problem
    assert "value inf is not finite" in {row["reason"] for row in raw.rows(tmp_path / "rejected.parquet")}


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
    passed = validated(tmp_path, rows, SPANS, raw.LIMITS, tag_scheme="bio", repair_tags=True)
    assert rejected(tmp_path) == [("train", 6, 89)], "a tag of no scheme cannot be repaired"
    assert kept(tmp_path)[-1]["tags"] == ["O", "B-X"]
    assert passed.accounts["train"].warnings["tags_mended"] == 2


def test_another_scheme_is_named_even_where_tags_may_be_repaired(tmp_path: Path) -> None:
    rows = tagged("iob1", ["I-X I-X O", "I-X B-X O", "I-X I-X O", "O I-Y B-Y", "I-X B-X I-X"])
    for repair in (False, True):
        errors = validated(tmp_path, rows, SPANS, tag_scheme="bio", repair_tags=repair).errors
        message = "3 of 3 rows are not bio; they look like iob1\n  write tag_scheme: iob1"
        assert [error.code for error in errors if message in str(error)] == [90]


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
