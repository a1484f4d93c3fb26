"""A project whose params.yaml names files of a user, for tests of `adaptbert check`."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptbert.config import load
from tests.support.commands import run
from tests.support.imports import ROOT
from tests.support.messages import messages_in
from tests.support.project import write_params


def lines(name: str, *rows: Any) -> str:
    """Writes JSON lines below data/own, or text as it is, and gives their path."""
    path = Path("data/own") / name
    written = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(written) + "\n", encoding="utf-8")
    return str(path)


def words(seed: int, count: int = 8) -> str:
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("abcdefghijklmnop", k=5)) for _ in range(count))


def good(name: str, count: int, seed: int = 0) -> str:
    """A split of a set of two classes."""
    return lines(name, *({"text": words(seed + n), "label": "ab"[n % 2]} for n in range(count)))


def mood(**changes: Any) -> dict[str, Any]:
    """A labelled set of files that are all right but for what a test changes."""
    splits = {split: changes.pop(split, None) or good(f"{split}.jsonl", 20, seed) for split, seed in SEEDS.items()}
    return {"type": "text-classification", **splits, **changes}


SEEDS = {"train": 0, "dev": 1000, "test": 2000}


def write(corpora: Mapping[str, str] | None = None, options: Mapping[str, Any] | None = None, **tasks: Any) -> None:
    """A params.yaml with these sets beside those of the smoke recipe, and its plan.json.

    Args:
        corpora: their paths.
        options: of `finetune`, for all of the tasks.
    """
    document = load.read(ROOT / "presets/smoke.yaml")
    document["corpora"] |= {name: {"path": path} for name, path in (corpora or {}).items()}
    document["tasks"] |= tasks
    document["overrides"] = {name: {"finetune": dict(options)} for name in tasks} if options else {}
    write_document(document)


def write_document(document: Mapping[str, Any]) -> None:
    write_params(Path(), document)


def check_errors() -> list[str]:
    done = run("check")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code in ((65, 78) if done.stderr else (0,)), done.output
    return messages_in(done.stderr.removeprefix("error: "))
