"""docs/how-to/labelled-sets.md shows a file and its parameters for each format: they are read as they stand."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from adaptbert.collection.readers.formats.spec import FORMATS
from adaptbert.collection.readers.records import Row
from adaptbert.collection.user_files import Files
from adaptbert.runtime.params import params_file as params
from stages.collect_task import CollectTaskParams
from tests.support.markdown import blocks

PAGE = "docs/how-to/labelled-sets.md"
PATHS = {"source": "files", "train": "a", "dev": "b", "test": "c"}


def examples() -> list[Any]:
    """Each block that is a file, with the parameters that follow it."""
    shown = [(file, keys) for file, keys in pairwise(blocks(PAGE)) if file.language != "yaml"]
    return [
        pytest.param(file, keys.text, id=keys.text.splitlines()[0] + f"-{n}") for n, (file, keys) in enumerate(shown)
    ]


def parsed(text: str, **more: Any) -> CollectTaskParams:
    values = {**more, **YAML(typ="safe", pure=True).load(text)}
    return params.parse(CollectTaskParams, values, "collect_task.x", Path("params.yaml"))


@pytest.mark.parametrize(("file", "keys"), examples())
def test_the_example_is_read_whole(tmp_path: Path, file: Any, keys: str) -> None:
    section = parsed(keys, **PATHS)
    suffix = {"json": "jsonl"}.get(file.language, file.language)
    path = tmp_path / f"train.{suffix}"
    path.write_text(file.text, encoding="utf-8")
    rows = list(Files(path, section.layout(), section, "train", section.labelling()).rows())
    assert rows
    assert all(isinstance(row, Row) for row in rows)


def test_every_format_is_shown() -> None:
    shown = {parsed(example.values[1], **PATHS).format or example.values[0].language for example in examples()}
    assert shown == {"csv", "json"} | {name for name, spec in FORMATS.items() if spec.is_labelled}


def test_the_split_is_one() -> None:
    (text,) = [block.text for block in blocks(PAGE) if block.language == "yaml" and "split" in block.text]
    assert parsed(text, source="files", shape="single_sentence", target="class").split is not None
