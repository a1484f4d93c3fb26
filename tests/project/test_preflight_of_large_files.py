"""adaptbert check reads the first rows of a large file: what it says of them, and in which time."""

import gzip
import time
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import load as params
from adaptbert.project import preflight
from tests.support.checked_files import check_errors, good, lines, mood, words, write, write_document
from tests.support.commands import run


def test_of_a_large_file_the_first_rows_are_read(own: Path) -> None:
    """And nothing is said that the others could mend: here the label of dev comes late in train."""
    late = [{"text": words(n), "label": "ab"[n > 8000]} for n in range(10_000)]
    dev = lines("dev.jsonl", *({"text": words(n + 20_000), "label": "b"} for n in range(20)))
    write(None, None, mood=mood(train=lines("train.jsonl", *late), dev=dev, test=good("test.jsonl", 20, 30_000)))
    assert check_errors() == []
    write(None, None, mood=mood(train=lines("train.jsonl", *("not json" for _ in range(300)), *late), dev=dev))
    assert check_errors() == [
        "AB-018 data/own/train.jsonl: 0 of 200 documents left: 200 x not a JSON object\n  mend them"
    ]


def with_limit(bad: int, limit: float) -> str:
    """A corpus of 10,000 rows of whose first 200 some, from the third on, are no JSON; what check prints of it."""
    rows = [{"text": words(n)} for n in range(10_000)]
    path = lines("posts.jsonl", *rows[:2], *["not json"] * bad, *rows[2:])
    write({"general": path})
    write_document(params.read(Path("params.yaml")) | {"validate": {"max_bad_fraction": limit}})
    done = run("check")
    lines_of = (done.stdout + done.stderr).splitlines(keepends=True)
    return "".join(line for line in lines_of if not line.startswith("notice: params.yaml: "))


@pytest.mark.parametrize(
    ("bad", "limit", "stops"), [(2, 0.01, None), (3, 0.01, "0.01"), (100, 0.3, "0.3"), (36, 0.3, None), (36, 0.0, "0")]
)
def test_bad_first_rows_of_a_large_file_are_reported(own: Path, bad: int, limit: float, stops: str | None) -> None:
    """More than the limit is a notice with the limit that params.yaml has: the rest of the file may make up."""
    printed = with_limit(bad, limit)
    assert ("notice:" in printed, "error" in printed) == (stops is not None, False), printed
    if stops is not None:
        assert (
            f"notice: corpora.general: data/own/posts.jsonl: {bad} of the first 200 rows cannot be read or are not "
            f"valid (not a JSON object: {bad}), the first at posts.jsonl:3: not a JSON object; if as many of all rows "
            f"are, the set is refused before training: validate.max_bad_fraction is {stops}\n"
        ) in printed
        assert "all valid; the files that it names are readable, but see the notices above" in printed


def test_a_large_file_most_of_whose_first_rows_are_bad_is_refused(own: Path) -> None:
    bad = 150
    assert with_limit(bad, 0.01) == (
        f"error: AB-044 data/own/posts.jsonl: {bad} of the first 200 rows cannot be read or are not valid (not a JSON "
        f"object: {bad}), the first at posts.jsonl:3: not a JSON object\n"
        "  mend them, or raise validate.max_bad_fraction (0.01)\n"
    )


def test_bad_first_rows_of_a_large_labelled_set(own: Path) -> None:
    """Rows that validation rejects count beside those that cannot be read; a split cut off train shares its file."""
    rows = [{"text": words(n), "label": "ab"[n % 2]} for n in range(10_000)]
    train = lines("train.jsonl", *rows[:20], "{", *rows[20:])
    write(None, None, mood=mood(train=train, dev=train, split={"dev": 0.3}))
    done = run("check")
    assert (
        "notice: tasks.mood: data/own/train.jsonl: 1 of the first 200 rows cannot be read or are not valid"
    ) not in done.stdout, "half a percent"
    rows[30]["text"] = ""
    del rows[40]["label"]
    train = lines("train.jsonl", *rows[:20], "{", *rows[20:])
    done = run("check")
    assert done.exit_code == 0, done.output
    assert "data/own/train.jsonl: 3 of the first 200 rows cannot be read or are not valid (" in done.stdout
    assert "the first at train.jsonl:21: not a JSON object; if as many" in done.stdout
    Path("data/own/dev.jsonl").write_text("{}\n", encoding="utf-8")
    write(None, None, mood=mood(train=train, dev="data/own/dev.jsonl"))
    done = run("check")
    assert "AB-056 data/own/dev.jsonl:1: column 'text' missing" in done.stderr, "of another split"


def test_what_was_not_opened_is_reported_beside_errors(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "SECONDS", -1.0)
    write({"general": "data/own/nowhere.txt"}, mood=mood())
    done = run("check")
    assert "AB-050 params.yaml: corpora.general.path: " in done.stderr
    assert "not checked, because it would take long: tasks.mood\n" in done.stdout


def test_many_large_files_cost_seconds(own: Path) -> None:
    """And memory that does not grow with them: a gigabyte of text, of which no more than the beginning is read."""
    huge = own / "huge.txt"
    huge.write_text("\n".join(map(words, range(30_000))) + "\n", encoding="utf-8")
    with huge.open("ab") as file:
        file.truncate(1 << 30)
    parts = own / "parts"
    parts.mkdir()
    for number in range(200):
        (parts / f"{number:03d}.txt.gz").write_bytes(gzip.compress(f"{words(number)}\n".encode() * 300))
    write({"general": str(huge), "domain": str(parts)})
    begin = time.process_time()
    assert check_errors() == []
    assert time.process_time() - begin < 5


LONG = {"text": "x" * 1_200_000}
SHORT = [{"text": f"{n}"} for n in range(300)]
ROWS = [{"text": words(n), "label": "ab"[n % 2]} for n in range(10_000)]


@pytest.mark.parametrize(
    ("first", "is_labelled", "notice"),
    [
        ([LONG], False, "0 of 1 documents left (too_long: 1); if all rows are like this one, the set is"),
        (SHORT, False, "0 of 200 documents left (too_short: 200); if all rows are like these 200, the set is"),
        ([{**LONG, "label": "a"}], True, "0 of 1 rows left (too_long: 1); if all rows are like this one, the set is"),
        ([{**LONG, "label": None}], True, ""),
        ([{**LONG, "label": " "}], True, ""),
    ],
)
def test_first_rows_of_another_length_refuse_no_set(
    own: Path, first: list[dict[str, Any]], is_labelled: bool, notice: str
) -> None:
    """A long one ends the look, and of the others it says nothing; what is too short was read as it is meant."""
    path = lines("set.jsonl", *first, *ROWS)
    write(None if is_labelled else {"general": path}, None, **({"mood": mood(train=path)} if is_labelled else {}))
    write_document(params.read(Path("params.yaml")) | {"validate": {"min_characters": 10}})
    done = run("check")
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert f"notice: {'tasks.mood' if is_labelled else 'corpora.general'}: {path}: {notice}" in done.stdout


def test_a_long_first_row_of_a_set_that_is_cut(own: Path) -> None:
    """One row cannot be cut, ten thousand can."""
    path = lines("set.jsonl", {**LONG, "label": "a"}, *ROWS)
    write(None, None, mood=mood(train=path, dev=path, split={"dev": 0.3}))
    done = run("check")
    assert (done.exit_code, done.stderr) == (0, ""), done.output


def test_a_few_rows_of_a_file_that_has_no_others_refuse_it(own: Path) -> None:
    write({"general": lines("long.jsonl", LONG)})
    assert check_errors() == ["AB-018 data/own/long.jsonl: 0 of 1 documents left (too_long: 1)\n  give more text"]
