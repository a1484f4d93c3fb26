"""A small project as `dvc repro tokenize` leaves it, for `adaptbert price`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptbert.base.files import write_json
from adaptbert.runtime.params import expanded_ladder
from adaptbert.runtime.params import params_file as params
from tests.support import tiny, tiny_tasks
from tests.support.imports import ROOT

TASKS = {"section": ("single_sentence", "class"), "mention": ("sequence_labelling", "spans")}
ARMS: dict[str, dict[str, str]] = {
    "general": {},
    "general_long": {"domain_transfer": "general"},
    "domain": {"domain_transfer": "domain"},
    "domain_task": {"domain_transfer": "domain", "task_transfer": "own"},
}


def document(**ladder: Any) -> dict[str, Any]:
    """The preset `smoke` with other arms, in one precision.

    Args:
        ladder: keys of the section `ladder` that are otherwise.
    """
    smoke = params.read(ROOT / "presets/smoke.yaml")
    smoke["ladder"] |= {"arms": ARMS, "draws": 2, **ladder}
    for section in ("pretrain", "domain_transfer", "task_transfer", "finetune"):
        smoke[section]["all"]["precision"] = "32-true"
    return smoke


def tokenized_project(root: Path, values: Mapping[str, Any]) -> None:
    """Write the project; nothing is trained in it, and no task has a test split.

    Args:
        values: of params.yaml.
    """
    (root / "stages").symlink_to(ROOT / "stages")
    (root / "params.yaml").write_text(json.dumps(values), encoding="utf-8")
    expanded_ladder.write(expanded_ladder.expanded(values, root / "params.yaml"), root / "ladder.yaml")
    tokenized = root / "data/tokenized/small"
    for kind in tiny.WORDS:
        tiny.corpus(tokenized / "corpora" / kind, kind, 120)
    tiny.heldout(tokenized / "heldout", tasks=list(TASKS))
    for number, (task, (shape, target)) in enumerate(TASKS.items()):
        tiny.corpus(tokenized / "tasks" / task, "domain", 40, seed=10 + number)
        tiny_tasks.task(root / "data/validated/tasks" / task, shape, (100, 24, 24), target)
        (root / f"data/validated/tasks/{task}/test.parquet").unlink()  # no price needs it
    (root / "data/tokenizer").mkdir()
    tiny.tokenizer().save(root / "data/tokenizer/small")


def with_general_rung(root: Path) -> None:
    """Add a general rung, as `pretrain` leaves it."""
    tiny.pretrained(root / "models/pretrain/small")
    write_json(root / "metrics/pretrain/small.json", {})
