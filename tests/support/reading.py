"""What the tests of the user's own files share: files with given bytes, and what is read or collected of them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.config.schema.sources import Source
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.raw_writer import RawWriter
from adaptbert.data.readers.records import Row
from adaptbert.data.user_files import Files

MANY = "".join(f"line {number}\n" for number in range(20_000)).encode()


def config(**values: Any) -> Source:
    return Source.model_validate({"source": "files", **values})


def read(path: Path, layout: Layout = CORPUS, split: str = "", **values: Any) -> tuple[list[Row], list[Row], Files]:
    files = Files(path, layout, config(**values), split)
    records = list(files.rows())
    return (
        [row for row in records if row.problem is None],
        [row for row in records if row.problem is not None],
        files,
    )


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def texts(path: Path, **values: Any) -> list[str]:
    return [row.values["text"] for row in read(path, **values)[0]]


def codes(path: Path, **values: Any) -> list[int]:
    return [row.problem.code for row in read(path, **values)[1] if row.problem]


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def collect(path: Path, out: Path, **values: Any) -> dict[str, Any]:
    files = Files(path, CORPUS, config(**values))
    out.mkdir()
    with RawWriter(out, CORPUS) as writer:
        writer.write(files.rows(), "text", path)
        return writer.finish(files.provenance(), files.warnings)
