"""docs/how-to/labelled-sets.md shows a file and its parameters for each format: they are read as they stand."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from adaptbert.config import load as params
from adaptbert.config.schema.sources import Task
from adaptbert.data.files import Files
from adaptbert.data.formats import FORMATS
from tests.support.format_examples import PAGE, Example, examples
from tests.support.markdown import blocks

PATHS = {"train": "a", "dev": "b", "test": "c"}


def parsed(section: dict[str, Any]) -> Task:
    return params.parse(Task, section, "tasks.x", Path("params.yaml"))


@pytest.mark.parametrize("example", examples(), ids=lambda example: f"{example.format} {example.section['type']}")
def test_the_example_is_read_whole(tmp_path: Path, example: Example) -> None:
    task = parsed(PATHS | example.section)
    path = tmp_path / f"train.{example.suffix}"
    path.write_text(example.text, encoding="utf-8")
    rows = list(Files(path, task, "train").rows())
    assert rows
    assert all(row.problem is None for row in rows)


def test_every_format_is_shown() -> None:
    labelled = {name for name, spec in FORMATS.items() if spec.is_labelled}
    assert {example.format for example in examples()} == {"csv", "jsonl"} | labelled


def test_the_split_is_one() -> None:
    (text,) = [block.text for block in blocks(PAGE) if block.language == "yaml" and "split" in block.text]
    section = YAML(typ="safe", pure=True).load(text)
    assert parsed({"type": "text-classification"} | section).split is not None
