"""Every code is used and says what comes of it, as docs/errors.md shows."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from adaptbert import errors
from adaptbert.codes import Code
from tests.support.imports import ROOT

PUT_ASIDE = {"Problem", "BadRow", "Reason", "_replace"}
"""Why a single row is rejected: the number is written into data/raw and data/rejected."""
WRITTEN = {
    "ENCODING": 1, "REPEATED_TEXT": 20, "TOO_LONG": 22, "TEXT_MISSING": 41, "BAD_ROW": 44, "COLUMNS": 56,
    "LABEL_MISSING": 62, "BAD_LABEL": 65, "LEAK": 70, "OFFSETS": 81, "TAGS": 89, "LEFT_OUT": 229,
}  # fmt: skip
"""Numbers in outputs of DVC. No stage depends on adaptbert/codes.py, so they must never change."""


@cache
def sources() -> dict[Path, str]:
    paths = [path for folder in ("adaptbert", "stages", "flows") for path in (ROOT / folder).rglob("*.py")]
    return {path: path.read_text(encoding="utf-8") for path in paths if path.name != "codes.py"}


@cache
def calls() -> list[ast.Call]:
    nodes = (node for text in sources().values() for node in ast.walk(ast.parse(text)))
    return [node for node in nodes if isinstance(node, ast.Call)]


def given_to(*callables: str) -> Iterator[str]:
    """The codes that stand in the first argument of these, or in `code`."""
    for call in calls():
        if getattr(call.func, "attr", getattr(call.func, "id", "")) in callables:
            codes = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "code")]
            yield from re.findall(r"\bCode\.([A-Z]\w*)", " ".join(map(ast.unparse, codes)))


def test_every_code_is_used_and_every_name_is_one() -> None:
    assert set(re.findall(r"\bCode\.([A-Z]\w*)", "\n".join(sources().values()))) == set(Code.__members__)


def test_numbers_that_stand_in_outputs_never_change() -> None:
    assert {name: Code[name].value for name in given_to(*PUT_ASIDE)} == WRITTEN


def test_the_outcome_of_a_code_is_that_of_what_raises_it() -> None:
    put_aside, bad_params = set(given_to(*PUT_ASIDE)), set(given_to("BadParams"))
    for code in Code:
        assert ("rejected" in code.outcome) == (code.name in put_aside), code.name
        assert code.name not in bad_params or str(errors.BAD_PARAMS) in code.outcome, code.name
        assert code.meaning
        assert "|" not in code.meaning + code.outcome, code.name
