"""Rows that look as if they belonged together are asked about, and ordinary files are left in peace."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from adaptbert.config import recipe as recipes
from adaptbert.config.schema.sources import Task
from adaptbert.planning import preflight
from adaptbert.planning.grouping import ungrouped
from tests.support.checked_files import lines, mood, words, write

NUMBERED = "have an '{}' that differs from another only in its last number"
LONG = "one of two texts that several rows have, number {}"


def asked(path: Path, type: str = "text-classification", **keys: Any) -> list[str]:
    task = Task.model_validate({"type": type, "train": "a", "dev": "b", "test": str(path), **keys})
    task._key = "tasks.mood"
    return list(ungrouped(task))


def file(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def posts(**columns: Any) -> list[dict[str, Any]]:
    """Thirty different texts with these columns, by the number of the row."""
    return [
        {"text": f"a post {n}", "label": "x", **{name: cell(n) for name, cell in columns.items()}} for n in range(30)
    ]


@pytest.mark.parametrize(
    ("columns", "sign"),
    [
        ({"doc_id": lambda n: n // 3}, "30 have the same 'doc_id' as another"),
        ({"userName": lambda n: f"u{n // 3}"}, "30 have the same 'userName' as another"),
        ({"文章编号": lambda n: f"甲{n // 4}"}, "30 have the same '文章编号' as another"),
        ({"id": lambda n: f"doc{n // 3}-{n}"}, f"30 {NUMBERED.format('id')}"),
        ({"sent_id": lambda n: f"PMID{n // 6}_{n % 6}"}, f"30 {NUMBERED.format('sent_id')}"),
        ({"id": lambda n: f"{n // 6}.{n % 6}"}, f"30 {NUMBERED.format('id')}"),
        ({"abstract": lambda n: LONG.format(n // 2)}, "30 have the same 'abstract' as another"),
        ({"author": lambda n: f"u{n // 3}" if n < 15 else f"alone {n}"}, "15 have the same 'author' as another"),
    ],
)
def test_what_rows_share_is_asked_about(tmp_path: Path, columns: dict[str, Any], sign: str) -> None:
    (said,) = asked(file(tmp_path / "a.jsonl", *posts(**columns)))
    assert said.startswith(f"tasks.mood.test: of the 30 rows looked at, {sign}: do they come from one document ")
    column = next(iter(columns)) if "the same" in sign else "COLUMN"
    assert f"`columns: {{group: {column}}}`" in said


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"id": lambda n: f"test-{n}"},
        {"id": lambda n: f"{('news', 'blog', 'forum')[n % 3]}-{n}"},  # sources
        {"id": lambda n: f"{n:08x}-5e6f-{n % 5}a"},
        {"doc_id": lambda n: n, "title": lambda n: f"title {n}"},
        {"user": lambda n: ""},
        {"is_author": lambda n: n % 2 == 0},
        {"label_name": lambda n: f"class {n % 7}", "stars": lambda n: n % 6, "score": lambda n: n / 10},
        {"date": lambda n: f"2026-03-{n // 3:02}-{n % 3}", "city": lambda n: f"city {n % 7}"},
        {"prompt": lambda n: "say what the writer of this feels"},
        {"group": lambda n: f"g{n // 2}" if n < 6 else f"alone {n}"},  # a few copies
    ],
)
def test_ordinary_columns_are_not(tmp_path: Path, columns: dict[str, Any]) -> None:
    assert asked(file(tmp_path / "a.jsonl", *posts(**columns))) == []


def test_what_is_grouped_already_is_not_asked_about(tmp_path: Path) -> None:
    path = file(tmp_path / "a.jsonl", *posts(doc_id=lambda n: n // 3))
    assert asked(path, columns={"group": "doc_id"}) == []
    questions = [
        {"id": f"c{n // 3}-{n % 3}", "context": LONG.format(n // 3), "question": f"is it {n}?", "answers": []}
        for n in range(30)
    ]
    path = file(tmp_path / "q.jsonl", *questions)
    assert asked(path, "question-answering", no_answer=True) == []
    copies = [{"text": f"a post {n // 3}", "label": "x", "doc_id": n // 3} for n in range(30)]
    assert asked(file(tmp_path / "c.jsonl", *copies)) == []


def test_a_text_of_a_pair_that_several_rows_have(tmp_path: Path) -> None:
    rows = [{"premise": LONG.format(n // 3), "claim": f"claim {n}", "label": "x"} for n in range(30)]
    columns = {"text_a": "premise", "text_b": "claim"}
    (said,) = asked(file(tmp_path / "a.jsonl", *rows), "text-pair-classification", columns=columns)
    assert "30 have the same 'premise' as another" in said
    aspects = [{"premise": f"{words(n)}", "claim": f"aspect{n % 6}", "label": "x"} for n in range(30)]
    assert asked(file(tmp_path / "a.jsonl", *aspects), "text-pair-classification", columns=columns) == []


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_tables_are_looked_at_with_all_their_columns(tmp_path: Path, suffix: str) -> None:
    frame, path = pd.DataFrame(posts(doc_id=lambda n: f"d{n // 3}")), tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    (said,) = asked(path)
    assert "30 have the same 'doc_id' as another" in said


def test_a_set_that_is_cut_is_asked_about_as_a_whole(own: Path) -> None:
    every = lines("all.jsonl", *({"text": words(n), "label": "ab"[n % 2], "doc": f"d{n // 5}"} for n in range(100)))
    write(None, {"labels": 0}, mood=mood(train=every, dev=every, test=every, split={"dev": 0.2, "test": 0.2}))
    recipe = recipes.read()
    seen = preflight.check(recipe, task=recipe.tasks["mood"])
    assert seen.errors == []
    (said,) = seen.notices
    assert said.startswith("tasks.mood.train: of the 100 rows looked at, 100 have the same 'doc' as another: ")


def test_documents_of_the_format_are_notices(own: Path) -> None:
    """One document that is all there is."""
    sentences = "-DOCSTART- O\n\n" + "".join(f"{words(n, 1)} B-X\n\n" for n in range(60))
    every = lines("all.conll", sentences)
    write(None, {"labels": 0}, mood=mood(**dict.fromkeys(("train", "dev", "test"), every), type="token-classification",
                                tag_scheme="bio", split={"dev": 0.2, "test": 0.2}))  # fmt: skip
    recipe = recipes.read()
    seen = preflight.check(recipe, task=recipe.tasks["mood"])
    expected = "tasks.mood: 1 document(s), too few to be split whole: rows are split by their text"
    assert (seen.errors, seen.notices) == ([], [expected])
