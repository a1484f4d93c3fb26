"""Every code is raised somewhere, every place that raises names one, and docs/errors.md says what comes of it."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from adaptbert import errors
from adaptbert.codes import Code
from tests.support.imports import ROOT

PUT_ASIDE = {"Problem", "Reason"}
"""Why a single row is rejected: the number is written into data/raw and data/rejected."""
RAISED_LATER = {"Fault": "BadParams", "missing_columns": "BadData"}
"""What carries a code until an error is made of it -> that error."""
WRITTEN = {
    "NOT_DECODABLE": 1, "CUT_CHARACTER": 6, "SURROGATE_ESCAPE": 9, "REPEATED_TEXT": 20, "TOO_LONG": 22,
    "TEXT_NULL": 41, "NOT_TEXT": 42, "BAD_JSON": 44,
    "DEV_OR_TEST_TEXT": 55, "COLUMN_MISSING": 56, "LABEL_MISSING": 62, "LABEL_TYPE": 65, "IN_OTHER_SPLIT": 70,
    "ALMOST_IN_OTHER_SPLIT": 71, "TOO_SHORT": 74, "PAIR_INCOMPLETE": 76, "BAD_VALUE": 77, "ANSWER_NOT_AT_OFFSET": 81,
    "OFFSET_OUTSIDE_TEXT": 83, "BAD_ID": 86, "TOKENS_AND_TAGS_DIFFER": 88, "ILLEGAL_TAGS": 89, "EMPTY_TOKEN": 91,
    "INVISIBLE_TOKEN": 92, "COLUMN_COUNT": 95, "SPAN_CUTS_WORD": 161,
}  # fmt: skip
"""Numbers in outputs of DVC. No stage depends on adaptbert/codes.py, so they must never change."""

RELEASED = (
    "1 3 4 6 9 10 16 17 18 19 20 22 25 32 33 34 35 37 38 39 40 41 42 44 45 46 48 49 50 51 55 56 58 "
    "59 60 62 65 66 67 70 71 72 74 76 77 78 80 81 83 84 86 88 89 90 91 92 93 95 96 97 98 99 100 103 "
    "104 105 106 107 108 109 111 112 114 115 117 119 122 123 124 125 127 128 129 130 132 133 134 137 153 "
    "154 155 156 157 158 159 160 161 165 171 172 180 181 182 183 184 185 186 187 188 189 190 191 192 193 "
    "196 197 198 199 200 "
)
"""Users search for them, and each keeps its meaning: none is taken away. A release adds its new ones."""


@cache
def trees() -> list[ast.Module]:
    paths = [path for folder in ("adaptbert", "stages", "flows") for path in (ROOT / folder).rglob("*.py")]
    return [ast.parse(path.read_text(encoding="utf-8")) for path in paths if path.name != "codes.py"]


def named(node: ast.expr) -> set[str]:
    """The members of Code in an expression."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Attribute)]
    return {part.attr for part in parts if ast.unparse(part.value) == "Code" and part.attr.isupper()}


def calls() -> Iterator[tuple[str, ast.expr]]:
    """Callable and first argument; of `super().__init__` the class."""
    for tree in trees():
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        owner = {inner: node.name for node in classes for inner in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args:
                name = ast.unparse(node.func).split(".")[-1]
                yield owner.get(node, name) if name == "__init__" else name, node.args[0]


def carriers() -> dict[str, set[str]]:
    """Callable -> the codes that it is called with."""
    by_error: dict[str, set[str]] = {}
    for name, first in calls():
        if isinstance(first, ast.Attribute | ast.IfExp) and (codes := named(first)):
            by_error.setdefault(name, set()).update(codes)
    return by_error


def exit_codes() -> dict[str, set[int]]:
    """Class of an error -> its exit codes."""
    bases: dict[str, list[str]] = {}
    own: dict[str, set[int]] = {}
    for node in [node for tree in trees() for node in ast.walk(tree)]:
        if isinstance(node, ast.ClassDef):
            bases[node.name] = [ast.unparse(base).split(".")[-1] for base in node.bases]
            for line in node.body:
                if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "exit_code":
                    own[node.name] = {getattr(errors, ast.unparse(line.value))}

    def of(name: str) -> set[int]:
        return own.get(name) or set().union(*(of(base) for base in bases.get(name, [])))

    return {name: of(name) for name in bases}


def test_a_code_is_raised_somewhere_and_every_name_is_one() -> None:
    used = set().union(*carriers().values())
    assert used - set(Code.__members__) == set()
    assert set(Code.__members__) - used == set(), "nothing raises these"


def test_no_number_stands_where_a_code_belongs() -> None:
    """mypy says so too, where it sees the type."""
    kinds = {*carriers(), *(name for name, codes in exit_codes().items() if codes)}
    plain = [
        f"{name}({ast.unparse(first)}, ...)"
        for name, first in calls()
        if name in kinds and any(isinstance(part, ast.Constant) and type(part.value) is int for part in numbers(first))
    ]
    assert plain == []


def numbers(node: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression, but for what is looked up by a number."""
    if not isinstance(node, ast.Subscript):
        yield node
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from numbers(child)


def test_numbers_that_stand_in_outputs_never_change() -> None:
    written = set().union(*(codes for name, codes in carriers().items() if name in PUT_ASIDE))
    assert {name: Code[name].value for name in written} == WRITTEN


def test_the_outcome_of_a_code_is_that_of_what_raises_it() -> None:
    """`rejected` where a row can have it, and each exit code but the usual one."""
    by_error = carriers()
    known = exit_codes()
    for code in Code:
        kinds = {name for name, codes in by_error.items() if code.name in codes}
        codes = set().union(*(known.get(RAISED_LATER.get(name, name), set()) for name in kinds))
        documented = {int(number) for number in re.findall(r"\d+", code.outcome)}
        assert codes - {errors.BAD_DATA} <= documented, f"{code.name}: {kinds}"
        assert documented <= codes | {errors.BAD_DATA, *([errors.TEMPORARY, errors.INTERNAL] * ("RankLost" in kinds))}
        assert ("rejected" in code.outcome) == bool(kinds & PUT_ASIDE), f"{code.name}: {kinds}"


def test_a_code_says_what_it_means() -> None:
    for code in Code:
        assert code.meaning
        assert not code.meaning.endswith("."), code.name
        assert "|" not in code.meaning + code.outcome, code.name


def test_numbers_stay() -> None:
    assert {int(number) for number in RELEASED.split()} <= {code.value for code in Code}
