"""Formats of labelled sets: what each makes of a small file, and what it puts aside."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.config.schema.sources import Source
from adaptbert.data.labelled_source import LabelledSource
from adaptbert.data.layout import Layout
from adaptbert.data.readers.records import Row
from adaptbert.errors import BadData, UserError
from tests.support.labelled_files import ANSWER, CLASS, LABELS, PAIR, SPANS, TAGS, load, problems, values

# --- columns


def test_a_pair_and_a_number_from_csv(tmp_path: Path) -> None:
    content = "one,two,score,by\nA,B,2.5,x\nC,,1,x\nD,E,high,y\nF,G,nan,y\nH,I,1_000,y\n"
    columns = {"text_a": "one", "text_b": "two", "value": "score", "group": "by"}
    rows, bad, _ = load(tmp_path / "a.csv", PAIR, content, columns=columns)
    assert rows == [Row("train-2", "a.csv", 2, {"text_a": "A", "text_b": "B", "value": 2.5}, "x")]
    assert problems(bad) == [(3, 76), (4, 77), (5, 62), (6, 77)]


def test_several_labels_are_sorted_and_each_once(tmp_path: Path) -> None:
    content = '{"text": "a", "labels": ["y", "x", "y"]}\n{"text": "b", "labels": []}\n{"text": "c", "labels": null}\n'
    rows, bad, _ = load(tmp_path / "a.jsonl", LABELS, content)
    assert values(rows) == [{"text": "a", "labels": ["x", "y"]}, {"text": "b", "labels": []}]
    assert problems(bad) == [(3, 62)]


@pytest.mark.parametrize(
    "answers",
    [
        {"text": ["sat", "sat", "cat"], "answer_start": [8, 8, 4]},
        [{"text": "sat", "answer_start": 8}, {"text": "cat", "start": 4}],
    ],
)
def test_answers_as_columns_or_as_a_list(tmp_path: Path, answers: Any) -> None:
    record = {"context": "The cat sat", "question": "?", "answers": answers}
    rows, bad, _ = load(tmp_path / "a.jsonl", ANSWER, record)
    assert bad == []
    assert rows[0].values["answers"] == [{"text": "sat", "start": 8}, {"text": "cat", "start": 4}]


@pytest.mark.parametrize(
    "answers", [{"text": ["a"], "answer_start": []}, [["a", 1]], [{"text": "a"}], [{"text": "a", "start": "1"}], 7]
)
def test_answers_of_another_form_are_rejected(tmp_path: Path, answers: Any) -> None:
    record = {"context": "a", "question": "?", "answers": answers}
    assert problems(load(tmp_path / "a.jsonl", ANSWER, record)[1]) == [(1, 65)]


@pytest.mark.parametrize("start", [10**30, -(10**30), 2**63])
def test_an_offset_that_parquet_cannot_hold(tmp_path: Path, start: int) -> None:
    record = {"context": "a", "question": "?", "answers": {"text": ["a"], "answer_start": [start]}}
    assert problems(load(tmp_path / "a.jsonl", ANSWER, record)[1]) == [(1, 83)]


def test_tags_under_another_name(tmp_path: Path) -> None:
    rows, _, _ = load(tmp_path / "a.jsonl", TAGS, {"tokens": ["a"], "upos": ["DET"]}, columns={"tags": "upos"})
    assert values(rows) == [{"tokens": ["a"], "tags": ["DET"]}]


FOUR = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

-DOCSTART- -X- -X- O

Peter NNP B-NP B-PER


Paris NNP B-NP
Rome NNP B-NP B-LOC
"""


def test_conll_of_four_columns(tmp_path: Path) -> None:
    rows, bad, _ = load(tmp_path / "a.conll", SPANS, FOUR, columns={"group": "document"})
    assert [(row.id, row.line, row.values, row.group) for row in rows] == [
        ("train-3", 3, {"tokens": ["EU", "rejects"], "tags": ["B-ORG", "O"]}, "train-1"),
        ("train-8", 8, {"tokens": ["Peter"], "tags": ["B-PER"]}, "train-2"),
    ]
    assert [(row.line, row.problem) for row in bad] == [(11, (95, "expected 4 columns, found 3"))]
    rows, _, _ = load(tmp_path / "b.conll", TAGS, FOUR, columns={"tags": "2"})
    assert values(rows)[0]["tags"] == ["NNP", "VBZ"]


def test_documents_of_two_files_are_two(tmp_path: Path) -> None:
    """Each file counts from 1: neither two splits nor two files of a folder share a group."""
    folders = {split: tmp_path / split for split in ("train", "dev", "test")}
    for split, folder in folders.items():
        folder.mkdir()
        for name in ("a", "b"):
            (folder / f"{name}.conll").write_text(f"-DOCSTART- O\n\n{name} O\n\n{split} B-X\n", encoding="utf-8")
    config = Source.model_validate({"source": "files", "columns": {"group": "document"}})
    source = LabelledSource(folders, SPANS, config, {})
    groups = [row.group for split in folders for row in source.rows(split) if row.problem is None]
    assert (len(groups), len(set(groups))) == (12, 6)


def test_conll_of_two_columns_with_tabs(tmp_path: Path) -> None:
    """A token may hold a blank where tabs part the columns; where the file has tabs, blanks part nothing."""
    content = "New York\tB-LOC\r\nis\tO\r\n\r\nbig O\r\n\r\n#\tO"
    rows, bad, _ = load(tmp_path / "a.tsv", SPANS, content, format="conll")
    assert values(rows) == [
        {"tokens": ["New York", "is"], "tags": ["B-LOC", "O"]},
        {"tokens": ["#"], "tags": ["O"]},
    ]
    assert problems(bad) == [(4, 95)]


def test_conll_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"AB-095 .*a.conll:1: one column found"):
        load(tmp_path / "a.conll", SPANS, "a\nb\n\n")
    with pytest.raises(BadData, match=r"AB-056 .*column '5' missing; found 1, 2, document, tokens, tags"):
        load(tmp_path / "a.conll", SPANS, "a O\n", columns={"tags": "5"})
    with pytest.raises(BadData, match=r"AB-016 .*0 sentences"):
        load(tmp_path / "a.conll", SPANS, "-DOCSTART- O\n\n\n")


def squad(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"version": "v2.0", "data": [{"title": "T", "paragraphs": [{"context": "The cat sat", "qas": questions}]}]}


def test_squad(tmp_path: Path) -> None:
    document = squad(
        {"id": "q1", "question": "who?", "answers": [{"text": "The cat", "answer_start": 0}], "is_impossible": False},
        {"id": "q2", "question": "why?", "answers": [], "plausible_answers": [], "is_impossible": True},
        {"id": "q3", "question": "how?"},
    )
    columns = {"id": "id", "group": "title"}
    rows, bad, _ = load(tmp_path / "a.json", ANSWER, document, format="squad", columns=columns)
    shared = {"context": "The cat sat"}
    assert rows == [
        Row("q1", "a.json", 1, {**shared, "question": "who?", "answers": [{"text": "The cat", "start": 0}]}, "T"),
        Row("q2", "a.json", 2, {**shared, "question": "why?", "answers": []}, "T"),
    ]
    assert [(row.id, row.problem.code) for row in bad] == [("q3", 62)]


def test_both_forms_of_cmrc(tmp_path: Path) -> None:
    """The flat one has no offsets: the first occurrence is taken, and counted."""
    nested = {"data": [{"paragraphs": [{"id": "D", "context": "猫坐猫", "qas": [
        {"id": "D-0", "question": "谁", "answers": [{"text": "猫", "answer_start": 0}]}]}]}]}  # fmt: skip
    flat = [{"context_id": "D", "context_text": "猫坐猫", "qas": [
        {"query_id": "D-0", "query_text": "谁", "answers": ["猫", "猫"]},
        {"query_id": "D-1", "query_text": "何", "answers": ["狗"]}]}]  # fmt: skip
    first, _, _ = load(tmp_path / "a.json", ANSWER, nested, format="squad", columns={"id": "id"})
    second, bad, files = load(tmp_path / "b.json", ANSWER, flat, format="squad", columns={"id": "id"})
    assert [(row.id, row.values) for row in first] == [(row.id, row.values) for row in second]
    assert [(row.line, row.problem.code) for row in bad] == [(2, 81)]
    assert files.warnings["answers without an offset, taken at their first place"] == 3


@pytest.mark.parametrize("columns", [{"question": "q"}, {"id": "nr"}])
def test_a_field_that_no_question_has(tmp_path: Path, columns: dict[str, str]) -> None:
    document = squad({"id": "q1", "question": "who?", "answers": []})
    with pytest.raises(BadData, match=r"AB-056 .*column '(q|nr)' missing; found title, context, id, question, answers"):
        load(tmp_path / "a.json", ANSWER, document, format="squad", columns=columns)


@pytest.mark.parametrize(
    ("content", "code"),
    [('{"data": 3}', 56), ("[]", 16), ("{", 44), ('{"data": [], "data": []}', 46), ("[" * 100_000, 44), ("7", 56)],
)
def test_what_is_not_squad(tmp_path: Path, content: str, code: int) -> None:
    with pytest.raises(UserError) as raised:
        load(tmp_path / "a.json", ANSWER, content, format="squad")
    assert raised.value.code == code


@pytest.mark.parametrize("content", [[3], [{"paragraphs": 3}], [{"qas": [None]}], [{"paragraphs": [{"qas": "x"}]}]])
def test_broken_inside_is_rejected(tmp_path: Path, content: Any) -> None:
    rows, bad, _ = load(tmp_path / "a.json", ANSWER, content, format="squad")
    assert (rows, problems(bad)) == ([], [(1, 56)])


# --- anything at all

KEYS = ["data", "paragraphs", "qas", "context", "question", "answers", "text", "answer_start", "is_impossible", "label",
        "entities", "start_offset", "end_offset", "annotations", "result", "value", "labels", "choices", "from_name",
        "start", "end", "was_cancelled", "context_text", "query_text"]  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.floats(), st.sampled_from(["", "a b", "b", "label"])
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)),
    max_leaves=25,
)

FILES = st.one_of(
    JSON,
    JSON.map(lambda content: [{"data": {"text": "a b"}, "annotations": [{"result": content}]}]),
    JSON.map(lambda content: {"data": [{"context": "a b", "qas": content}]}),
    JSON.map(lambda content: {"text": "a b", "label": content}),
)


@settings(max_examples=400, deadline=None)
@given(FILES, st.sampled_from(["squad", "doccano", "label_studio"]), st.sampled_from([CLASS, LABELS, SPANS, ANSWER]))
def test_any_json_gives_rows_or_one_of_our_errors(
    tmp_path_factory: pytest.TempPathFactory, content: Any, kind: str, layout: Layout
) -> None:
    with suppress(UserError):
        load(tmp_path_factory.getbasetemp() / "any.json", layout, content, format=kind)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", "O", "-DOCSTART-", "\t", " ", "\n", "\n\n", "\r", "B-X", "\x85"]), max_size=20))
def test_any_lines_are_conll_or_one_of_our_errors(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.conll"
    with suppress(UserError):
        rows, bad, _ = load(path, SPANS, "".join(parts))
        assert rows or bad
        assert all(len(row.values["tokens"]) == len(row.values["tags"]) for row in rows)
