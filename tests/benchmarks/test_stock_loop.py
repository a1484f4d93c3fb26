"""The independent loop of stock transformers: it reads a study's project, learns from its labels, and scores strictly.

The labels follow from single words, so that a tiny model learns them in seconds.
"""

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from benchmarks import stock_loop
from tests.support import tiny
from tests.support.imports import ROOT

OF_DOMAIN = set(tiny.WORDS["domain"])
SEEN = [f"{tag}-X" if tag != "O" else tag for tag in "OBIOBB"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (SEEN, [(1, 3, "X"), (4, 5, "X"), (5, 6, "X")]),
        (["I-X", "I-Y", "O"], [(0, 1, "X"), (1, 2, "Y")]),
        (["O"], []),
    ],
)
def test_spans(tags: list[str], expected: list[Any]) -> None:
    assert list(stock_loop.spans(tags)) == expected


@pytest.mark.parametrize("kind", ["text-classification", "token-classification"])
def test_from_a_project_to_scores(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.public(tmp_path / "models/init/small")
    (tmp_path / "data/own").mkdir(parents=True)
    task: dict[str, Any] = {"type": kind, **({"tag_scheme": "bio"} if kind.startswith("token") else {})}
    for seed, split in enumerate(("train", "dev", "test")):
        task[split] = f"data/own/{split}.jsonl.gz"
        rows = [row(kind, text) for text in (*tiny.sentences("general", 40, seed), *tiny.sentences("domain", 40, seed))]
        (tmp_path / task[split]).write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    finetune = {"epochs": 6, "learning_rate": 5e-3, "global_batch_size": 8, "micro_batch_size": 8}
    params = {"base": "models/init/small", "tasks": {"mine": task}, "arms": ["general"], "finetune": finetune}
    YAML().dump({**params, "pretrain": {}, "compare": {}}, tmp_path / "params.yaml")
    (tmp_path / "metrics").mkdir()
    shutil.copy(ROOT / "metrics/comparison.json", tmp_path / "metrics")  # of the demonstration, as in a clone
    stock_loop.main([str(tmp_path), "mine", "--seeds", "1"])
    (score,) = re.findall(r"^mean: ([\d.]+)$", capsys.readouterr().out, re.MULTILINE)
    assert float(score) > 80


def row(kind: str, text: str) -> dict[str, Any]:
    """A row whose words, or most of whose words, say what it is."""
    words = text.split()
    own = [word.lower() in OF_DOMAIN for word in words]
    if kind == "text-classification":
        return {"text": text, "label": "domain" if 2 * sum(own) > len(own) else "general"}
    return {"tokens": words, "tags": ["B-X" if each else "O" for each in own]}
