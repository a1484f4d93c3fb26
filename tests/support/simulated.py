"""A finished recipe with a known truth: metrics, predictions, labelled sets and manifests, drawn at random.

No model is trained. Every number here is simulated and says so in its manifest; the true lift of each arm is a
parameter, so that a test can ask whether the comparison finds it.
"""

import json
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.comparison.arms import StageOutputs
from adaptbert.comparison.assemble import compare_all
from adaptbert.comparison.records import Comparison
from adaptbert.config.plan import Entry, Plan
from adaptbert.config.plan_file import expand
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.comparison import PRIMARY, Compare
from adaptbert.config.schema.task_types import spec_of
from adaptbert.core.files import read_json, write_json
from adaptbert.tasks.metrics.cell_metrics import CellMetrics
from adaptbert.tasks.metrics.scoring import classification_metrics, span_metrics
from tests.support.bases import write_base
from tests.support.simulated_rows import LABELS, TYPES, difficulty, predict, sentence, tagged
from tests.support.simulated_rungs import write_rung

ARMS = {
    "scratch": {"pretrain": "none"},
    "general": {},
    "general_long": {"domain_transfer": "general"},
    "domain": {"domain_transfer": "domain"},
    "task": {"task_transfer": "own"},
    "domain_task": {"domain_transfer": "domain", "task_transfer": "own"},
}
ACCURACY = {"scratch": 0.52, "general": 0.54, "general_long": 0.58, "domain": 0.64, "task": 0.545, "domain_task": 0.638}
"""True chance that a test row is right."""
LIFTED = ACCURACY | {"general_long": 0.60, "domain": 0.72, "domain_task": 0.72}
"""A domain text that helps beyond doubt, a task step after it that brings nothing."""

KINDS = {
    "section": ("single_sentence", "class", LABELS, sentence),
    "mention": ("sequence_labelling", "spans", TYPES, tagged),
}
"""Task -> shape, target, labels, and what draws a row."""
SEED_SPREAD = 0.008
"""Standard deviation of that chance over the seeds of a cell."""


@dataclass(frozen=True)
class Simulated:
    """Where a simulated recipe lies, by the arguments of `compare`."""

    root: Path
    ladder: Plan

    @property
    def outputs(self) -> StageOutputs:
        return StageOutputs(
            data=self.root / "data/validated/tasks",
            manifests=self.root / "data/raw",
            metrics=self.root / "metrics",
            predictions=self.root / "predictions",
            bases=self.root / "models/pretrain",
        )

    def cell(self, arm: str, task: str = "section") -> Path:
        """The metrics of the first cell of an arm."""
        cells = self.ladder.finetune.items()
        key = next(key for key, cell in cells if (cell.task, cell.arm) == (task, arm))
        return self.root / f"metrics/finetune/{key}.json"


@contextmanager
def edited(path: Path) -> Iterator[dict[str, Any]]:
    """The content of a metrics file, written back with what a test changed in it."""
    content = read_json(path)
    yield content
    write_json(path, content)


def compared(
    made: Simulated,
    *,
    min_gain: float = 0.01,
    primary: Sequence[str] = PRIMARY,
    questions: Mapping[str, tuple[str, str]] | None = None,
) -> Comparison:
    """The recipe as the stage `compare` reads it.

    Args:
        min_gain, primary, questions: as in the section `compare` of params.yaml, `min_gain` as a difference of scores.
    """
    pairs = {name: list(arms) for name, arms in (questions or {}).items()}
    params = Compare(min_gain=100 * min_gain, primary=list(primary), questions=pairs)
    return compare_all(made.ladder, made.outputs, params)


def planned(
    tasks: Sequence[str] = ("section", "mention"),
    arms: Mapping[str, Any] = ARMS,
    starts: Sequence[str] = ("small",),
    draws: int = 1,
) -> Plan:
    """What params.yaml stands for with these names."""
    sizes = {"layers": 2, "hidden_size": 64, "heads": 2, "intermediate_size": 128, "max_positions": 64}
    task = {"type": "text-classification", "train": "train.csv", "dev": "dev.csv", "test": "test.csv"}
    document = {
        "bases": dict.fromkeys(starts, sizes),
        "corpora": {name: {"path": f"{name}.txt"} for name in ("general", "domain")},
        "tasks": dict.fromkeys(tasks, task),
        "arms": dict(arms),
        "pretrain": {"tokens": 0},
        "compare": {"replicates": draws},
    }
    return expand(Recipe(document))


def simulate(
    root: Path,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    arms: Mapping[str, Any] = ARMS,
    accuracy: Mapping[str, float] = ACCURACY,
    test_rows: int = 300,
    tasks: Sequence[str] = ("section", "mention"),
    starts: Sequence[str] = ("small",),
    draws: int = 1,
    draw_spread: float = 0.0,
    dice_seed: int = 0,
) -> Simulated:
    """Write a whole recipe below `root`.

    Args:
        accuracy: arm -> true chance of a right answer.
        draws: of every trained rung.
        draw_spread: sd of that chance over draws; a rung that is made once for each start has none.
        dice_seed: of everything random here.
    """
    dice = random.Random(dice_seed)
    ladder = planned(tasks, arms, starts, draws)
    made = Simulated(root, ladder)
    for start in starts:
        write_base(made.outputs.bases / start, {"[UNK]": [0.0, 0.0]})
    validation: dict[str, Any] = {"corpora": {}, "tasks": {}}
    for corpus, count in (("domain", 52_918), ("general", 41_230)):
        write_json(root / f"data/raw/corpora/{corpus}/manifest.json", {"source": "simulated", "demonstration": True})
        validation["corpora"][corpus] = {
            "rows_in": count,
            "kept": count - 812,
            "rejected": {"duplicate": 800, "leak": 12},
        }
    for rung, below in ladder.parents().items():
        if below is not None:
            write_rung(root, rung, below, ladder, dice)
    for task in tasks:
        shape, target, names, draw_row = KINDS[task]
        write_json(root / f"data/raw/tasks/{task}/manifest.json", {"source": "simulated", "demonstration": True})
        splits = {"train": 300, "dev": 60, "test": test_rows}
        rows = {split: [draw_row(f"{split}-{n}", dice) for n in range(count)] for split, count in splits.items()}
        folder = root / "data/validated/tasks" / task
        folder.mkdir(parents=True)
        for split, content in rows.items():
            pq.write_table(pa.Table.from_pylist(content), folder / f"{split}.parquet")
        write_json(folder / "task.json", {"type": spec_of(shape, target).name, "labels": names, "rows": splits})
        for arm, chance in accuracy.items():
            for key, cell in ladder.finetune.items():
                if (cell.task, cell.arm) == (task, arm):
                    of_draw = chance + (dice.gauss(0, draw_spread) if draw_spread and cell.replicate else 0.0)
                    chances = {seed: dice.gauss(of_draw, SEED_SPREAD) for seed in seeds}
                    _cell(root, key, cell, rows["test"], chances, dice)
        validation["tasks"][task] = {
            split: {"rows_in": n + 2, "kept": n, "rejected": {"empty": 2}} for split, n in splits.items()
        }
    write_json(root / "metrics/validate.json", validation)
    return made


def rearmed(made: Simulated, arms: Mapping[str, tuple[str, Mapping[str, Any]]], task: str = "section") -> Simulated:
    """The same recipe with other arms in a task; the cell of each is that of an arm of `ARMS`.

    Args:
        arms: name -> the arm whose cell it takes, what it is trained on. A rung that is new takes the metrics of domain
            transfer.
    """
    ladder = planned([task], {name: config for name, (_, config) in arms.items()})
    for key in ladder.domain_transfer:
        path = made.root / f"metrics/domain_transfer/{key}.json"
        if not path.exists():
            shutil.copy(made.root / "metrics/domain_transfer/domain-small-1.json", path)
    for key, cell in ladder.finetune.items():
        like = arms[cell.arm][0]
        source = next(name for name, there in made.ladder.finetune.items() if (there.task, there.arm) == (task, like))
        if source != key:
            for pattern in ("metrics/finetune/{}.json", "predictions/{}.parquet"):
                shutil.copy(made.root / pattern.format(source), made.root / pattern.format(key))
    return Simulated(made.root, ladder)


def _cell(
    root: Path, key: str, cell: Entry, test: Sequence[dict[str, Any]], chances: Mapping[int, float], dice: random.Random
) -> None:
    shape, target, *_ = KINDS[cell.task]
    single = target == "class"
    metric, column = ("f1_macro", "label") if single else ("f1_span", "tags")
    records, seeds = [], []
    gold = [row[column] for row in test]
    hardness = [[difficulty(row["id"], place) for place in range(len(row[column]))] for row in test]
    for seed, chance in chances.items():
        predicted = [predict(value, hard, chance, dice) for value, hard in zip(gold, hardness, strict=True)]
        scores = classification_metrics(gold, predicted) if single else span_metrics(gold, predicted)
        dev = chance + dice.gauss(0, 0.002)
        own = {"seed": seed, "dev": {metric: dev}, "test": scores, "tuned": {}, "degenerate": False, "cut": 0}
        seeds.append({**own, "curve": []})
        records += [
            {
                "seed": seed,
                "id": row["id"],
                "gold": right if single else json.dumps(right),
                "predicted": answer if single else json.dumps(answer),
                "confidence": dice.uniform(0.3, 1),
            }
            for row, right, answer in zip(test, gold, predicted, strict=True)
        ]
    path = root / f"predictions/{key}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(records), path)
    metrics = CellMetrics.model_validate(
        {
            "task": cell.task,
            "arm": cell.arm,
            "from": cell.checkpoint,
            "type": spec_of(shape, target).name,
            "metric": metric,
            "labels": 250,
            "examples": 250,
            "epochs": 8,
            "steps": 63,
            "tokens": 64_000,
            "tflop": 0.4,
            "parameters": 5_300_000,
            "cost": {"tokens": 64_000 * len(seeds), "tflop": round(0.4 * len(seeds), 3)},
            "seeds": seeds,
        }
    )
    write_json(root / f"metrics/finetune/{key}.json", metrics.as_json())
