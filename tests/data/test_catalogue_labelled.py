"""Bad labelled input: each entry of the catalogue has its stated outcome, from the user's file to validation.

E stops with the entry's number; Q puts the row aside with it; OK keeps the row.
"""

import ast
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from adaptbert.config import load as params
from adaptbert.config.schema.sources import Limits, Task
from adaptbert.config.schema.task_types import TARGETS, spec_of
from adaptbert.data.validate_set import validate_labelled_set
from adaptbert.errors import UserError
from stages.collect_task import collect_task
from tests.support import tiny
from tests.support.imports import ROOT

SPLITS = ("train", "dev", "test")
CLASS = {"shape": "single_sentence", "target": "class"}
LABELS = {"shape": "single_sentence", "target": "labels"}
NUMBER = {"shape": "single_sentence", "target": "number"}
PAIR = {"shape": "sentence_pair", "target": "class"}
ANSWER = {"shape": "extractive_answer", "target": "answer", "no_answer": False}
SPANS = {"shape": "sequence_labelling", "target": "spans", "tag_scheme": "bio"}
TAGS = {"shape": "sequence_labelling", "target": "tags"}

OUTPUT = {
    "class": ["pos", "neg"],
    "labels": [["pos"], ["neg", "pos"]],
    "number": [1, 2],
    "answer": [{"text": ["sat"], "answer_start": [8]}] * 2,
    "spans": [["B-X", "O"], ["O", "B-Y"]],
    "tags": [["N", "V"], ["V", "N"]],
}


def row(kind: dict[str, Any], name: str, output: Any, **changes: Any) -> dict[str, Any]:
    """A valid row whose input is like no other's."""
    inputs = {
        "single_sentence": {"text": f"about {name}"},
        "sentence_pair": {"text_a": f"this {name}", "text_b": f"that {name}"},
        "extractive_answer": {"context": f"The cat sat on {name}", "question": f"where is {name}"},
        "sequence_labelling": {"tokens": ["word", name]},
    }[kind["shape"]]
    return {**inputs, TARGETS[kind["target"]].column: output, **changes}


def good(kind: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    first, second = OUTPUT[kind["target"]]
    return {
        split: [row(kind, f"{split}{number}", first if number % 2 else second) for number in range(4)]
        for split in SPLITS
    }


class Outcome(NamedTuple):
    """The result of collection and validation."""

    errors: list[str]
    rejected: list[int]
    warnings: dict[str, int]
    kept: dict[str, list[dict[str, Any]]]


def outcome(folder: Path, values: dict[str, Any], files: dict[str, str], suffix: str, share: float) -> Outcome:
    """The files through collect_task and validation."""
    for split, content in files.items():
        (folder / f"{split}.{suffix}").write_text(content, encoding="utf-8")
    paths = {split: str(folder / f"{split}.{suffix}") for split in SPLITS}
    raw, kept, rejected = folder / "raw", folder / "kept", folder / "rejected.parquet"
    try:
        of_type = spec_of(values["shape"], values["target"]).written
        rest = {key: value for key, value in values.items() if key not in ("shape", "target")}
        section = params.parse(Task, {**paths, **of_type, **rest}, "tasks.x", Path("p"))
        collect_task(section, task="x", out=raw, run=tiny.no_record())
    except UserError as error:
        return Outcome([str(error)], [], {}, {})
    manifest = json.loads((raw / "manifest.json").read_text(encoding="utf-8"))
    passed = validate_labelled_set(
        raw, kept, rejected, Limits(min_characters=2, max_characters=100, max_bad_fraction=share)
    )
    warnings: dict[str, int] = dict(manifest["warnings"])
    for account in passed.accounts.values():
        warnings |= account.warnings
    return Outcome(
        list(map(str, passed.errors)),
        pq.read_table(rejected)["code"].to_pylist(),
        warnings,
        {split: pq.read_table(kept / f"{split}.parquet").to_pylist() for split in SPLITS},
    )


def jsonl(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def with_rows(folder: Path, kind: dict[str, Any], share: float = 0.5, **more: list[dict[str, Any]]) -> Outcome:
    """The outcome of a good set with rows added."""
    splits = {split: jsonl([*rows, *more.get(split, [])]) for split, rows in good(kind).items()}
    return outcome(folder, kind, splits, "jsonl", share)


def text(folder: Path, kind: dict[str, Any], suffix: str, share: float = 0.5, **splits: str) -> Outcome:
    """The outcome of files as they stand."""
    return outcome(folder, kind, splits, suffix, share)


CSV = "text,label\ngood {0},pos\nbad {0},neg\nfine {0},pos\n"
CSVS = {split: CSV.format(split) for split in SPLITS}
CONLL = "Ann B-PER\n{0} O\n\nin{0} O\nOslo B-LOC\n\n"
CONLLS = {split: CONLL.format(split) for split in ("dev", "test")}

ERRORS = {
    56: lambda f: text(f, CLASS, "csv", **CSVS | {"train": "txt,label\na,b\n"}),
    58: lambda f: text(f, CLASS, "csv", **CSVS | {"train": "Text,label\na,b\n"}),
    59: lambda f: with_rows(f, {**CLASS, "labels": ["pos", "neg"]}, train=[row(CLASS, "x", "odd")]),
    60: lambda f: with_rows(f, CLASS, test=[row(CLASS, "x", "odd")]),
    65: lambda f: with_rows(f, CLASS, train=[row(CLASS, "x", 1)]),
    66: lambda f: with_rows(f, CLASS, train=[row(CLASS, "x", "Pos ")]),
    67: lambda f: text(f, CLASS, "csv", **{s: f"text,label\n{s} a,pos\n{s} b,pos\n" for s in SPLITS}),
    70: lambda f: with_rows(f, CLASS, train=good(CLASS)["test"]),
    72: lambda f: text(
        f,
        {**CLASS, "columns": {"group": "author"}},
        "csv",
        **{s: f"text,label,author\n{s} a,pos,ann\n{s} b,neg,{s}\n" for s in SPLITS},
    ),
    78: lambda f: text(f, NUMBER, "csv", **{s: f"text,value\n{s} a,1\n{s} b,1.0\n" for s in SPLITS}),
    80: lambda f: text(f, LABELS, "csv", **{s: f"text,labels\n{s} a,x;y\n" for s in SPLITS}),
    84: lambda f: with_rows(f, ANSWER, train=[row(ANSWER, "x", {"text": [], "answer_start": []})]),
    86: lambda f: text(
        f,
        {**CLASS, "columns": {"id": "nr"}},
        "csv",
        **{s: f"text,label,nr\n{s} a,pos,1\n{s} b,neg,1\n" for s in SPLITS},
    ),
    90: lambda f: with_rows(f, SPANS, 0.1, train=[row(SPANS, f"x{n}", ["I-X", "B-X"]) for n in range(4)]),
    93: lambda f: text(
        f,
        {**SPANS, "format": "doccano"},
        "jsonl",
        **{s: jsonl([{"text": f"{s} one two", "label": [[0, 9, "X"], [5, 12, "Y"]]}]) for s in SPLITS},
    ),
    96: lambda f: text(f, CLASS, "csv", **CSVS | {"train": 'text,label\n"good,pos\n'}),
    97: lambda f: text(f, CLASS, "csv", **CSVS | {"train": f"text,label\n{'x' * 50_000_000},pos\n"}),
    98: lambda f: text(f, CLASS, "csv", **CSVS | {"test": "text\ngood\nbad\n"}),
}  # fmt: skip
REJECTED = {
    62: lambda f: with_rows(f, CLASS, train=[row(CLASS, "x", None), row(CLASS, "y", float("nan"))]),
    71: lambda f: with_rows(f, CLASS, train=[row(CLASS, "x", "pos", text="About,  TEST1!")]),
    74: lambda f: with_rows(f, CLASS, train=[row(CLASS, "x", "pos", text=" \u200b")]),
    76: lambda f: with_rows(f, PAIR, train=[row(PAIR, "x", "pos", text_b=None), row(PAIR, "y", "pos", text_b=" ")]),
    77: lambda f: with_rows(
        f, {**NUMBER, "range": [0.0, 5.0]}, train=[row(NUMBER, "x", float("inf")), row(NUMBER, "y", 6)]
    ),
    81: lambda f: with_rows(f, ANSWER, train=[row(ANSWER, "x", {"text": ["sat"], "answer_start": [7]})]),
    83: lambda f: with_rows(
        f, ANSWER, train=[row(ANSWER, f"x{at}", {"text": ["sat"], "answer_start": [at]}) for at in (-1, 99, 10**30)]
    ),
    88: lambda f: with_rows(f, SPANS, train=[row(SPANS, "x", ["O"])]),
    89: lambda f: with_rows(f, SPANS, train=[row(SPANS, "x", ["O", "I-X"]), row(SPANS, "y", ["B-X", "I-Y"])]),
    91: lambda f: with_rows(f, SPANS, train=[row(SPANS, "x", ["O", "O"], tokens=["a", " "])]),
    92: lambda f: with_rows(f, SPANS, train=[row(SPANS, "x", ["O", "O"], tokens=["a", "\u200b"])]),
    95: lambda f: text(f, SPANS, "conll", **CONLLS, train=f"{CONLL.format('one')}two\tB-PER\nthree O\n"),
}  # fmt: skip
KEPT = {
    63: ("label", "NA", lambda f: text(f, CLASS, "csv", **{s: f"text,label\nnull {s},NA\n{s},None\n" for s in SPLITS})),
    64: ("label", "007", lambda f: text(f, CLASS, "csv", **{s: f"text,label\na {s},007\n{s},7\n" for s in SPLITS})),
    79: ("labels", [], lambda f: with_rows(f, LABELS, train=[row(LABELS, "x", [])])),
}  # fmt: skip
ELSEWHERE = {
    69: "there are no folds: a task has one train, one dev and one test split",
    75: "tests/tasks/test_cell.py::test_cut_rows_and_a_seed_that_predicts_one_class_are_counted",
    85: "tests/tasks/test_extractive_answer.py::test_unanswerable_rows_are_counted",
    94: "tests/tasks/test_sequence_labelling.py::test_every_word_with_a_piece_is_answered_once",
}
"""The test of the code, or why it is not tested here."""


def test_every_entry_has_its_outcome() -> None:
    codes = [*ERRORS, *REJECTED, *KEPT, *ELSEWHERE]
    assert sorted(codes) == [code for code in range(56, 99) if code not in (57, 61, 68, 73, 82, 87)]


@pytest.mark.parametrize("code", ERRORS)
def test_what_is_an_error(tmp_path: Path, code: int) -> None:
    result = ERRORS[code](tmp_path)
    assert [error[:6] for error in result.errors][:1] == [f"AB-{code:03d}"], result.errors


@pytest.mark.parametrize("code", REJECTED)
def test_what_is_rejected(tmp_path: Path, code: int) -> None:
    result = REJECTED[code](tmp_path)
    assert result.errors == []
    assert result.rejected
    assert set(result.rejected) == {code}


def test_a_column_that_is_not_read_is_counted(tmp_path: Path) -> None:
    more = {"train": "text,label,mood\na,pos,1\nb,neg,2\n"}
    result = text(tmp_path, CLASS, "csv", **CSVS | more)
    assert (result.errors, result.rejected) == ([], [])
    assert result.warnings["files with columns that are not read: mood"] == 1


@pytest.mark.parametrize("code", KEPT)
def test_what_is_kept_unchanged(tmp_path: Path, code: int) -> None:
    column, value, case = KEPT[code]
    result = case(tmp_path)
    assert (result.errors, result.rejected) == ([], [])
    assert value in [row[column] for row in result.kept["train"]]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_labels_in_one_text_that_names_its_separator(tmp_path: Path, suffix: str) -> None:
    """The remedy of AB-065: the same labels as from a list, none in an empty cell, each once."""
    cells = ["y; x", "x", "", "x;;y;x", " ; "]
    rows = {split: [(f"{split} {number}", cell) for number, cell in enumerate(cells)] for split in SPLITS}
    if suffix == "jsonl":
        files = {
            split: jsonl([{"text": text, "labels": cell} for text, cell in pairs]) for split, pairs in rows.items()
        }
    else:
        between = {"csv": ",", "tsv": "\t"}[suffix]
        lines = {split: [between.join(pair) for pair in [("text", "labels"), *pairs]] for split, pairs in rows.items()}
        files = {split: "\n".join(pairs) + "\n" for split, pairs in lines.items()}
    result = outcome(tmp_path, {**LABELS, "separator": ";"}, files, suffix, 0.0)
    assert (result.errors, result.rejected) == ([], [])
    for split in SPLITS:
        assert [row["labels"] for row in result.kept[split]] == [["x", "y"], ["x"], [], ["x", "y"], []]


@pytest.mark.parametrize(
    ("kind", "outputs", "expected"),
    [
        (CLASS, ("pos", "Neg"), "neg"),
        (LABELS, (["pos"], ["Neg", "pos", "neg"]), ["neg", "pos"]),
        (TAGS, (["pos", "O"], ["Neg", "B-Neg"]), ["neg", "B-Neg"]),
        (SPANS, (["B-pos", "O"], ["B-Neg", "I-Neg"]), ["B-neg", "I-neg"]),
    ],
)
def test_labels_that_are_renamed(tmp_path: Path, kind: dict[str, Any], outputs: Any, expected: Any) -> None:
    """Of spans their types; of tags the tags as they stand."""
    rows = {
        split: jsonl([row(kind, f"{split}{number}", output) for number, output in enumerate(outputs)])
        for split in SPLITS
    }
    result = outcome(tmp_path, {**kind, "map_labels": {"Neg": "neg"}}, rows, "jsonl", 0.0)
    assert result.errors == []
    assert result.kept["test"][1][TARGETS[kind["target"]].column] == expected
    assert json.loads((tmp_path / "raw/manifest.json").read_text(encoding="utf-8"))["map_labels"] == {"Neg": "neg"}


def test_tests_elsewhere_exist() -> None:
    for where in ELSEWHERE.values():
        path, is_test, name = where.partition("::")
        if is_test:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            assert name in [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)], where
