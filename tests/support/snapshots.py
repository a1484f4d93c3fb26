"""Texts that were read and found good, and that are the same on every processor."""

import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from adaptbert.comparison.records import Comparison
from adaptbert.report.language import EMPTY, Text

Said = Iterator[tuple[str, Text | Iterable[Text] | None]]
"""Case -> what is said."""
HAIR = 1e-9
"""How far a number is moved, or its share: a millionth of the last digit of a score, which is a tenth of a point."""
SET = {"min_gain", "confidence"}
"""Fields that nobody computes; a view shows all their digits."""


def both(said: Said) -> str:
    """Each case with what is said of it, in English and Chinese."""
    return "\n\n".join(_case(name, texts) for name, texts in said) + "\n"


def _case(name: str, texts: Text | Iterable[Text] | None) -> str:
    lines = [texts] if isinstance(texts, Text) else [*(texts or [])]
    spoken = [line for line in lines if line != EMPTY] or [Text("(nothing)", "")]
    return "\n".join([f"## {name}", *(f"- {line.en}\n  {line.zh}".rstrip() for line in spoken)])


def agrees(path: Path, view: Callable[..., str], *comparisons: Comparison) -> None:
    """Compare a view with a file; `WRITE_SNAPSHOTS=1 pytest tests/report` writes it anew, `git diff` shows changes.

    The last digit of a sum depends on the vector units of the processor, so a number on the edge of two roundings is
    refused before it is written: other simulated data take it off.
    """
    text = view(*comparisons)
    edges = on_an_edge(view, *comparisons)
    assert not edges, f"{path.name} would differ on another processor: change the simulated data\n" + "\n".join(edges)
    if os.environ.get("WRITE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"read {path.name}: WRITE_SNAPSHOTS=1 takes the new text"


def on_an_edge(view: Callable[..., str], *comparisons: Comparison) -> list[str]:
    """Lines of a view that change where all computed numbers are a hair larger or smaller, or some this, some that."""
    lines = view(*comparisons).splitlines()
    draws = [random.Random(seed) for seed in range(4)]
    signs: list[Callable[[], int]] = [lambda: 1, lambda: -1, *(lambda own=own: own.choice((1, -1)) for own in draws)]
    others = [view(*(moved(each, sign) for each in comparisons)).splitlines() for sign in signs]
    return sorted({f"{line} | {own}" for each in others for line, own in zip(lines, each, strict=True) if line != own})


def moved(value: Any, sign: Callable[[], int]) -> Any:
    """A record with every number in it that is not whole moved by a hair."""
    if isinstance(value, float):
        return value if value.is_integer() else value + sign() * HAIR * max(1.0, abs(value))
    if is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in fields(value) if each.init and each.name not in SET]
        return replace(value, **{name: moved(getattr(value, name), sign) for name in names})
    if isinstance(value, Mapping):
        return {key: moved(each, sign) for key, each in value.items()}
    if isinstance(value, list | tuple):
        items = [moved(each, sign) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
