"""A checkpoint folder with changed values in its JSON files."""

import json
from pathlib import Path
from typing import Any

from adaptbert.core.files import file_digest, read_json


def edit(folder: Path, name: str, **changes: Any) -> None:
    """Keys of the object, or, with dots, of one inside; `...` removes one."""
    values = read_json(folder / name)
    for key, value in changes.items():
        *path, last = key.split("__")
        inside = values
        for part in path:
            inside = inside[part]
        if value is ...:
            del inside[last]
        else:
            inside[last] = value
    (folder / name).write_text(json.dumps(values), encoding="utf-8")


def sealed(folder: Path) -> None:
    """Write the digests of the present files into the card."""
    digests = {"config": file_digest(folder / "config.json"), "weights": file_digest(folder / "model.safetensors")}
    edit(folder, "card.json", **digests)
