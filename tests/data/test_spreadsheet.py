"""No CSV of ours holds text of a user that a spreadsheet would run."""

import csv
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.comparison.records import Comparison
from adaptbert.data.spreadsheet import FORMULA, inert
from adaptbert.prediction import outputs
from adaptbert.report.plot_data import write_plots
from tests.support.predicting import read

FORMULAS = [
    "=1+1", '=HYPERLINK("http://x","y")', "+1+1", "-2+3", "-inf", "-nan", "-1_0", "-5\n", "-٥", "\t5", "@SUM(A1)",
    "\t=1", "\r=1", "＝1", "＋1", "－1", "＠x",
]  # fmt: skip
NUMBERS = ["-5", "+5", "-0", "-12.50", "+.5", "-5.", "-1e9", "-2.5E-3", "+1e+3"]
HARMLESS = ["a=1", "'=1", "", "+", "-", "=", "@", " =1", "好", "1-2"]


@given(st.text())
def test_what_begins_like_a_formula_gets_an_apostrophe_and_nothing_else_changes(text: str) -> None:
    written = inert(text)
    assert len(written) < 2 or not written.startswith(FORMULA) or math.isfinite(float(written))
    assert inert(text) in (text, f"'{text}")
    assert inert(inert(text)) == inert(text)


def test_what_a_formula_is() -> None:
    assert [text for text in [*FORMULAS, *HARMLESS, *NUMBERS] if inert(text) != text] == FORMULAS


def written(path: Path, target: str, answers: list[dict[str, Any]]) -> Counter[str]:
    warnings: Counter[str] = Counter()
    with outputs.open_output(path, target, warnings, details=False) as write:
        for answer in answers:
            write(answer)
    return warnings


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_ids_labels_and_answers(tmp_path: Path) -> None:
    answers = [
        {"id": text, "label": label, "confidence": 0.5}
        for text, label in zip(FORMULAS, reversed(FORMULAS), strict=True)
    ]
    warnings = written(tmp_path / "a.csv", "class", answers)
    assert [(row["id"], row["label"]) for row in cells(tmp_path / "a.csv")] == [
        (f"'{answer['id']}", f"'{answer['label']}") for answer in answers
    ]
    ((text, count),) = warnings.items()
    assert ("apostrophe" in text, count) == (True, 2 * len(FORMULAS))
    assert written(tmp_path / "a.csv", "answer", [{"id": "1", "answer": "-5 %", "confidence": 0.5}]).total() == 1
    assert cells(tmp_path / "a.csv")[0]["answer"] == "'-5 %"
    assert not written(tmp_path / "a.csv", "class", [{"id": "-5", "label": "-1", "confidence": 0.5}])
    row = cells(tmp_path / "a.csv")[0]
    assert (row["id"], row["label"]) == ("-5", "-1"), "numbers are no formulas"


def test_numbers_and_lists_stay(tmp_path: Path) -> None:
    answers = [{"id": "1", "value": -2.5}, {"id": "2", "value": math.nan}]
    assert not written(tmp_path / "a.csv", "number", answers)
    assert cells(tmp_path / "a.csv")[0]["value"] == "-2.5"
    assert not written(tmp_path / "a.csv", "labels", [{"id": "1", "labels": ["=1+1"], "confidence": 0.5}])
    assert cells(tmp_path / "a.csv")[0]["labels"] == '["=1+1"]', "text in brackets, which is no formula"


def test_other_formats_are_verbatim(tmp_path: Path) -> None:
    answers = [{"id": text, "label": text, "confidence": 0.5} for text in FORMULAS]
    assert not written(tmp_path / "a.jsonl", "class", answers)
    assert read(tmp_path / "a.jsonl") == answers
    assert not written(tmp_path / "a.parquet", "class", answers)
    assert pq.read_table(tmp_path / "a.parquet")["label"].to_pylist() == FORMULAS


def test_labels_in_the_data_of_plots(tmp_path: Path, comparison: Comparison) -> None:
    task = next(task for task in comparison.tasks if task.inspection is not None and task.inspection.confusion)
    assert task.inspection is not None
    assert task.inspection.confusion is not None
    counts = {"=1+1": {"=1+1": 2.0, "-": 1.0}}
    confusion = replace(task.inspection.confusion, counts=counts)
    changed = replace(task, inspection=replace(task.inspection, confusion=confusion))
    write_plots(replace(comparison, tasks=[changed]), tmp_path / "plots")
    pairs = [(row["actual"], row["predicted"]) for row in cells(tmp_path / f"plots/confusion/{task.name}.csv")]
    assert pairs == [("'=1+1", "'=1+1")] * 2 + [("'=1+1", "-")]
