"""What a recipe left in a clone -> values by path, by kind. A path names file and value, with `:` between them."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Values = dict[str, Any]
"""Path -> text, number, truth value or None."""

SHOWN = 60
"""Characters of the longest text that a record shows; of a longer one it has the digest."""


def read(root: Path) -> dict[str, Values]:
    """All kinds of a project in which a recipe has run."""
    return {kind: dict(values(root)) for kind, values in KINDS.items()}


def flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a JSON document; an empty list or mapping is a leaf, too."""
    if isinstance(value, dict | list) and value:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flat(inner, f"{path}{key}" if path.endswith(":") else f"{path}.{key}")
    else:
        yield path, value if value not in ({}, []) else json.dumps(value)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def tensors(root: Path) -> Iterator[tuple[str, Any]]:
    """Type, shape and digest of the bytes of every tensor; a file has its header first (safetensors' own format)."""
    for name, file in _files(root, "models", "*.safetensors"):
        content = file.read_bytes()
        begin = 8 + int.from_bytes(content[:8], "little")
        for tensor, about in json.loads(content[8:begin]).items():
            if tensor != "__metadata__":
                first, last = about["data_offsets"]
                yield (
                    f"{name}:{tensor}",
                    f"{about['dtype']} {about['shape']} {digest(content[begin + first : begin + last])}",
                )


def tokens(root: Path) -> Iterator[tuple[str, Any]]:
    """Each array of a tokenised corpus, and each part of a tokenizer, its vocabulary among them."""
    for name, file in _files(root, "data/tokenized", "*.bin"):
        yield name, f"{file.stat().st_size} bytes {digest(file.read_bytes())}"
    for name, file in _files(root, "data/tokenizer", "tokenizer.json"):
        for part, value in json.loads(file.read_text(encoding="utf-8")).items():
            yield f"{name}:{part}", digest(json.dumps(value).encode())


def rows(*folders: str) -> Callable[[Path], Iterator[tuple[str, Any]]]:
    """Each value of each row of tables, whatever the bytes of the files."""

    def values(root: Path) -> Iterator[tuple[str, Any]]:
        for folder in folders:
            for name, file in _files(root, folder, "*.parquet"):
                table = pq.read_table(file)
                yield f"{name}:rows", table.num_rows
                for column in table.column_names:
                    for number, value in enumerate(table[column].to_pylist()):
                        yield f"{name}:{column}[{number}]", _shown(value)

    return values


def comparison(root: Path) -> Iterator[tuple[str, Any]]:
    for name, file in _files(root, "metrics", "*.json"):
        if file.parent == root / "metrics" and file.stem in ("comparison", "metrics"):
            yield from flat(json.loads(file.read_text(encoding="utf-8")), f"{name}:")


def steps(root: Path) -> Iterator[tuple[str, Any]]:
    """The metrics of the stages before the comparison."""
    of_comparison = {path.partition(":")[0] for path, _ in comparison(root)}
    for name, file in _files(root, "metrics", "*.json"):
        if name not in of_comparison:
            yield from flat(json.loads(file.read_text(encoding="utf-8")), f"{name}:")


KINDS: dict[str, Callable[[Path], Iterator[tuple[str, Any]]]] = {
    "tensors": tensors,
    "tokens": tokens,
    "rows kept": rows("data/validated"),
    "rows rejected": rows("data/rejected"),
    "predictions": rows("predictions"),
    "comparison": comparison,
    "metrics of steps": steps,
}


def _files(root: Path, folder: str, pattern: str) -> Iterator[tuple[str, Path]]:
    for file in sorted((root / folder).rglob(pattern)):
        if file.is_file():
            yield file.relative_to(root).as_posix(), file


def _shown(value: Any) -> Any:
    """A value as JSON where that is short; floats keep all digits there."""
    if isinstance(value, int | float | None):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else f"{len(text)} characters {digest(text.encode('utf-8', 'surrogatepass'))}"
