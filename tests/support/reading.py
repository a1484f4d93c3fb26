"""Files with given bytes, what is read or collected of them, and the layouts of labelled sets."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.config.schema.sources import Corpus, Source, Task
from adaptbert.config.schema.task_types import spec_of
from adaptbert.data.collect import collect_corpus
from adaptbert.data.files import Files
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.rows import Row

CLASS, LABELS, NUMBER = (Layout("single_sentence", target) for target in ("class", "labels", "number"))
PAIR, PAIR_NUMBER = (Layout("sentence_pair", target) for target in ("class", "number"))
SPANS, TAGS = (Layout("sequence_labelling", target) for target in ("spans", "tags"))
ANSWER = Layout("extractive_answer", "answer")

MANY = "".join(f"line {number}\n" for number in range(20_000)).encode()


def config(layout: Layout = CORPUS, **values: Any) -> Source:
    """The section of a corpus or task; its paths are said elsewhere."""
    if layout.task_type is None or layout.target is None:
        return Corpus.model_validate({"path": "", **values})
    paths = {"train": "1", "dev": "2", "test": "3"}
    return Task.model_validate({**paths, **spec_of(layout.task_type, layout.target).written, **values})


def read(path: Path, layout: Layout = CORPUS, split: str = "", **values: Any) -> tuple[list[Row], list[Row], Files]:
    """The rows that can be read, the others, and their source."""
    files = Files(path, config(layout, **values), split)
    rows = list(files.rows())
    return [row for row in rows if row.problem is None], [row for row in rows if row.problem is not None], files


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def texts(path: Path, **values: Any) -> list[str]:
    return [row.values["text"] for row in read(path, **values)[0]]


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def collect(path: Path, out: Path, **values: Any) -> dict[str, Any]:
    out.mkdir()
    return collect_corpus(Corpus.model_validate({"path": str(path), **values}), out)
