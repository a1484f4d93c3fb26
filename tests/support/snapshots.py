"""Texts that were read and found good."""

import os
from pathlib import Path


def agrees(path: Path, text: str) -> None:
    """Compare with a file; `WRITE_SNAPSHOTS=1 pytest tests/report` writes it anew, `git diff` shows what changed."""
    if os.environ.get("WRITE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"read {path.name}: WRITE_SNAPSHOTS=1 takes the new text"
