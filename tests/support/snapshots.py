"""Texts that were read and found good."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from adaptbert.report.language import EMPTY, Text

Said = Iterator[tuple[str, Text | Iterable[Text] | None]]
"""Case -> what is said."""


def both(said: Said) -> str:
    """Each case with what is said of it, in English and Chinese."""
    return "\n\n".join(_case(name, texts) for name, texts in said) + "\n"


def _case(name: str, texts: Text | Iterable[Text] | None) -> str:
    lines = [texts] if isinstance(texts, Text) else [*(texts or [])]
    spoken = [line for line in lines if line != EMPTY] or [Text("(nothing)", "")]
    return "\n".join([f"## {name}", *(f"- {line.en}\n  {line.zh}".rstrip() for line in spoken)])


def agrees(path: Path, text: str) -> None:
    """Compare with a file; `WRITE_SNAPSHOTS=1 pytest tests/report` writes it anew, `git diff` shows what changed."""
    if os.environ.get("WRITE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"read {path.name}: WRITE_SNAPSHOTS=1 takes the new text"
