"""What doccano and Label Studio export: labels, spans of characters, controls, and what does not fit."""

import json
from pathlib import Path
from typing import Any

import pytest

from adaptbert.data.layout import Layout
from adaptbert.errors import BadData
from tests.support.labelled_files import CLASS, LABELS, NUMBER, SPANS, load, problems, values


def studio(*results: dict[str, Any], **task: Any) -> dict[str, Any]:
    return {"id": 7, "data": {"text": "Ann 😀 Paris"}, "annotations": [{"result": list(results)}], **task}


def result(name: str, **value: Any) -> dict[str, Any]:
    return {"from_name": name, "to_name": "text", "value": value}


def two_controls(**data: str) -> list[dict[str, Any]]:
    """Spans under `label` and `term`, choices under `mood`."""
    spans = [result(name, start=0, end=3, labels=[name.upper()]) for name in ("label", "term")]
    return [{"id": 7, "data": data, "annotations": [{"result": [*spans, result("mood", choices=["pos"])]}]}]


def test_doccano_labels(tmp_path: Path) -> None:
    labels = [["x"], ["y", "x"], []]
    content = "".join(json.dumps({"id": n, "text": "a", "label": label}) + "\n" for n, label in enumerate(labels, 4))
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
    expected = [{"tokens": ["Ann", "😀", "Paris"], "tags": ["O", "O", "B-LOC"]}]
    columns = {"tags": "ner"}
    rows, _, _ = load(
        tmp_path / "a.json", SPANS, [studio(result("ner", **mark))], format="label_studio", columns=columns
    )
    assert values(rows) == expected
    small = [{"text": "Ann 😀 Paris", "ner": [mark]}]
    rows, _, _ = load(tmp_path / "b.json", SPANS, small, format="label_studio", columns=columns)
    assert values(rows) == expected


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


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(
    ("layout", "columns", "words"),
    [
        (SPANS, {"tags": "termx"}, r"no control 'termx' for tags; found label, term \(did you mean 'term'\?\)"),
        (
            SPANS,
            {},
            r"no control 'tags' for tags; found label, term\n  name one of them, e.g. `columns: {tags: label}`",
        ),
        (CLASS, {"label": "moody"}, r"no control 'moody' for label; found .*mood.* \(did you mean 'mood'\?\)"),
    ],
)
def test_a_control_that_never_occurs(
    tmp_path: Path, layout: Layout, columns: dict[str, str], words: str, *, small: bool
) -> None:
    """No other control is read instead: the model would learn another task."""
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
