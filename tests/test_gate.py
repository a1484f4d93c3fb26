"""The gate: nothing is lost, nothing that leaks gets through, and every fault is told."""

import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.contamination import ForbiddenText
from adaptbert.gate.corpus import Corpus, overlaps, pass_corpus
from adaptbert.gate.labelled import LabelledSet, pass_task
from adaptbert.gate.limits import Limits
from adaptbert.normalise import key, letters
from adaptbert.outputs import read_json
from tests import raw

LIMITS = Limits(min_characters=2, max_characters=200, max_bad_fraction=1.0)
STRICT = Limits(min_characters=2, max_characters=200, max_bad_fraction=0.01)
TEST_TEXT = "A sentence of the test split that is long enough to be looked for inside rows."


def gate_corpus(tmp_path: Path, limits: Limits = LIMITS, forbidden: tuple[str, ...] = ()) -> Corpus:
    return pass_corpus(
        tmp_path / "raw", tmp_path / "kept.parquet", tmp_path / "rejected.parquet", ForbiddenText(forbidden), limits
    )


def gate_task(tmp_path: Path, limits: Limits = LIMITS) -> LabelledSet:
    return pass_task(tmp_path / "raw", tmp_path / "kept", tmp_path / "rejected.parquet", limits)


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def codes(errors: list[Any]) -> list[int]:
    return [error.code for error in errors]


# ---- corpora


def test_each_row_of_a_corpus_is_kept_or_rejected_with_its_reason(tmp_path: Path) -> None:
    raw.corpus(
        tmp_path / "raw",
        [
            "The first document.",
            "the  FIRST document.",
            None,
            "",
            "x",
            "\u200b",
            "long " * 41,
            "the test text",
            f"Quoted: {TEST_TEXT} So it goes.",
            "The second\u200b document.",
        ],
    )
    raw.unreadable(tmp_path / "raw", 2)
    corpus = gate_corpus(tmp_path, forbidden=("The test text!", TEST_TEXT))
    assert corpus.errors == []
    assert rows(tmp_path / "kept.parquet") == [
        {"id": "corpus.txt-1", "text": "The first document."},
        {"id": "corpus.txt-10", "text": "The second document."},
    ]
    rejected = rows(tmp_path / "rejected.parquet")
    assert [(row["line"], row["code"]) for row in rejected if row["file"] == "corpus.txt"] == [
        (2, 20),
        (3, 41),
        (4, 74),
        (5, 74),
        (6, 74),
        (7, 22),
        (8, 55),
        (9, 55),
    ]
    assert [(row["id"], row["code"]) for row in rejected if row["file"] == "source.jsonl"] == [
        ("bad-0", 1),
        ("bad-1", 1),
    ]
    assert corpus.account.as_json() == {
        "rows_in": 12,
        "kept": 2,
        "characters": 39,
        "rejected": {
            "dev_or_test_text": 2,
            "duplicate": 1,
            "empty": 2,
            "text_null": 1,
            "too_long": 1,
            "too_short": 1,
            "unreadable": 2,
        },
        "cleaned": {"zero_width": 2},
        "warnings": {},
    }


def test_reject_file_is_private_and_holds_no_text(tmp_path: Path) -> None:
    raw.corpus(tmp_path / "raw", ["one document", "two documents", "my secret diary", "My secret diary"])
    gate_corpus(tmp_path)
    path = tmp_path / "rejected.parquet"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "secret" not in str(rows(path))


TEXTS = st.one_of(
    st.none(),
    st.text(max_size=12),
    st.sampled_from(["The same", "the same ", "THE\tSAME", "\u200b", "a", "test text", "x" * 250, f"a {TEST_TEXT} b"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, max_size=40), st.integers(0, 3))
def test_corpus_rows_in_are_rows_kept_and_rows_rejected(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str | None], unreadable: int
) -> None:
    folder = tmp_path_factory.mktemp("gate")
    raw.corpus(folder / "raw", texts)
    raw.unreadable(folder / "raw", unreadable)
    account = gate_corpus(folder, forbidden=("test text", TEST_TEXT)).account
    kept, rejected = rows(folder / "kept.parquet"), rows(folder / "rejected.parquet")
    read = [f"corpus.txt-{number}" for number in range(1, len(texts) + 1)]
    assert sorted(row["id"] for row in kept + rejected) == sorted(read + [f"bad-{n}" for n in range(unreadable)])
    assert (account.rows_in, account.kept) == (len(texts) + unreadable, len(kept))
    assert account.rejected.total() == len(rejected)
    keys = [key(row["text"]) for row in kept]
    assert len(set(keys)) == len(keys)
    assert not ForbiddenText(["test text", TEST_TEXT]).found_in([row["text"] for row in kept]).any()


def test_batches_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A duplicate is found however far apart the two stand."""
    raw.corpus(tmp_path / "raw", [f"document {number % 37}" for number in range(50)])
    monkeypatch.setattr("adaptbert.gate.corpus._BATCH", 7)
    assert gate_corpus(tmp_path).account.rejected == Counter(duplicate=13)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        pytest.param([], "AB-018 {}: 0 of 0 documents left (it had none); give more text", id="no rows"),
        pytest.param(
            ["a", "", "b"],
            "AB-018 {}: 0 of 3 documents left (empty: 1, too_short: 2); give more text",
            id="nothing left",
        ),
        pytest.param(
            ["one document", ""],
            "AB-019 {}: 1 document cannot be split into training and held-out text; give more text",
            id="one document",
        ),
        pytest.param(
            ["same text"] * 200,
            "AB-020 {}: 1 distinct of 200 documents; give text that does not repeat itself",
            id="all duplicates",
        ),
        pytest.param(
            ["\x00binary\x00", "more\x00text"],
            "AB-010 {}: 3 NUL to 14 other characters; a binary file? give text",
            id="binary",
        ),
        pytest.param(
            [("7", "one document"), ("8", "two documents"), ("7", "three documents")],
            "AB-086 {}: id '7' in rows corpus.txt:1 and corpus.txt:3; give each row an id of its own",
            id="repeated id",
        ),
        pytest.param(
            ["one document", "two documents", None],
            "AB-041 {}: 1 of 3 rows cannot be read or are not valid (text is null: 1) at corpus.txt:3; "
            "mend them, or raise validate.max_bad_fraction (0.01)",
            id="too many that are not valid",
        ),
    ],
)
def test_a_corpus_that_cannot_be_used(tmp_path: Path, texts: list[Any], message: str) -> None:
    raw.corpus(tmp_path / "raw", texts)
    errors = gate_corpus(tmp_path, STRICT).errors
    assert list(map(str, errors)) == [message.format(tmp_path / "raw" / "text.parquet")]


def test_rows_that_could_not_be_read_count_as_bad(tmp_path: Path) -> None:
    raw.corpus(tmp_path / "raw", [f"document {number}" for number in range(99)])
    raw.unreadable(tmp_path / "raw", 1)
    assert gate_corpus(tmp_path, STRICT).errors == [], "1 % is not more than 1 %"
    raw.unreadable(tmp_path / "raw", 7)
    (error,) = gate_corpus(tmp_path, STRICT).errors
    assert "7 of 106 rows cannot be read" in str(error)
    assert "source.jsonl:4 and 2 more" in str(error)
    assert error.code == 1


def test_overlap_with_general_text(tmp_path: Path) -> None:
    passed = {}
    for name, texts in {
        "general": ["one", "two", "three"],
        "domain": ["ONE", "two", "four"],
        "far": ["five", "six"],
    }.items():
        raw.corpus(tmp_path / name / "raw", texts)
        passed[name] = gate_corpus(tmp_path / name)
    assert overlaps(passed) == {"domain": pytest.approx(2 / 3), "far": 0.0}
    assert passed["domain"].account.warnings == {"texts_also_in_general": 2}
    assert passed["far"].account.warnings == {}


# ---- labelled sets

GOOD = {
    "train": [("good one", "pos"), ("bad one", "neg"), ("good two", "pos"), ("bad two", "neg")],
    "dev": [("good three", "pos"), ("bad three", "neg")],
    "test": [("good four", "pos"), ("bad four", "neg")],
}


def changed(**splits: list[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    """GOOD with rows added."""
    return {split: found + splits.get(split, []) for split, found in GOOD.items()}


def test_a_good_set_passes_whole(tmp_path: Path) -> None:
    raw.task(tmp_path / "raw", GOOD)
    passed = gate_task(tmp_path, STRICT)
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


def test_copies_of_dev_and_test_leave_the_other_splits(tmp_path: Path) -> None:
    more_held_out = [(f"held out {number}", "pos") for number in range(6)]
    raw.task(
        tmp_path / "raw",
        changed(
            train=[("good four", "pos"), ("Bad, four!", "neg"), ("good three", "pos"), ("x", "pos")],
            dev=[("BAD four", "neg"), *[(f"dev {text}", label) for text, label in more_held_out]],
            test=more_held_out,
        ),
    )
    passed = gate_task(tmp_path, STRICT)
    assert passed.errors == []
    assert [(row["split"], row["line"], row["code"]) for row in rows(tmp_path / "rejected.parquet")] == [
        ("train", 5, 70),
        ("train", 6, 71),
        ("train", 7, 70),
        ("dev", 3, 71),
    ]
    assert passed.accounts["train"].rejected == {"in_test": 2, "in_dev": 1}
    assert passed.accounts["train"].kept == 5, "a labelled row is not rejected for being short"


def test_a_split_given_twice_is_an_error(tmp_path: Path) -> None:
    raw.task(tmp_path / "raw", GOOD | {"dev": GOOD["test"]})
    errors = gate_task(tmp_path, STRICT).errors
    assert codes(errors) == [70, 18]
    assert "2 of 2 texts of test are in dev; split again" in str(errors[0])


@pytest.mark.parametrize(
    ("splits", "labels", "expected"),
    [
        pytest.param(changed(train=[("more", "Pos")]), None, [(66, "'Pos' and 'pos' are two labels")], id="case"),
        pytest.param(changed(train=[("more", "pos ")]), None, [(66, "'pos' and 'pos ' are two labels")], id="space"),
        pytest.param(
            changed(train=[("more", "negg")]),
            ["pos", "neg"],
            [(59, "unknown label 'negg' (did you mean 'neg'?) in train; known: neg, pos")],
            id="unknown",
        ),
        pytest.param(
            changed(test=[("more", "odd")]), None, [(60, "'odd' in test never seen in train")], id="only in test"
        ),
        pytest.param(
            {"train": [("a", "pos"), ("b", "pos")], "dev": [("c", "pos")], "test": [("d", "pos")]},
            None,
            [(67, "1 class in train")],
            id="one class",
        ),
        pytest.param(
            changed(train=[("more", None)]), None, [(62, "label missing: 1) at train.csv:5")], id="label missing"
        ),
        pytest.param(changed(dev=[("", "pos")]), None, [(74, "text is empty: 1) at dev.csv:3")], id="empty text"),
        pytest.param(
            {split: [(f"id-{place}", *row) for place, row in enumerate(found)] for split, found in GOOD.items()}
            | {"test": [("7", "good four", "pos"), ("7", "bad four", "neg")]},
            None,
            [(86, "id '7' in rows test.csv:1 and test.csv:2")],
            id="repeated id",
        ),
        pytest.param(GOOD | {"dev": []}, None, [(18, "0 of 0 rows left")], id="empty split"),
    ],
)
def test_a_set_that_cannot_be_used(
    tmp_path: Path, splits: dict[str, Any], labels: list[str] | None, expected: list[tuple[int, str]]
) -> None:
    raw.task(tmp_path / "raw", splits, **({"labels": labels} if labels else {}))
    errors = gate_task(tmp_path, STRICT).errors
    assert codes(errors) == [code for code, _ in expected]
    for error, (_, part) in zip(errors, expected, strict=True):
        assert part in str(error)


def test_all_faults_of_a_set_are_told_together(tmp_path: Path) -> None:
    raw.task(tmp_path / "raw", changed(train=[("more", "Pos"), ("", "neg")], test=[("more yet", "odd")]))
    assert codes(gate_task(tmp_path, STRICT).errors) == [74, 66, 60]


def test_warnings_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    raw.task(tmp_path / "raw", changed(train=[("Good  one", "neg"), ("good two", "pos"), ("more", "rare")]))
    passed = gate_task(tmp_path, STRICT)
    assert passed.errors == []
    assert passed.accounts["train"].warnings == {
        "labels_only_in_train": 1,
        "labels_with_one_example": 1,
        "repeated_texts": 2,
        "texts_with_conflicting_labels": 1,
    }
    assert "1 texts carry different labels, e.g. rows train.csv-1, train.csv-5" in caplog.text
    assert "good" not in caplog.text


TAGGED = {
    "train": [(["Paris", "is", "big"], ["B-LOC", "O", "O"]), (["Ann", "Lee", "won"], ["B-PER", "I-PER", "O"])],
    "dev": [(["Bob"], ["B-PER"])],
    "test": [(["Rome", "fell\u200b"], ["B-LOC", "O"])],
}


def test_a_tagged_set(tmp_path: Path) -> None:
    raw.task(tmp_path / "raw", TAGGED, raw.SPANS, tag_scheme="bio")
    passed = gate_task(tmp_path, STRICT)
    assert passed.errors == []
    assert passed.held_out == ["Bob", "Rome fell"]
    task = read_json(tmp_path / "kept/task.json")
    assert (task["shape"], task["labels"]) == ("sequence_labelling", ["LOC", "PER"])
    assert rows(tmp_path / "kept/test.parquet") == [
        {"id": "test.csv-1", "tokens": ["Rome", "fell"], "tags": ["B-LOC", "O"]}
    ]


def test_another_tagging_scheme_is_an_error(tmp_path: Path) -> None:
    iob1 = {split: [(tokens, ["I" + tag[1:] if "-" in tag else tag for tag in tags]) for tokens, tags in found]
            for split, found in TAGGED.items()}  # fmt: skip
    raw.task(tmp_path / "raw", iob1, raw.SPANS, tag_scheme="bio")
    errors = gate_task(tmp_path, STRICT).errors
    assert 90 in codes(errors)
    assert "2 of 2 rows are not bio; they look like io; write tag_scheme: io" in str(errors[0])


def test_one_slip_among_many_rows_is_rejected(tmp_path: Path) -> None:
    many = [([f"word{number}"], ["O"]) for number in range(200)]
    raw.task(
        tmp_path / "raw",
        TAGGED | {"train": [*TAGGED["train"], *many, (["slip"], ["I-LOC"])]},
        raw.SPANS,
        tag_scheme="bio",
    )
    passed = gate_task(tmp_path, STRICT)
    assert passed.errors == []
    assert passed.accounts["train"].rejected == {"tag_illegal": 1}


LABELLED = st.tuples(
    st.one_of(st.none(), st.sampled_from(["one", "One!", "two", "", "three", "x" * 250]), st.text(max_size=5)),
    st.sampled_from(["pos", "neg", None, " "]),
)


@settings(max_examples=40, deadline=None)
@given(st.fixed_dictionaries({split: st.lists(LABELLED, max_size=10) for split in GOOD}), st.integers(0, 2))
def test_task_rows_in_are_rows_kept_and_rows_rejected(
    tmp_path_factory: pytest.TempPathFactory, splits: dict[str, list[tuple[Any, ...]]], unreadable: int
) -> None:
    folder = tmp_path_factory.mktemp("gate")
    raw.task(folder / "raw", splits)
    raw.unreadable(folder / "raw", unreadable, split="dev")
    passed = gate_task(folder)
    rejected = rows(folder / "rejected.parquet")
    kept = {split: rows(folder / "kept" / f"{split}.parquet") for split in splits}
    for split, found in splits.items():
        ids = [row["id"] for row in kept[split]] + [row["id"] for row in rejected if row["split"] == split]
        read = [f"{split}.csv-{number}" for number in range(1, len(found) + 1)]
        assert sorted(ids) == sorted(read + ([f"bad-{n}" for n in range(unreadable)] if split == "dev" else []))
        assert passed.accounts[split].rows_in == len(ids)
    texts = {split: {letters(row["text"]) for row in found} for split, found in kept.items()}
    assert not texts["test"] & (texts["dev"] | texts["train"])
    assert not texts["dev"] & texts["train"]
