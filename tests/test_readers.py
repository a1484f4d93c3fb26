"""Formats of labelled sets: what each makes of a small file, and what it puts aside."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.corpora.files import Files
from adaptbert.corpora.labelled import LabelledSet
from adaptbert.corpora.lines import MAX_LINE
from adaptbert.corpora.rows import Row, Unreadable
from adaptbert.corpora.sources import SourceConfig
from adaptbert.errors import BadData, UserError
from adaptbert.layout import Layout
from adaptbert.prediction.asked import Reader
from adaptbert.prediction.inputs import Input

CLASS, LABELS, NUMBER = (Layout("single_sentence", target) for target in ("class", "labels", "number"))
PAIR = Layout("sentence_pair", "number")
SPANS, TAGS = (Layout("sequence_labelling", target) for target in ("spans", "tags"))
ANSWER = Layout("extractive_answer", "answer")


def load(path: Path, layout: Layout, content: Any, **values: Any) -> tuple[list[Row], list[Unreadable], Files]:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    files = Files(path, layout, SourceConfig.model_validate({"source": "files", **values}), "train")
    found = list(files.rows())
    return [row for row in found if isinstance(row, Row)], [row for row in found if isinstance(row, Unreadable)], files


def values(rows: list[Row]) -> list[dict[str, Any]]:
    return [row.values for row in rows]


def problems(rows: list[Unreadable]) -> list[tuple[int, int]]:
    return [(row.line, row.problem.code) for row in rows]


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
def test_answers_of_another_form_are_put_aside(tmp_path: Path, answers: Any) -> None:
    record = {"context": "a", "question": "?", "answers": answers}
    assert problems(load(tmp_path / "a.jsonl", ANSWER, record)[1]) == [(1, 65)]


@pytest.mark.parametrize("start", [10**30, -(10**30), 2**63])
def test_an_offset_that_parquet_cannot_hold(tmp_path: Path, start: int) -> None:
    record = {"context": "a", "question": "?", "answers": {"text": ["a"], "answer_start": [start]}}
    assert problems(load(tmp_path / "a.jsonl", ANSWER, record)[1]) == [(1, 83)]


def test_tags_under_another_name(tmp_path: Path) -> None:
    rows, _, _ = load(tmp_path / "a.jsonl", TAGS, {"tokens": ["a"], "upos": ["DET"]}, columns={"tags": "upos"})
    assert values(rows) == [{"tokens": ["a"], "tags": ["DET"]}]


# --- CoNLL

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
    config = SourceConfig.model_validate({"source": "files", "columns": {"group": "document"}})
    found = LabelledSet(folders, SPANS, config, None, {})
    groups = [row.group for split in folders for row in found.rows(split) if isinstance(row, Row)]
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


# --- SQuAD and CMRC


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
    asked = {"context": "The cat sat"}
    assert rows == [
        Row("q1", "a.json", 1, {**asked, "question": "who?", "answers": [{"text": "The cat", "start": 0}]}, "T"),
        Row("q2", "a.json", 2, {**asked, "question": "why?", "answers": []}, "T"),
    ]
    assert [(row.id, row.problem.code) for row in bad] == [("q3", 62)]


def test_both_forms_of_cmrc(tmp_path: Path) -> None:
    """The flat one has no offsets: the first place is taken, and told."""
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
def test_broken_inside_is_put_aside(tmp_path: Path, content: Any) -> None:
    rows, bad, _ = load(tmp_path / "a.json", ANSWER, content, format="squad")
    assert (rows, problems(bad)) == ([], [(1, 56)])


# --- doccano and Label Studio


def test_doccano_labels(tmp_path: Path) -> None:
    labels = [["x"], ["y", "x"], []]
    content = "".join(json.dumps({"id": n, "text": "a", "label": found}) + "\n" for n, found in enumerate(labels, 4))
    rows, bad, _ = load(tmp_path / "a.jsonl", CLASS, content, format="doccano", columns={"id": "id"})
    assert [(row.id, row.values["label"]) for row in rows] == [("4", "x")]
    assert problems(bad) == [(2, 65), (3, 62)]
    rows, _, _ = load(tmp_path / "b.jsonl", LABELS, content, format="doccano")
    assert [row.values["labels"] for row in rows] == [["x"], ["x", "y"], []]


@pytest.mark.parametrize(
    "marks",
    [
        {"label": [[0, 5, "LOC"], [9, 12, "PER"]]},
        {"entities": [{"id": 1, "start_offset": 0, "end_offset": 5, "label": "LOC"},
                      {"id": 2, "start_offset": 9, "end_offset": 12, "label": "PER"}], "relations": []},
    ],
)  # fmt: skip
def test_doccano_spans(tmp_path: Path, marks: dict[str, Any]) -> None:
    rows, bad, _ = load(tmp_path / "a.jsonl", SPANS, {"text": "Paris or Ann", **marks}, format="doccano")
    assert bad == []
    assert values(rows) == [{"tokens": ["Paris", "or", "Ann"], "tags": ["B-LOC", "O", "B-PER"]}]
    broken = {"text": "Paris or Ann", "label": [["LOC"]]}
    assert problems(load(tmp_path / "b.jsonl", SPANS, broken, format="doccano")[1]) == [(1, 56)]


def studio(*results: dict[str, Any], **task: Any) -> dict[str, Any]:
    return {"id": 7, "data": {"text": "Ann 😀 Paris"}, "annotations": [{"result": list(results)}], **task}


def result(name: str, **value: Any) -> dict[str, Any]:
    return {"from_name": name, "to_name": "text", "value": value}


def test_label_studio_choices_and_ratings(tmp_path: Path) -> None:
    one, two = result("mood", choices=["pos"]), result("mood", choices=["pos", "glad"])
    several = [{"result": [one], "was_cancelled": True}, {"result": [one]}, {"result": [two]}]
    full = [studio(one), studio(two), studio(), studio(annotations=[]), studio(annotations=several)]
    rows, bad, files = load(tmp_path / "a.json", CLASS, full, format="label_studio", columns={"label": "mood"})
    assert [row.values["label"] for row in rows] == ["pos", "pos"]
    assert problems(bad) == [(2, 65), (3, 62), (4, 62)]
    assert files.warnings["annotations beyond the first of a task, not read"] == 1
    rows, _, _ = load(tmp_path / "b.json", LABELS, full, format="label_studio", columns={"labels": "mood"})
    assert [row.values["labels"] for row in rows] == [["pos"], ["glad", "pos"], [], ["pos"]]
    small = [
        {"id": 7, "text": "x", "mood": "pos", "stars": 4},
        {"text": "y", "mood": {"choices": ["a", "b"]}, "stars": 2},
    ]
    rows, _, _ = load(tmp_path / "c.json", LABELS, small, format="label_studio", columns={"labels": "mood"})
    assert [row.values["labels"] for row in rows] == [["pos"], ["a", "b"]]
    rows, _, _ = load(tmp_path / "d.json", NUMBER, small, format="label_studio", columns={"value": "stars"})
    assert [row.values["value"] for row in rows] == [4.0, 2.0]
    rated = [studio(result("stars", rating=3))]
    rows, _, _ = load(tmp_path / "e.json", NUMBER, rated, format="label_studio", columns={"value": "stars"})
    assert values(rows) == [{"text": "Ann 😀 Paris", "value": 3.0}]


@pytest.mark.parametrize("start", [6, 7])
def test_label_studio_spans_by_either_way_of_counting(tmp_path: Path, start: int) -> None:
    """6 counts code points, 7 the UTF-16 units of JavaScript."""
    mark = {"start": start, "end": start + 5, "text": "Paris", "labels": ["LOC"]}
    wanted = [{"tokens": ["Ann", "😀", "Paris"], "tags": ["O", "O", "B-LOC"]}]
    columns = {"tags": "ner"}
    rows, _, _ = load(
        tmp_path / "a.json", SPANS, [studio(result("ner", **mark))], format="label_studio", columns=columns
    )
    assert values(rows) == wanted
    small = [{"text": "Ann 😀 Paris", "ner": [mark]}]
    rows, _, _ = load(tmp_path / "b.json", SPANS, small, format="label_studio", columns=columns)
    assert values(rows) == wanted


def test_label_studio_relations_are_counted(tmp_path: Path) -> None:
    """They join two spans, which are read all the same."""
    marks = [result("ner", start=0, end=3, labels=["PER"]), result("ner", start=6, end=11, labels=["LOC"])]
    relation = {"from_id": "x", "to_id": "y", "type": "relation", "direction": "right", "labels": ["in"]}
    task = [studio(marks[0], relation, marks[1]), studio(*marks)]
    rows, bad, files = load(tmp_path / "a.json", SPANS, task, format="label_studio", columns={"tags": "ner"})
    assert bad == []
    assert [row.values["tags"] for row in rows] == [["B-PER", "O", "B-LOC"]] * 2
    assert files.warnings["results without a value (relations), not read"] == 1


@pytest.mark.parametrize(
    ("mark", "code"),
    [
        ({"start": 0, "end": 3, "text": "Bob", "labels": ["X"]}, 81),
        ({"start": -1, "end": 3, "labels": ["X"]}, 83),
        ({"start": 0, "end": 3, "labels": ["X", "Y"]}, 56),
        ({"start": 0, "end": 2, "labels": ["X"]}, 161),
        (3, 56),
    ],
)
def test_label_studio_spans_that_do_not_fit(tmp_path: Path, mark: Any, code: int) -> None:
    _, bad, _ = load(tmp_path / "a.json", SPANS, [{"text": "Ann", "label": [mark]}], format="label_studio")
    assert problems(bad) == [(1, code)]


def two_controls(**data: str) -> list[dict[str, Any]]:
    """Spans under `label` and `term`, choices under `mood`."""
    spans = [result(name, start=0, end=3, labels=[name.upper()]) for name in ("label", "term")]
    return [{"id": 7, "data": data, "annotations": [{"result": [*spans, result("mood", choices=["pos"])]}]}]


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(
    ("layout", "columns", "words"),
    [
        (SPANS, {"tags": "termx"}, r"no control 'termx' for tags; found label, term \(did you mean 'term'\?\)"),
        (SPANS, {}, r"no control 'tags' for tags; found label, term; name one of them, e.g. `columns: {tags: label}`"),
        (CLASS, {"label": "moody"}, r"no control 'moody' for label; found .*mood.* \(did you mean 'mood'\?\)"),
    ],
)
def test_a_control_that_never_occurs(
    tmp_path: Path, layout: Layout, columns: dict[str, str], words: str, *, small: bool
) -> None:
    """No other control is taken in its place: the model would learn what nobody asked for."""
    tasks = two_controls(text="Ann 😀 Paris")
    if small:
        mark = {"start": 0, "end": 3, "labels": ["X"]}
        tasks = [{"text": "Ann", "label": [mark], "term": [mark], "mood": "pos", "annotator": 1}]
    with pytest.raises(BadData, match=rf"AB-056 .*{words}"):
        load(tmp_path / "a.json", layout, tasks, format="label_studio", columns=columns)


def test_the_only_control_needs_no_name(tmp_path: Path) -> None:
    rows, _, _ = load(tmp_path / "a.json", CLASS, two_controls(text="Ann"), format="label_studio")
    assert values(rows) == [{"text": "Ann", "label": "pos"}]
    rows, _, _ = load(tmp_path / "b.json", CLASS, [{"text": "Ann", "mood": "pos", "id": 1}], format="label_studio")
    assert values(rows) == [{"text": "Ann", "label": "pos"}]


@pytest.mark.parametrize("kind", ["label_studio", "doccano"])
def test_marked_text_under_another_name(tmp_path: Path, kind: str) -> None:
    """Of formats that mark characters the input is called text, whatever it becomes."""
    content: Any = (
        two_controls(content="Ann went") if kind == "label_studio" else {"content": "Ann went", "x": [[0, 3, "TERM"]]}
    )
    tags = "term" if kind == "label_studio" else "x"
    rows, _, _ = load(tmp_path / "a.json", SPANS, content, format=kind, columns={"text": "content", "tags": tags})
    assert values(rows) == [{"tokens": ["Ann", "went"], "tags": ["B-TERM", "O"]}]
    with pytest.raises(BadData, match=r"AB-056 .*column 'text' missing; found .*content"):
        load(tmp_path / "b.json", SPANS, content, format=kind, columns={"tags": tags})


@pytest.mark.parametrize("layout", [CLASS, SPANS])
def test_a_column_of_doccano_that_is_not_there(tmp_path: Path, layout: Layout) -> None:
    with pytest.raises(BadData, match=r"AB-056 .*column 'lable' missing; found text, label"):
        load(tmp_path / "a.jsonl", layout, {"text": "a", "label": []}, format="doccano",
             columns={layout.outputs[0]: "lable"})  # fmt: skip


def test_what_is_not_label_studio(tmp_path: Path) -> None:
    for content in ("{}", "[]", "[3]"):
        with pytest.raises(BadData, match=r"AB-056 .*not a list of tasks"):
            load(tmp_path / "a.json", CLASS, content, format="label_studio")


# --- a format that nobody named

POS = [{"id": 1, "text": "a", "label": ["x"]}, {"id": 2, "text": "b", "label": []}]
SQUAD = squad({"id": "q1", "question": "who?", "answers": [{"text": "The cat", "answer_start": 0}]})


UNNAMED = {
    "squad": ("a.json", ANSWER, json.dumps(SQUAD), r"AB-056 .*this looks like SQuAD or CMRC: write .*squad"),
    "pretty": ("a.json", ANSWER, json.dumps(SQUAD, indent=1), r"AB-045 .*an object over several lines.*SQuAD .*squad"),
    "cmrc": ("a.json", ANSWER, '[{"context_text": "a", "qas": []}]', r"AB-045 .*one JSON array.*SQuAD .*squad"),
    "studio": ("a.json", CLASS, json.dumps(two_controls(text="Ann")), r"AB-045 .*Label Studio: write .*label_studio"),
    "tabs": ("a.tsv", SPANS, "New York\tB-LOC\nis\tO\n\nbig\tO\n", r"AB-056 .*this looks like CoNLL: write .*conll"),
    "spaces": ("a.txt", SPANS, FOUR, r"AB-056 .*this looks like CoNLL: write .*conll"),
    "doccano": ("a.jsonl", CLASS, "\n".join(map(json.dumps, POS)), r"AB-065 .*doccano: write .*doccano"),
}


@pytest.mark.parametrize("case", UNNAMED)
def test_the_format_is_named_that_a_file_looks_like(tmp_path: Path, case: str) -> None:
    name, layout, content, told = UNNAMED[case]
    with pytest.raises(BadData, match=told):
        load(tmp_path / name, layout, content)


@pytest.mark.parametrize("case", ["squad", "pretty", "cmrc", "studio", "tabs"])
def test_the_same_in_prediction(tmp_path: Path, case: str) -> None:
    name, layout, content, told = UNNAMED[case]
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(BadData, match=told):
        list(Input(tmp_path / name, layout.shape, Reader(layout.shape, {}), None, None).rows())


def test_squad_in_one_line_that_is_too_long(tmp_path: Path) -> None:
    document = squad({"id": "q1", "question": "x" * MAX_LINE, "answers": []})
    with pytest.raises(BadData, match=r"AB-018 .*SQuAD or CMRC: write `format: squad`"):
        load(tmp_path / "a.json", ANSWER, document)


def test_lists_of_labels_alone_are_not_doccano(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"AB-056 .*column 'text' missing; found post, labels; rename it or map it"):
        load(tmp_path / "a.jsonl", LABELS, {"post": "a", "labels": ["x"]})


def test_a_format_that_was_named_is_not_doubted(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"AB-056 .*rename it or map it"):
        load(tmp_path / "a.txt", ANSWER, SQUAD, format="jsonl")


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
    JSON.map(lambda found: [{"data": {"text": "a b"}, "annotations": [{"result": found}]}]),
    JSON.map(lambda found: {"data": [{"context": "a b", "qas": found}]}),
    JSON.map(lambda found: {"text": "a b", "label": found}),
)


@settings(max_examples=400, deadline=None)
@given(FILES, st.sampled_from(["squad", "doccano", "label_studio"]), st.sampled_from([CLASS, LABELS, SPANS, ANSWER]))
def test_any_json_gives_rows_or_one_of_our_errors(
    tmp_path_factory: pytest.TempPathFactory, found: Any, kind: str, layout: Layout
) -> None:
    with suppress(UserError):
        load(tmp_path_factory.getbasetemp() / "any.json", layout, found, format=kind)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", "O", "-DOCSTART-", "\t", " ", "\n", "\n\n", "\r", "B-X", "\x85"]), max_size=20))
def test_any_lines_are_conll_or_one_of_our_errors(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.conll"
    with suppress(UserError):
        rows, bad, _ = load(path, SPANS, "".join(parts))
        assert rows or bad
        assert all(len(row.values["tokens"]) == len(row.values["tags"]) for row in rows)
