"""No CSV of ours holds text of a user that a spreadsheet would run."""

import csv
import math
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adaptbert.data.spreadsheet import FORMULA, inert
from adaptbert.prediction import outputs

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


def written(path: Path, target: str, *answers: dict[str, Any]) -> tuple[list[dict[str, str]], Counter[str]]:
    """The cells of a file of predictions, and the warnings."""
    warnings: Counter[str] = Counter()
    with outputs.open_output(path, target, warnings, details=False) as write:
        for answer in answers:
            write(answer)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)) if path.suffix == ".csv" else [], warnings


LABELLED = [
    {"id": text, "label": label, "confidence": 0.5} for text, label in zip(FORMULAS, FORMULAS[::-1], strict=True)
]


def test_predictions(tmp_path: Path) -> None:
    """Ids, labels and answers; numbers are no formulas, nor is text in brackets."""
    path = tmp_path / "a.csv"
    rows, warnings = written(path, "class", *LABELLED)
    assert [(row["id"], row["label"]) for row in rows] == [(f"'{row['id']}", f"'{row['label']}") for row in LABELLED]
    ((text, count),) = warnings.items()
    assert ("apostrophe" in text, count) == (True, 2 * len(FORMULAS))
    for target, values, cell, count in (
        ("answer", {"answer": "-5 %", "confidence": 0.5}, "'-5 %", 1),
        ("class", {"label": "-1", "confidence": 0.5}, "-1", 0),
        ("number", {"value": -2.5}, "-2.5", 0),
        ("labels", {"labels": ["=1+1"], "confidence": 0.5}, '["=1+1"]', 0),
    ):
        (row,), warnings = written(path, target, {"id": "-5", **values})
        assert (row["id"], row[next(iter(values))], warnings.total()) == ("-5", cell, count)
