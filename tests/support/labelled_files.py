"""What the tests of labelled formats share: layouts, and what is read of a small file."""

import json
from pathlib import Path
from typing import Any

from adaptbert.collection.readers.records import Row, Unreadable
from adaptbert.collection.source_config import SourceConfig
from adaptbert.collection.user_files import Files
from adaptbert.rows.layout import Layout

CLASS, LABELS, NUMBER = (Layout("single_sentence", target) for target in ("class", "labels", "number"))
PAIR = Layout("sentence_pair", "number")
SPANS, TAGS = (Layout("sequence_labelling", target) for target in ("spans", "tags"))
ANSWER = Layout("extractive_answer", "answer")


def load(path: Path, layout: Layout, content: Any, **values: Any) -> tuple[list[Row], list[Unreadable], Files]:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    files = Files(path, layout, SourceConfig.model_validate({"source": "files", **values}), "train")
    records = list(files.rows())
    return (
        [row for row in records if isinstance(row, Row)],
        [row for row in records if isinstance(row, Unreadable)],
        files,
    )


def values(rows: list[Row]) -> list[dict[str, Any]]:
    return [row.values for row in rows]


def problems(rows: list[Unreadable]) -> list[tuple[int, int]]:
    return [(row.line, row.problem.code) for row in rows]


# --- CoNLL

FOUR = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

-DOCSTART- -X- -X- O

Peter NNP B-NP B-PER


Paris NNP B-NP
Rome NNP B-NP B-LOC
"""


# --- SQuAD and CMRC


def squad(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"version": "v2.0", "data": [{"title": "T", "paragraphs": [{"context": "The cat sat", "qas": questions}]}]}


def studio(*results: dict[str, Any], **task: Any) -> dict[str, Any]:
    return {"id": 7, "data": {"text": "Ann 😀 Paris"}, "annotations": [{"result": list(results)}], **task}


def result(name: str, **value: Any) -> dict[str, Any]:
    return {"from_name": name, "to_name": "text", "value": value}


def two_controls(**data: str) -> list[dict[str, Any]]:
    """Spans under `label` and `term`, choices under `mood`."""
    spans = [result(name, start=0, end=3, labels=[name.upper()]) for name in ("label", "term")]
    return [{"id": 7, "data": data, "annotations": [{"result": [*spans, result("mood", choices=["pos"])]}]}]
