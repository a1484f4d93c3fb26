"""What the tests of labelled formats share: layouts, and what is read of a small file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptbert.data.layout import Layout
from adaptbert.data.readers.records import Row
from adaptbert.data.user_files import Files
from tests.support.reading import read, write

CLASS, LABELS, NUMBER = (Layout("single_sentence", target) for target in ("class", "labels", "number"))
PAIR = Layout("sentence_pair", "number")
SPANS, TAGS = (Layout("sequence_labelling", target) for target in ("spans", "tags"))
ANSWER = Layout("extractive_answer", "answer")


def load(path: Path, layout: Layout, content: Any, **values: Any) -> tuple[list[Row], list[Row], Files]:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return read(write(path, text), layout, "train", **values)


def values(rows: list[Row]) -> list[Mapping[str, Any]]:
    return [row.values for row in rows]


def problems(rows: list[Row]) -> list[tuple[int, int | None]]:
    return [(row.line, row.problem and row.problem.code) for row in rows]
