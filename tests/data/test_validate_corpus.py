"""Validation of corpora: every row is kept or rejected, dev and test text is rejected, and every error is reported."""

import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.config.schema.sources import Limits
from adaptbert.data.cleaning import key
from adaptbert.data.leaks import ForbiddenText
from adaptbert.data.validate_corpus import Corpus, validate_corpus
from tests.support import raw
from tests.support.raw import LIMITS, STRICT, rows

TEST_TEXT = "A sentence of the test split that is long enough to be looked for inside rows."


def validated(tmp_path: Path, limits: Limits = LIMITS, forbidden: tuple[str, ...] = ()) -> Corpus:
    return validate_corpus(
        tmp_path / "raw", tmp_path / "kept.parquet", tmp_path / "rejected.parquet", ForbiddenText(forbidden), limits
    )


def test_each_row_of_a_corpus_is_kept_or_rejected_with_its_reason(tmp_path: Path) -> None:
    """In a file that only its owner may read, and that holds no text."""
    read = ["The first document.", "the  FIRST document.", " ", "", "x", "\u200b", "long " * 41, "the test text",
            f"Quoted: {TEST_TEXT} So it goes.", "The second\u200b document."]  # fmt: skip
    raw.corpus(tmp_path / "raw", read)
    raw.unreadable(tmp_path / "raw", 2)
    corpus = validated(tmp_path, forbidden=("The test text!", TEST_TEXT))
    assert corpus.errors == []
    assert rows(tmp_path / "kept.parquet") == [
        {"id": "corpus.txt-1", "text": "The first document."},
        {"id": "corpus.txt-10", "text": "The second document."},
    ]
    rejected = rows(tmp_path / "rejected.parquet")
    assert [(row["id"], row["code"]) for row in rejected if row["file"] == "source.jsonl"] == [
        ("bad-0", 1),
        ("bad-1", 1),
    ]
    codes = {row["line"]: row["code"] for row in rejected if row["file"] == "corpus.txt"}
    assert codes == {2: 20, 3: 41, 4: 41, 5: 41, 6: 41, 7: 22, 8: 70, 9: 70}
    reasons = {"dev_or_test_text": 2, "duplicate": 1, "empty": 3, "too_long": 1, "too_short": 1, "unreadable": 2}
    assert corpus.account.as_json() == {
        "rows_in": 12, "kept": 2, "characters": 39, "rejected": reasons, "cleaned": {"zero_width": 2}, "warnings": {},
    }  # fmt: skip
    assert str(corpus.account).startswith("2 of 12 rows kept, dev or test text 2, duplicate 1, empty 3, ")
    assert stat.S_IMODE((tmp_path / "rejected.parquet").stat().st_mode) == 0o600
    assert not any(text in str(rejected) for text in (TEST_TEXT, "FIRST", "long long"))


TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["The same", "the same ", "THE\tSAME", "\u200b", "a", "test text", "x" * 250, f"a {TEST_TEXT} b"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, max_size=40), st.integers(0, 3))
def test_corpus_rows_in_are_rows_kept_and_rows_rejected(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], unreadable: int
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    raw.corpus(folder / "raw", texts)
    raw.unreadable(folder / "raw", unreadable)
    account = validated(folder, forbidden=("test text", TEST_TEXT)).account
    kept, rejected = rows(folder / "kept.parquet"), rows(folder / "rejected.parquet")
    read = [f"corpus.txt-{number}" for number in range(1, len(texts) + 1)]
    assert sorted(row["id"] for row in kept + rejected) == sorted(read + [f"bad-{n}" for n in range(unreadable)])
    assert (account.rows_in, account.kept) == (len(texts) + unreadable, len(kept))
    assert account.rejected.total() == len(rejected)
    keys = [key(row["text"]) for row in kept]
    assert len(set(keys)) == len(keys)
    assert not ForbiddenText(["test text", TEST_TEXT]).matches([row["text"] for row in kept]).any()


def test_batches_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A duplicate is found however far apart the two stand."""
    raw.corpus(tmp_path / "raw", [f"document {number % 37}" for number in range(50)])
    monkeypatch.setattr("adaptbert.data.validate_corpus.BATCH", 7)
    assert validated(tmp_path).account.rejected == Counter(duplicate=13)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "AB-018 {}: 0 of 0 documents left (it had none)\n  give more text"),
        (["a", "", "b"], "AB-018 {}: 0 of 3 documents left (empty: 1, too_short: 2)\n  give more text"),
        (["a text", ""], "AB-019 {}: 1 document cannot be split into training and held-out text\n  give more text"),
        (["same text"] * 200, "AB-020 {}: 1 distinct of 200 documents\n  give text that does not repeat itself"),
        (
            [("7", "one document"), ("8", "two documents"), ("7", "three documents")],
            "AB-086 {}: id '7' twice, at corpus.txt:1 and corpus.txt:3\n  give each row an id of its own",
        ),
    ],
)
def test_a_corpus_that_cannot_be_used(tmp_path: Path, texts: list[Any], message: str) -> None:
    raw.corpus(tmp_path / "raw", texts)
    errors = validated(tmp_path, STRICT).errors
    assert list(map(str, errors)) == [message.format(tmp_path / "raw" / "text.parquet")]


def test_rows_that_could_not_be_read_count_as_bad(tmp_path: Path) -> None:
    raw.corpus(tmp_path / "raw", [f"document {number}" for number in range(99)])
    raw.unreadable(tmp_path / "raw", 1)
    assert validated(tmp_path, STRICT).errors == [], "1 % is not more than 1 %"
    raw.unreadable(tmp_path / "raw", 7)
    (error,) = validated(tmp_path, STRICT).errors
    assert "7 of 106 rows cannot be read" in str(error)
    assert "source.jsonl:4 and 2 more" in str(error)
    assert error.code == 1
