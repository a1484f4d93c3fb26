"""Rows that cannot be answered: an error in their place, counted, and the others as if they were not there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adaptbert.prediction.predictor import HELD, Predictor
from adaptbert.tasks.module import PREDICT_ROWS
from tests.support.cells import Project
from tests.support.predicting import KINDS, json_lines, model, read, rows_of, run

BAD: dict[str, list[tuple[dict[str, Any], str]]] = {
    "single_sentence": [
        ({"text": None}, "AB-041"),
        ({"text": 7}, "AB-056"),
        ({"text": " \u200b "}, "AB-041"),
        ({"other": "x"}, "AB-056"),
        ({"text": "\ud800"}, "AB-044"),
    ],
    "sentence_pair": [({"text_a": "a", "text_b": ""}, "AB-041"), ({"text_a": "\u200b", "text_b": "b"}, "AB-041")],
    "extractive_answer": [({"context": "", "question": "Who?"}, "AB-041")],
    "sequence_labelling": [
        ({"tokens": []}, "AB-041"),
        ({"tokens": ["a", " "]}, "AB-089"),
        ({"tokens": ["a", "\u200b"]}, "AB-089"),
        ({"tokens": ["a", 1]}, "AB-065"),
    ],
}


@pytest.mark.parametrize("task", KINDS)
def test_bad_rows_stand_in_their_place(project: Project, task: str, tmp_path: Path) -> None:
    """And Python answers the others as the command does."""
    good = rows_of(project, task)[:3]
    of_kind = BAD[KINDS[task][0]]
    bad = [{"id": f"bad-{n}", **row} for n, (row, _) in enumerate(of_kind)]
    rows = [good[0], *bad, *good[1:]]
    source, out = json_lines(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    done = run(model(project, task), source, "-o", out, "--probabilities")
    assert done.exit_code == 65
    answers = read(out)
    assert [answered["id"] for answered in answers] == [row["id"] for row in rows]
    assert [answered["error"][:6] for answered in answers if "error" in answered] == [code for _, code in of_kind]
    alone = list(Predictor.load(model(project, task)).answers(good, probabilities=True))
    assert [answered for answered in answers if "error" not in answered] == alone, "as if the bad ones were not there"
    for line, (_, code) in enumerate(of_kind, 2):
        assert f"{code} {source}:{line}: " in done.stderr
    out.write_text("old")
    done = run(model(project, task), source, "-o", out, "--strict")
    assert (done.exit_code, out.read_text()) == (65, "old"), "an error that stops a run comes before OUTPUT is touched"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]
    assert f"{source}:2" in done.stderr


def test_many_bad_rows_are_counted(project: Project, tmp_path: Path) -> None:
    source = json_lines(tmp_path / "in.jsonl", [{"text": ""}] * 300)
    done = run(model(project, "single_sentence_class"), source, "-o", tmp_path / "out.jsonl")
    assert (done.exit_code, done.stderr.count("AB-041")) == (65, 20)
    assert "300 rows stay without an answer" in done.stderr
    assert [row["id"] for row in read(tmp_path / "out.jsonl")] == [str(line) for line in range(1, 301)]


def test_bad_rows_do_not_wait_without_end(project: Project) -> None:
    """Behind a good one; the groups after it are cut as if there were no bad rows."""
    task = "single_sentence_class"
    predictor, good, read_rows = Predictor.load(model(project, task)), rows_of(project, task)[:140], 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal read_rows
        for row in [good[0], *[{"id": "none", "text": ""}] * 3_000, *good[1:]]:
            read_rows += 1
            yield row

    answers = predictor.answers(rows())
    first = next(answers)
    assert read_rows == HELD * PREDICT_ROWS
    labelled = [first, *(row for row in answers if "error" not in row)]
    alone = list(predictor.answers(good))
    assert [row["label"] for row in labelled] == [row["label"] for row in alone]
    assert labelled[PREDICT_ROWS:] == alone[PREDICT_ROWS:], "to the last bit"
    assert len(labelled) == 140
