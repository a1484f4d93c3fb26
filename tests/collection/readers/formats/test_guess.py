"""A file in a format that nobody named: the message says which one it looks like."""

import json
from pathlib import Path

import pytest

from adaptbert.collection.readers.lines import MAX_LINE
from adaptbert.errors import BadData, UserError
from adaptbert.prediction.inputs import Input
from adaptbert.prediction.request_rows import Reader
from tests.support.labelled_files import ANSWER, CLASS, FOUR, LABELS, SPANS, load, squad, two_controls

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
    name, layout, content, message = UNNAMED[case]
    with pytest.raises(BadData, match=f"(?s){message}"):
        load(tmp_path / name, layout, content)


@pytest.mark.parametrize("case", ["squad", "pretty", "cmrc", "studio", "tabs"])
def test_the_same_in_prediction(tmp_path: Path, case: str) -> None:
    name, layout, content, message = UNNAMED[case]
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(BadData, match=f"(?s){message}"):
        list(Input(tmp_path / name, layout.task_type, Reader(layout.task_type, {}), None, None).rows())


def test_squad_in_one_line_that_is_too_long(tmp_path: Path) -> None:
    document = squad({"id": "q1", "question": "x" * MAX_LINE, "answers": []})
    with pytest.raises(BadData, match=r"(?s)AB-018 .*SQuAD or CMRC: write `format: squad`"):
        load(tmp_path / "a.json", ANSWER, document)


def test_lists_of_labels_alone_are_not_doccano(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"AB-056 .*column 'text' missing; found post, labels\n  rename it or map it"):
        load(tmp_path / "a.jsonl", LABELS, {"post": "a", "labels": ["x"]})


def test_a_format_that_was_named_is_not_doubted(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"(?s)AB-056 .*rename it or map it"):
        load(tmp_path / "a.txt", ANSWER, SQUAD, format="jsonl")
