"""Raw sets as `collect` leaves them, for the tests of the gate."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

TEXT, LISTS = pa.string(), pa.list_(pa.string())
TYPES = {"id": TEXT, "text": TEXT, "label": TEXT, "tokens": LISTS, "tags": LISTS, "file": TEXT, "line": pa.int64()}
COLUMNS = {
    "corpus": ("id", "text", "file", "line"),
    "single_sentence": ("id", "text", "label", "file", "line"),
    "sequence_labelling": ("id", "tokens", "tags", "file", "line"),
}


def table(shape: str, rows: Sequence[tuple[Any, ...]], file: str) -> pa.Table:
    """Rows without id, file and line, or with an id in front; ids are counted up where they are missing."""
    names = COLUMNS[shape]
    full = [
        (*(row if len(row) == len(names) - 2 else (f"{file}-{number}", *row)), file, number)
        for number, row in enumerate(rows, 1)
    ]
    columns = [[row[place] for row in full] for place in range(len(names))]
    kinds = [TYPES[name] for name in names]
    return pa.Table.from_arrays(
        [pa.array(cells, kind) for cells, kind in zip(columns, kinds, strict=True)], list(names)
    )


def unreadable(folder: Path, count: int, split: str | None = None) -> None:
    """Rows that could not be read."""
    rows = [
        {"id": f"bad-{number}", "file": "source.jsonl", "line": number, "code": 1, "reason": "byte 0xE9 is not UTF-8"}
        | ({} if split is None else {"split": split})
        for number in range(count)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "unreadable.parquet")


def corpus(folder: Path, texts: Sequence[str | tuple[str | None, str | None] | None]) -> Path:
    """data/raw/corpora/<name>."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [text if isinstance(text, tuple) else (text,) for text in texts]
    pq.write_table(table("corpus", rows, "corpus.txt"), folder / "text.parquet")
    return folder


def task(folder: Path, splits: Mapping[str, Sequence[tuple[Any, ...]]], labels: list[str] | None = None) -> Path:
    """data/raw/tasks/<name>; the shape follows from the first cell."""
    folder.mkdir(parents=True, exist_ok=True)
    tokens = any(isinstance(row[-1], list) for rows in splits.values() for row in rows)
    shape = "sequence_labelling" if tokens else "single_sentence"
    for split, rows in splits.items():
        pq.write_table(table(shape, rows, f"{split}.csv"), folder / f"{split}.parquet")
    manifest = {"shape": shape} | ({"labels": labels} if labels else {})
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder
