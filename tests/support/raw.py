"""Raw sets as `collect` leaves them, and what validation makes of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.config.schema.sources import Limits
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.validate_set import ValidatedSet, validate_labelled_set
from tests.support.reading import CLASS, config

LIMITS = Limits(min_characters=2, max_characters=200, max_bad_fraction=1.0)
STRICT = Limits(min_characters=2, max_characters=200, max_bad_fraction=0.01)


def table(layout: Layout, rows: Sequence[tuple[Any, ...]], file: str) -> pa.Table:
    """Rows without id, file and line, or with an id in front; ids are counted up where they are missing."""
    schema = pa.schema([*layout.arrow(), ("file", pa.string()), ("line", pa.int64())])
    full = []
    for number, row in enumerate(rows, 1):
        cells = row if len(row) == len(schema) - 2 else (f"{file}-{number}", *row)
        full.append(dict(zip(schema.names, (*cells, file, number), strict=True)))
    return pa.Table.from_pylist(full, schema=schema)


def unreadable(folder: Path, count: int, split: str | None = None, code: int = 1) -> None:
    """Rows that could not be read."""
    rows = [
        {
            "id": f"bad-{number}",
            "file": "source.jsonl",
            "line": number,
            "code": code,
            "reason": "byte 0xE9 is not UTF-8",
        }
        | {"remedy": "declare the encoding"}
        | ({} if split is None else {"split": split})
        for number in range(count)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "unreadable.parquet")


def corpus(folder: Path, texts: Sequence[str | tuple[str, str]]) -> Path:
    """data/raw/corpora/<name>."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [text if isinstance(text, tuple) else (text,) for text in texts]
    pq.write_table(table(CORPUS, rows, "corpus.txt"), folder / "text.parquet")
    return folder


def task(folder: Path, splits: Mapping[str, Sequence[tuple[Any, ...]]], layout: Layout = CLASS, **about: Any) -> Path:
    """data/raw/tasks/<name>; `about` is what params.yaml says of the set."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        pq.write_table(table(layout, rows, f"{split}.csv"), folder / f"{split}.parquet")
    manifest = {"task": config(layout, **about).model_dump(exclude_unset=True)}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def validated(folder: Path, splits: Any, layout: Layout = CLASS, limits: Limits = STRICT, **about: Any) -> ValidatedSet:
    task(folder / "raw", splits, layout, **about)
    return validate_labelled_set(folder / "raw", folder / "kept", folder / "rejected.parquet", limits)


def rows(path: Path) -> list[dict[str, Any]]:
    """Rows of a Parquet file."""
    content: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return content
