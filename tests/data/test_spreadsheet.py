"""No CSV of ours holds text of a user that a spreadsheet would run."""

import csv
import math
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from adaptbert.data.spreadsheet import FORMULA, inert
from adaptbert.prediction import outputs

FORMULAS = [
    "=1+1", '=HYPERLINK("http://x","y")', "+1+1", "-2+3", "-inf", "-nan", "-1_0", "-5\n", "-٥", "\t5", "@SUM(A1)",
    "\t=1", "\r=1", "＝1", "＋1", "－1", "＠x", "\ufeff=1", "\u200b=1", "\xa0=1", "\u3000\ufeff@x", "\u202e=1",
]  # fmt: skip
NUMBERS = ["-5", "+5", "-0", "-12.50", "+.5", "-5.", "-1e9", "-2.5E-3", "+1e+3"]
HARMLESS = ["a=1", "'=1", "", "+", "-", "=", "@", " =1", "好", "1-2", "\ufeff-5", "\xa0+"]


@given(st.text())
def test_what_begins_like_a_formula_gets_an_apostrophe_and_nothing_else_changes(text: str) -> None:
    written = inert(text)
    assert len(written) < 2 or not written.startswith(FORMULA) or math.isfinite(float(written))
    assert inert(text) in (text, f"'{text}")
    assert inert(inert(text)) == inert(text)


def test_what_a_formula_is() -> None:
    assert [text for text in [*FORMULAS, *HARMLESS, *NUMBERS] if inert(text) != text] == FORMULAS


def test_predictions(tmp_path: Path) -> None:
    """Ids and labels; a line may end within a cell."""
    warnings, texts = Counter[str](), [*FORMULAS, *HARMLESS, *NUMBERS]
    with outputs.open_output(tmp_path / "a.csv", "class", warnings, details=False) as write:
        for text in texts:
            write({"id": text, "label": text, "confidence": -0.5})
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["id"], row["label"], row["confidence"]) for row in csv.DictReader(file)]
    assert rows == [(inert(text), inert(text), "-0.5") for text in texts]
    ((text, count),) = warnings.items()
    assert ("apostrophe" in text, count) == (True, 2 * len(FORMULAS))
