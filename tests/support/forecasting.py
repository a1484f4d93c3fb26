"""A small project as `dvc repro tokenize` leaves it, for `adaptbert forecast`; and a forecast that nobody computed."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adaptbert.base.files import write_json
from adaptbert.comparison.forecasts import Facts, Forecast, Machine, Price, Range, Sum
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
ROWS = {"rows_in": 200, "kept": 150, "rejected": {"duplicate": 20, "too_short": 30}}


def document(**ladder: Any) -> dict[str, Any]:
    """The preset `smoke` with other arms, in one precision.

    Args:
        ladder: keys of the section `ladder` that are otherwise.
    """
    smoke = params.read(ROOT / "presets/smoke.yaml")
    smoke["ladder"] |= {"arms": ARMS, "draws": 2, **ladder}
    for section in ("pretrain", "domain_transfer", "task_transfer", "finetune"):
        smoke[section]["all"]["precision"] = "32-true"
    smoke["compare"] |= {"primary": ["domain_text", "task_transfer_after_domain"]}
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
        (root / f"data/validated/tasks/{task}/test.parquet").unlink()  # a forecast never reads it
    (root / "data/tokenizer").mkdir()
    tiny.tokenizer().save(root / "data/tokenizer/small")
    validated = {"corpora": dict.fromkeys(tiny.WORDS, ROWS), "tasks": {task: {"train": ROWS} for task in TASKS}}
    write_json(root / "metrics/validate.json", validated)


def with_general_rung(root: Path) -> None:
    """Add a general rung, as `pretrain` leaves it."""
    tiny.pretrained(root / "models/pretrain/small")
    write_json(root / "metrics/pretrain/small.json", {})


def made_forecast(prices: Sequence[Price], ranges: Sequence[Range]) -> Forecast:
    """A forecast of the start `small` with these prices and ranges, and no other facts."""
    nothing = Sum(rungs=0, runs=0, rungs_minutes=0.0, runs_minutes=0.0, tflop=0.0)
    return Forecast(
        start="small",
        weights="models/pretrain/small",
        made="2026-01-02 03:04",
        params="0" * 64,
        versions={},
        machine=Machine(processor="a processor", threads=1, precision="32-true"),
        steps=50,
        facts=Facts(texts={}, overlaps=[], gaps=[], signs=[], ranges=list(ranges)),
        rates=[],
        prices=list(prices),
        arms={},
        total=nothing,
    )


def recorded(question: str, low: float, high: float, records_of: str | None = None) -> Range:
    """A range of eight published gains."""
    return Range(
        question=question,
        records_of=records_of or question,
        own=False,
        low=low,
        high=high,
        records=8,
        reach=5,
        worth=1.0,
        sources=["a study"],
    )
