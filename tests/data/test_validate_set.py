"""Validation of labelled sets, from raw rows to those that are stored: what is kept, rejected, refused."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.config.schema.sources import Limits
from adaptbert.core.files import read_json
from adaptbert.data.cleaning import clean, letters
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.parquet import texts
from adaptbert.data.schema import faulty
from adaptbert.data.task_description import TaskDescription
from adaptbert.data.validate_rows import moved
from adaptbert.errors import BadData
from tests.support import raw
from tests.support.raw import LIMITS, STRICT, rows, table, validated
from tests.support.reading import ANSWER, CLASS, LABELS, NUMBER, PAIR, SPANS, TAGS

Rows = list[tuple[Any, ...]]
SPLITS = ("train", "dev", "test")


@dataclass
class Case:
    """A set, and what validation makes of it; what is left out is not looked at.

    Attributes:
        splits: rows, without ids where these do not matter.
        about: what params.yaml says of it.
        errors: codes, and words of each message.
        rejected: split, line and code of each row.
        kept: split -> its last rows, but for their ids.
        task: keys of task.json.
        warnings: of the training rows.
    """

    layout: Layout
    splits: dict[str, Rows]
    about: dict[str, Any] = field(default_factory=dict)
    errors: list[tuple[int, str]] = field(default_factory=list)
    rejected: list[tuple[str, int, int]] | None = None
    kept: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    task: dict[str, Any] = field(default_factory=dict)
    held_out: list[str] | None = None
    warnings: dict[str, int] | None = None
    limits: Limits = STRICT


GOOD: dict[str, Rows] = {
    "train": [("good one", "pos"), ("bad one", "neg"), ("good two", "pos"), ("bad two", "neg")],
    "dev": [("good three", "pos"), ("bad three", "neg")],
    "test": [("good four", "pos"), ("bad four", "neg")],
}
TAGGED: dict[str, Rows] = {
    "train": [(["Paris", "is", "big"], ["B-LOC", "O", "O"]), (["Ann", "Lee", "won"], ["B-PER", "I-PER", "O"])],
    "dev": [(["Bob"], ["B-PER"])],
    "test": [(["Rome", "fell\u200b"], ["B-LOC", "O"])],
}
PAIRS: dict[str, Rows] = {
    "train": [("one", "two", "x"), ("two", "one", "y"), ("One!", "three", "x"), ("on", "ethree", "y")],
    "dev": [("four", "five", "x")],
    "test": [("one", "three", "x"), ("six", "seven", "y")],
}


def asked(context: str, question: str, *answers: tuple[str, int]) -> tuple[Any, ...]:
    return context, question, [{"text": text, "start": start} for text, start in answers]


QUESTIONS: dict[str, Rows] = {
    "train": [asked("The cat sat.", "who?", ("The cat", 0), ("cat", 4)), asked("The cat sat.", "what?", ("sat", 8))],
    "dev": [asked("A dog ran.", "who?", ("dog", 2))],
    "test": [asked("A cow ate.", "who?", ("cow", 2))],
}
HIDDEN = asked("\u200b \x1b[31mThe\u200b cat\u2028sat on\x00 it.", "?", ("cat\u2028sat", 12), ("on\x00 it", 20))
COPIED = [asked("A cow ate.", "what?", ("ate", 6)), asked("A COW ate", "Who", ("COW", 2))]
NUMBERS: dict[str, Rows] = {"train": [("a", 1.5), ("b", -2.0), ("c", 9.0)], "dev": [("d", 0.0)], "test": [("e", 7.0)]}
OUTSIDE = [0.5, float("inf"), 6, 6, 7, 8, 9, 10, 0.7]
HALF = Limits(min_characters=2, max_characters=99, max_bad_fraction=0.4)
LIKE_IOB1 = "3 of 3 rows are not bio; they look like iob1\n  write tag_scheme: iob1"


def more(splits: dict[str, Rows], **added: Rows) -> dict[str, Rows]:
    return {split: of_split + added.get(split, []) for split, of_split in splits.items()}


def beside(label: str, others: Sequence[str]) -> dict[str, Rows]:
    """A set with all of these labels, the first in two of its rows."""
    rows = {split: [(f"{split} {number}", other) for number, other in enumerate(others)] for split in SPLITS}
    return more(rows, train=[("one odd", label)], test=[("another", label)])


def tagged(*tags: str) -> dict[str, Rows]:
    """One row in each of dev and test, the rest in train; all texts differ."""
    tagged_rows: Rows = [([f"w{n}-{at}" for at in range(len(row.split()))], row.split()) for n, row in enumerate(tags)]
    return {"dev": tagged_rows[:1], "test": tagged_rows[1:2], "train": tagged_rows[2:]}


BROKEN = tagged("B-X O", "B-X O", *["B-X I-X"] * 4, "O I-X", "O X")
MIXED = tagged("B-X I-X", "B-X I-X", "B-X I-X", "B-Y O", "I-X O")
CASES = {
    "a good set": Case(
        CLASS, GOOD, rejected=[],
        kept={"dev": [{"text": "good three", "label": "pos"}, {"text": "bad three", "label": "neg"}]},
        task={"type": "text-classification", "labels": ["neg", "pos"], "rows": {"train": 4, "dev": 2, "test": 2}},
        held_out=["good three", "bad three", "good four", "bad four"],
    ),
    "replacements are in task.json": Case(CLASS, GOOD, {"replace": [["@", "x"]]}, task={"replace": [["@", "x"]]}),
    "copies leave the other splits; short rows do not": Case(
        CLASS,
        more(GOOD, train=[("good four", "pos"), ("Bad, four!", "neg"), ("good three", "pos"), ("x", "pos")],
             dev=[("BAD four", "neg"), *[(f"dev held out {n}", "pos") for n in range(6)]],
             test=[(f"held out {n}", "pos") for n in range(6)]),
        rejected=[("train", 5, 70), ("train", 6, 70), ("train", 7, 70), ("dev", 3, 70)],
        kept={"train": [{"text": "x", "label": "pos"}]},
    ),
    "equal splits": Case(
        CLASS, GOOD | {"dev": GOOD["test"]},
        errors=[(70, "2 of 2 texts of test are in dev\n  split again"), (18, "0 of 2 rows left (in_test: 2)")],
    ),
    "a label that params.yaml does not name": Case(
        CLASS, more(GOOD, train=[("more", "negg")]), {"labels": ["pos", "neg"]},
        [(59, "labels of train that are not among `labels`: 1 x 'negg' (did you mean 'neg'?), first in "
              "train.csv:5 (row 'train.csv-5')\n  known: 'neg', 'pos'")],
    ),
    "labels that train never shows": Case(
        CLASS, more(GOOD, dev=[("other", "odd 0")], test=[(f"more {n}", f"odd {n}") for n in range(9)]),
        errors=[(60, "labels of dev that train never shows: 1 x 'odd 0', first in dev.csv:3 (row 'dev.csv-3')\n  "
                     "add training rows, or write map_labels: {'odd 0': a label of train}"),
                (60, "1 x 'odd 4', first in test.csv:7 (row 'test.csv-7') and 4 more\n")],
    ),
    "a few texts with another label elsewhere are counted": Case(
        CLASS, more(GOOD, train=[("good one", "neg"), ("good one", "pos")]), rejected=[],
        warnings={"rows_whose_text_has_another_label": 3},
    ),
    "most texts have another label elsewhere": Case(
        CLASS, more(GOOD, train=[("good one", "neg"), ("bad one", "pos"), ("bad two", "neg")]),
        warnings={"rows_whose_text_has_another_label": 4},
    ),
    "values of one text that differ": Case(
        NUMBER, {"train": [("a", 1.0), ("a", 2.0)], "dev": [("b", 1.0)], "test": [("c", 2.0)]},
        warnings={"rows_whose_text_has_another_label": 2},
    ),
    **{
        f"{label} beside {others}, {said}": Case(
            CLASS, beside(label, others), said,
            [(62, f"usually no label: '{label}' (2 rows)\n  write map_labels: {{'{label}': null}} below tasks.raw to "
                  "leave these rows out; a label that is one is mapped to itself")] if is_asked else [],
        )
        for label, others, said, is_asked in (
            *((label, ("x", "y"), {}, True) for label in ("-", "nan", "NaN", "<NA>")),
            ("-1", ("0", "1", "2"), {}, True), ("-1", ("0", "1"), {}, False), ("-", ("+", "0"), {}, False),
            ("-1", ("-2", "0", "1", "2"), {}, False), ("-", ("x",), {}, False),
            ("-", ("x", "y"), {"map_labels": {"-": "-"}}, False),
            ("-1", ("0", "1", "2"), {"labels": ["-1", "0", "1", "2"]}, False),
        )
    },
    "test labels that are hidden": Case(
        CLASS, {**beside("1", ("0",)), "test": [("odd", "-1"), ("other", "-1")]},
        errors=[(62, "usually no label: '-1' (2 rows)\n  write map_labels: {'-1': null} below tasks.raw")],
    ),
    "no label": Case(CLASS, more(GOOD, train=[("more", " ")]), errors=[(62, "label missing: 1) at train.csv:5")]),
    "no row": Case(CLASS, GOOD | {"dev": []}, errors=[(18, "0 of 0 rows left")]),
    "one class": Case(CLASS, {s: [(s, "x"), (s * 2, "x")] for s in SPLITS}, errors=[(19, "1 class in train; 'class'")]),
    "one value": Case(NUMBER, {s: [(s, 1.0), (s * 2, 1.0)] for s in SPLITS}, errors=[(19, "target is constant")]),
    "an id twice": Case(
        CLASS, GOOD | {"dev": [("7", "a", "pos"), ("8", "b", "pos"), ("7", "c", "neg")]},
        errors=[(86, "id '7' twice, at dev.csv:1 and dev.csv:3\n  give each row an id of its own")],
    ),
    "all errors together": Case(
        CLASS, more(GOOD, train=[("more", "Pos"), ("", "neg")], test=[("more yet", "odd")]),
        errors=[(41, "text is empty: 1) at train.csv:6"), (59, "'Pos' and 'pos' are two"), (60, "1 x 'odd'")],
    ),
    "the positive label": Case(CLASS, GOOD, {"positive": "pos"}, task={"positive": "pos"}),
    "a positive label that no row has": Case(
        CLASS, GOOD, {"positive": "yes"}, [(59, "positive is 'yes', which no training row has\n  known: 'neg', 'pos'")]
    ),
    "spans": Case(
        SPANS, TAGGED, {"tag_scheme": "bio"}, held_out=["Bob", "Rome fell"],
        kept={"test": [{"tokens": ["Rome", "fell"], "tags": ["B-LOC", "O"]}]},
        task={"type": "token-classification", "labels": ["LOC", "PER"]},
    ),
    **{
        f"{scheme} is stored as bio": Case(
            SPANS, tagged(*[row] * 4), {"tag_scheme": scheme}, task={"labels": ["X", "Y"]},
            kept={"train": [{"tokens": [f"w3-{n}" for n in range(4)], "tags": ["B-X", "I-X", "O", "B-Y"]}]},
        )
        for scheme, row in (("io", "I-X I-X O I-Y"), ("bio", "B-X I-X O B-Y"), ("iob1", "I-X I-X O I-Y"),
                            ("iobes", "B-X E-X O S-Y"))
    },
    "tags that break the scheme": Case(
        SPANS, BROKEN, {"tag_scheme": "bio"}, rejected=[("train", 5, 89), ("train", 6, 89)], limits=HALF
    ),
    "tags that are repaired, but for one of no scheme": Case(
        SPANS, BROKEN, {"tag_scheme": "bio", "repair_tags": True}, rejected=[("train", 6, 89)], limits=LIMITS,
        kept={"train": [{"tokens": ["w6-0", "w6-1"], "tags": ["O", "B-X"]}]}, warnings={"tags_mended": 2},
    ),
    "mixed schemes": Case(
        SPANS, MIXED, {"tag_scheme": "bio"},
        [(89, "1 of 3 rows are not bio, and no other scheme fits more: a mixture?\n  repair_tags: true")],
    ),
    **{  # io has bare types, so that these would be entities of the types B_X and I_X
        f"another spelling, declared {scheme}": Case(
            SPANS, tagged(*["B_X I_X 0"] * 4), {"tag_scheme": scheme, "map_labels": {"x": "y"}},
            [(89, f"the file writes 'I-X' as 'I_X', first in {split}.csv:1\n  write map_labels: {{'x': 'y', '0': 'O', "
                  f"'B_X': 'B-X', 'I_X': 'I-X'}} below tasks.raw, in place of what it says{other}")
             for split in SPLITS],
        )
        for scheme, other in (("bio", ""), ("io", ", and tag_scheme: bio"))
    },
    **{
        f"{name} in tags": Case(
            SPANS, tagged(*[f"{wrong} O"] * 3, f"{right} O"), {"tag_scheme": "bio"},
            [(89, f"the file writes '{right}' as '{wrong}' ({name}), first in {split}.csv:1\n  write map_labels: "
                  f"{{'{wrong}': '{right}'}} below tasks.raw") for split in SPLITS],
        )
        for name, wrong, right in (
            ("CYRILLIC CAPITAL LETTER O", "\u041e", "O"), ("GREEK CAPITAL LETTER OMICRON", "\u039f", "O"),
            ("CYRILLIC CAPITAL LETTER VE", "\u0412-X", "B-X"),
        )
    },
    "types in Cyrillic are types": Case(
        SPANS, tagged(*["B-\u041e\u0422 O"] * 3), {"tag_scheme": "bio"}, task={"labels": ["\u041e\u0422"]}
    ),
    "a label with a letter that looks Latin": Case(
        CLASS, more(GOOD, train=[("more", "p\u043es")]),
        errors=[(59, "'pos' and 'p\u043es' (CYRILLIC SMALL LETTER O) are two labels, first in train.csv:1")],
    ),
    "blank tokens are left out with their tags": Case(
        SPANS, TAGGED | {"train": [([*"a\u3000b c\u200b"], ["B-PER", "I-PER", "I-PER", "B-LOC", "I-LOC", "O"])]},
        {"tag_scheme": "bio"}, kept={"train": [{"tokens": ["a", "b", "c"], "tags": ["B-PER", "I-PER", "B-LOC"]}]},
        warnings={"blank_tokens_left_out": 3}, rejected=[],
    ),
    "a blank token that is a span of its own": Case(
        TAGS, {s: [(["Ann", " ", s], ["N", "X", "-"])] for s in SPLITS},
        kept={"train": [{"tokens": ["Ann", "train"], "tags": ["N", "-"]}]},
    ),
    **{
        f"tags of no scheme, declared {scheme}, repaired: {repair}": Case(
            SPANS, tagged(*["(X* *) O"] * 4), {"tag_scheme": scheme, "repair_tags": repair},
            [(89, "most rows have tags of no scheme\n  map the column of the tags")] * 3,
        )
        for scheme, repair in (("bio", False), ("bio", True), ("io", False))
    },
    **{
        f"one row with a tag of no scheme, repaired: {repair}": Case(
            SPANS, tagged(*["B-X I-X O"] * 9, "B-X odd:tag O"), {"tag_scheme": "bio", "repair_tags": repair},
            [(89, "1 of 8 rows cannot be read or are not valid (the tags break the scheme of the file: 1) at "
                  "train.csv:8\n  mend them")],
        )
        for repair in (False, True)
    },
    "mixed schemes, repaired": Case(SPANS, MIXED, {"tag_scheme": "bio", "repair_tags": True}),
    "tags": Case(
        TAGS, {s: [(["Ann", s], ["N", "-"])] for s in SPLITS}, task={"type": "token-tags", "labels": ["-", "N"]},
        kept={"train": [{"tokens": ["Ann", "train"], "tags": ["N", "-"]}]},
    ),
    "questions": Case(
        ANSWER, QUESTIONS, {"no_answer": False}, held_out=["A dog ran.", "who?", "A cow ate.", "who?"],
        kept={"dev": [{"context": "A dog ran.", "question": "who?", "answers": [{"text": "dog", "start": 2}]}]},
        task={"type": "question-answering", "labels": [], "rows": {"train": 2, "dev": 1, "test": 1},
              "no_answer": False},
    ),
    "answers move with their text": Case(
        ANSWER, QUESTIONS | {"train": [HIDDEN]}, {"no_answer": False},
        kept={"train": [{"context": "The cat sat on it.", "question": "?",
                         "answers": [{"text": "cat sat", "start": 4}, {"text": "on it", "start": 12}]}]},
    ),
    "an answer of hidden characters": Case(
        ANSWER, more(QUESTIONS, train=[asked("a\u200b b", "?", ("\u200b", 1))]), {"no_answer": False}, limits=LIMITS,
        rejected=[("train", 3, 81)],
    ),
    "the only question of test is asked in train": Case(
        ANSWER, more(QUESTIONS, train=COPIED), {"no_answer": False}, [(70, "1 of 1 texts of test are in train")]
    ),
    "a shared context is counted, a shared question is not": Case(
        ANSWER, more(QUESTIONS, train=COPIED, test=[asked("An ox slept.", "who?", ("ox", 3))]), {"no_answer": False},
        rejected=[("train", 4, 70)], warnings={"rows_sharing_a_text_with_test": 1},
    ),
    "questions without an answer": Case(
        ANSWER, more(QUESTIONS, dev=[asked("Nobody.", "where?")]), {"no_answer": False},
        [(62, "1 questions without an answer, the first at dev.csv:2\n  unanswerable questions need no_answer: true")],
    ),
    "questions that need no answer": Case(
        ANSWER, more(QUESTIONS, dev=[asked("Nobody.", "where?")]), {"no_answer": True}, task={"no_answer": True},
        kept={"dev": [{"context": "Nobody.", "question": "where?", "answers": []}]},
    ),
    "pairs are compared as pairs": Case(
        PAIR, PAIRS, rejected=[("train", 3, 70)], warnings={"rows_sharing_a_text_with_test": 2},
        kept={"train": [{"text_a": "on", "text_b": "ethree", "label": "y"}]},
        held_out=["four", "five", "one", "three", "six", "seven"],
    ),
    "several labels": Case(
        LABELS, {"train": [("a", ["x", "y"]), ("b", [])], "dev": [("c", ["y"])], "test": [("d", [])]},
        kept={"train": [{"text": "a", "labels": ["x", "y"]}, {"text": "b", "labels": []}]}, task={"labels": ["x", "y"]},
    ),
    "no label of several": Case(
        LABELS, {"train": [("a", [])], "dev": [("c", [])], "test": [("d", ["z"])]},
        errors=[(60, "1 x 'z'"), (19, "0 class in train")],
    ),
    "numbers": Case(NUMBER, NUMBERS, task={"labels": [], "range": [-2.0, 9.0]}),
    "numbers in a range": Case(
        NUMBER, more(NUMBERS, train=[("f", float("inf"))]), {"range": [-2.0, 7.5]}, task={"range": [-2.0, 1.5]},
        rejected=[("train", 3, 65), ("train", 4, 65)], limits=LIMITS,
    ),
    "values outside the range are reported with it, five of many": Case(
        NUMBER, NUMBERS | {"train": [(f"{n}", value) for n, value in enumerate(OUTSIDE)], "test": [("e", 4.0)]},
        {"range": [0.0, 5.0]},
        [(65, "train.parquet: 7 of 9 rows cannot be read or are not valid (value 6 is not in 0 to 5: 2, value inf is "
              "not finite: 1, value 7 is not in 0 to 5: 1, value 8 is not in 0 to 5: 1, value 9 is not in 0 to 5: 1 "
              "and 1 more) at train.csv:2, train.csv:3, train.csv:4, train.csv:5, train.csv:6 and 2 more\n  mend th")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "read", "expected"),
    [
        (CLASS, [("fine", "x"), (" \t", "x"), ("text", " "), ("", "")], {1: "empty", 2: "label_missing", 3: "empty"}),
        (PAIR, [("a", "b", "x"), ("a", " ", "x")], {1: "text_missing"}),
        (NUMBER, [("a", 1.5), ("b", float("inf")), ("c", 6.0)], {1: "out_of_range", 2: "out_of_range"}),
        (SPANS, [(["a", "b"], ["B-X", "I-X"]), ([], []), (["a", " "], ["O", "O"])], {1: "empty"}),
        (SPANS, [(["\u200b"], ["O"]), (["a"], ["I-X"]), (["a", ""], ["O", "O"]), (["\u3000", " "], ["O", "O"])],
         {0: "empty", 1: "tag_illegal", 2: "token_empty", 3: "empty"}),
        (TAGS, [(["a"], ["I-X"]), (["a"], [" "])], {1: "label_missing"}),
        (ANSWER, [("The cat", "?", [{"text": "cat", "start": at}]) for at in (4, 3, 5, -1)],
         {1: "answer_elsewhere", 2: "offset_outside", 3: "offset_outside"}),
        (CORPUS, [], {}),
    ],
)  # fmt: skip
def test_all_faults_of_all_rows_each_by_its_gravest(layout: Layout, read: list[Any], expected: dict[int, str]) -> None:
    frame = table(layout, read, "source.csv").to_pandas()
    reasons = faulty(frame, layout, "bio", (0, 5))
    assert {row: reason.name for row, reason in reasons.items()} == expected


@pytest.mark.parametrize("name", CASES)
def test_what_is_kept_rejected_and_refused(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    passed = validated(tmp_path, case.splits, case.layout, case.limits, **case.about)
    assert [error.code for error in passed.errors] == [code for code, _ in case.errors]
    for error, (_, words) in zip(passed.errors, case.errors, strict=True):
        assert words in str(error)
    if case.rejected is not None:
        rejected = rows(tmp_path / "rejected.parquet")
        assert [(row["split"], row["line"], row["code"]) for row in rejected] == case.rejected
    for split, expected in case.kept.items():
        assert [row | {"id": ""} for row in rows(tmp_path / f"kept/{split}.parquet")][-len(expected) :] == [
            {"id": ""} | row for row in expected
        ]
        assert pq.read_schema(tmp_path / f"kept/{split}.parquet").equals(case.layout.arrow())
    task = read_json(tmp_path / "kept/task.json")
    assert {key: task[key] for key in case.task} == case.task
    assert case.held_out in (None, passed.held_out)
    assert case.warnings in (None, passed.accounts["train"].warnings)


def test_the_text_for_masked_language_modelling(tmp_path: Path) -> None:
    validated(tmp_path, QUESTIONS, ANSWER, no_answer=False)
    assert next(texts(tmp_path / "kept/train.parquet")) == ("train.csv-1", "The cat sat. who?")
    validated(tmp_path, TAGGED, SPANS, tag_scheme="bio")
    assert list(texts(tmp_path / "kept/dev.parquet")) == [("dev.csv-1", "Bob")]


def test_a_description_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text('{"type": "regression", "labels": []}', encoding="utf-8")
    with pytest.raises(BadData, match=r"AB-124 .*task\.json: type 'regression' needs 'range'\n  restore the file"):
        TaskDescription.read(tmp_path)


@pytest.mark.parametrize("repair", [False, True])
def test_another_scheme_is_named_even_where_tags_may_be_repaired(tmp_path: Path, *, repair: bool) -> None:
    splits = tagged("I-X I-X O", "I-X B-X O", "I-X I-X O", "O I-Y B-Y", "I-X B-X I-X")
    errors = validated(tmp_path, splits, SPANS, tag_scheme="bio", repair_tags=repair).errors
    assert [error.code for error in errors if LIKE_IOB1 in str(error)] == [89]


LABELLED = st.tuples(
    st.one_of(st.sampled_from(["one", "One!", "two", "", "three", "x" * 250]), st.text(max_size=5)),
    st.sampled_from(["pos", "neg", " "]),
)


@settings(max_examples=40, deadline=None)
@given(
    st.fixed_dictionaries({split: st.lists(LABELLED, max_size=10) for split in SPLITS}),
    st.integers(0, 2),
    st.sampled_from([1, 229]),
)
def test_rows_in_are_rows_kept_and_rows_rejected(
    tmp_path_factory: pytest.TempPathFactory, splits: dict[str, Rows], unreadable: int, code: int
) -> None:
    folder = tmp_path_factory.mktemp("set")
    (folder / "raw").mkdir()
    raw.unreadable(folder / "raw", unreadable, split="dev", code=code)
    passed = validated(folder, splits, limits=LIMITS)
    rejected = rows(folder / "rejected.parquet")
    assert {reject.code for account in passed.accounts.values() for reject in account.invalid} <= {1, 41, 62, 22}
    kept = {split: rows(folder / "kept" / f"{split}.parquet") for split in splits}
    for split, rows_of_split in splits.items():
        ids = [row["id"] for row in kept[split]] + [row["id"] for row in rejected if row["split"] == split]
        read = [f"{split}.csv-{number}" for number in range(1, len(rows_of_split) + 1)]
        assert sorted(ids) == sorted(read + ([f"bad-{n}" for n in range(unreadable)] if split == "dev" else []))
        assert (
            passed.accounts[split].rows_in
            == len(ids)
            == passed.accounts[split].kept + sum(passed.accounts[split].rejected.values())
        )
    texts = {split: {letters(row["text"]) for row in rows_of_split} for split, rows_of_split in kept.items()}
    assert not texts["test"] & (texts["dev"] | texts["train"])
    assert not texts["dev"] & texts["train"]


@given(st.text(st.sampled_from("ab中\u0301\U0001f600 \n\u200b\x00\u2028\x1b[1m"), min_size=1, max_size=30), st.data())
def test_moved_answers_are_where_they_say(context: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(context) - 1))
    end = data.draw(st.integers(first + 1, len(context)))
    for answer in moved(context, [{"text": context[first:end], "start": first}]) or ():
        assert clean(context)[0][answer["start"] :].startswith(answer["text"])
        assert answer["text"].strip()
