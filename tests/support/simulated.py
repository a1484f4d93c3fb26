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
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.comparison.arms import StageOutputs
from adaptbert.comparison.assemble import compare_all
from adaptbert.comparison.records import Comparison
from adaptbert.config.plan import PRETRAIN, SCRATCH, Entry, Plan
from adaptbert.config.plan_file import expand
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import TRANSFERS
from adaptbert.config.schema.comparison import ORDER, Compare
from adaptbert.core.files import read_json, write_json
from adaptbert.linear.model import LinearModel
from adaptbert.mlm.records import StepMetrics
from adaptbert.tasks.metrics.cell_metrics import CellMetrics
from adaptbert.tasks.metrics.scoring import classification_metrics, span_metrics

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
SEED_SPREAD = 0.008
"""Standard deviation of that chance over the seeds of an arm."""
BITS = {  # after each checkpoint: general, domain, task text
    "scratch": (4.30, 4.45, 4.40),
    "pretrain": (3.05, 3.30, 3.28),
    "domain_transfer/domain": (3.12, 2.45, 2.50),
    "domain_transfer/general": (2.70, 2.95, 2.97),
    "task_transfer/section": (3.09, 3.24, 3.12),
    "task_transfer/section-domain": (3.16, 2.46, 2.44),
    "task_transfer/mention": (3.10, 3.25, 3.14),
    "task_transfer/mention-domain": (3.17, 2.47, 2.45),
}
REPLICATES_APART = 0.02
"""Bits per character that each further replicate of a checkpoint is worse by."""
TOKENS = {"pretrain": 800_000, "domain_transfer": 2_000_000, "task_transfer": 250_000}
MASKING = {"unit": "token", "probability": 0.15, "documents": 20_000, "rate": 0.1497, "specials": 0} | {
    "documents_without": 0.0112,
    "documents_without_expected": 0.0109,
    "documents_whole": 0.0,
    "documents_whole_expected": 0.0001,
}
"""What the comparison looks at in the masking audit of every checkpoint."""
CLEARLY = 1e-5
"""More than the last bit of a feature moves a score (tests/comparison/test_baselines.py)."""
LABELS = ["Lead", "Notes", "Parameters", "Raises", "Returns"]
TYPES = ["CODE", "PARAM", "REF"]
SPLITS = {"train": 300, "dev": 60, "test": 300}


# ---- rows, and answers to them


def sentence(row_id: str, dice: random.Random) -> dict[str, Any]:
    """A row of a single-sentence task; its word tells something of its label."""
    label = dice.choice(LABELS)
    word = f"word{LABELS.index(label)}{dice.randrange(6)}" if dice.random() < 0.4 else f"word{dice.randrange(5)}x"
    return {"id": row_id, "text": f"simulated {word} text {dice.randrange(40)}", "label": label}


def tagged(row_id: str, dice: random.Random) -> dict[str, Any]:
    """A row of a sequence-labelling task."""
    tokens, tags = list[str](), list[str]()
    while len(tokens) < 10:
        if dice.random() < 0.25:
            kind = dice.choice(TYPES)
            words = dice.randint(1, 2)
            tokens += [f"{kind.lower() if dice.random() < 0.3 else 'name'}{dice.randrange(30)}" for _ in range(words)]
            tags += [f"B-{kind}", *[f"I-{kind}"] * (words - 1)]
        else:
            tokens.append(f"filler{dice.randrange(30)}")
            tags.append("O")
    return {"id": row_id, "tokens": tokens, "tags": tags}


@cache
def difficulty(row_id: str, place: int) -> float:
    """How hard a row is, the same for all arms and seeds: this is what makes arms comparable."""
    return random.Random(f"{row_id} {place}").random()


def predict(row: Mapping[str, Any], chance: float, dice: random.Random) -> Any:
    """The right answer where the row (tag by tag) is easy enough for this chance, else another label."""

    def is_right(place: int) -> bool:
        return difficulty(row["id"], place) < chance + dice.gauss(0, 0.05)

    if "label" in row:
        wrong = LABELS[(LABELS.index(row["label"]) + dice.choice([1, 1, 2, 4])) % len(LABELS)]
        return row["label"] if is_right(0) else wrong
    predicted: list[str] = []
    for place, tag in enumerate(row["tags"]):
        if tag.startswith("B-"):
            kind = tag[2:] if is_right(place) else dice.choice([*TYPES, "O"])
            predicted.append("O" if kind == "O" else f"B-{kind}")
        elif tag == "O" or predicted[-1] == "O":
            predicted.append("O")
        else:
            predicted.append(f"I-{predicted[-1][2:]}")
    return predicted


# ---- recipes


@dataclass(frozen=True)
class Simulated:
    """Where a simulated recipe lies, by the arguments of `compare`."""

    root: Path
    plan: Plan

    @property
    def outputs(self) -> StageOutputs:
        return StageOutputs(
            data=self.root / "data/validated/tasks",
            manifests=self.root / "data/raw",
            metrics=self.root / "metrics",
            predictions=self.root / "predictions",
        )

    def cells(self, task: str, arm: str) -> dict[str, Entry]:
        """Cells of all bases and replicates."""
        return {key: entry for key, entry in self.plan.finetune.items() if (entry.task, entry.arm) == (task, arm)}

    def metrics(self, arm: str, task: str = "section") -> Path:
        """Metrics of the first replicate of an arm."""
        return self.root / f"metrics/finetune/{next(iter(self.cells(task, arm)))}.json"


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
    order: Sequence[str] = ORDER,
    questions: Mapping[str, tuple[str, str]] | None = None,
) -> Comparison:
    """The recipe as the stage `compare` reads it.

    Args:
        min_gain, order, questions: as in the section `compare` of params.yaml, `min_gain` as a difference of scores.
    """
    pairs = {name: list(arms) for name, arms in (questions or {}).items()}
    params = Compare(min_gain=100 * min_gain, order=list(order), questions=pairs)
    return compare_all(made.plan, made.outputs, params)


@contextmanager
def clearly_decided() -> Iterator[None]:
    """Refuse rows that a linear model decides by a hair, which another processor may answer otherwise."""
    decode = LinearModel.decode

    def checked(model: LinearModel, rows: Any) -> Any:
        scores = np.sort(model.terms.features(rows) @ model.weights + model.bias)
        closest = min(scores[:, -1] - scores[:, -2])
        assert closest > CLEARLY, f"a row is decided by {closest:.1e} points of its score: change the simulated data"
        return decode(model, rows)

    with patch.object(LinearModel, "decode", checked):
        yield


def planned(
    tasks: Sequence[str], arms: Mapping[str, Any], bases: Sequence[str] = ("small",), replicates: int = 1
) -> Plan:
    """What params.yaml stands for with these names."""
    sizes = {"layers": 2, "hidden_size": 64, "heads": 2, "intermediate_size": 128, "max_positions": 64}
    task = {"type": "text-classification", "train": "train.csv", "dev": "dev.csv", "test": "test.csv"}
    document = {
        "bases": dict.fromkeys(bases, sizes),
        "corpora": {name: {"path": f"{name}.txt"} for name in ("general", "domain")},
        "tasks": dict.fromkeys(tasks, task),
        "arms": dict(arms),
        "pretrain": {"tokens": 0},
        "compare": {"replicates": replicates},
    }
    return expand(Recipe(document))


def simulate(
    root: Path,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    accuracy: Mapping[str, float] = ACCURACY,
    tasks: Sequence[str] = ("section", "mention"),
    bases: Sequence[str] = ("small",),
    replicates: int = 1,
    replicate_spread: float = 0.0,
    dice_seed: int = 0,
) -> Simulated:
    """Write a whole recipe below `root`.

    Args:
        accuracy: arm -> true chance of a right answer.
        replicates: of every trained checkpoint.
        replicate_spread: sd of that chance over replicates; a checkpoint that is trained once for each base has none.
        dice_seed: of everything random here.
    """
    dice = random.Random(dice_seed)
    made = Simulated(root, planned(tasks, ARMS, bases, replicates))
    simulated = {"source": "simulated", "demonstration": True}
    for step in (PRETRAIN, *TRANSFERS):
        for key, entry in made.plan.table(step).items():
            _write_step(root, f"{step}/{key}", entry.checkpoint or f"{SCRATCH}/{entry.base}", tasks, dice)
    for task in tasks:
        make_row, named, labels = {
            "section": (sentence, "text-classification", LABELS),
            "mention": (tagged, "token-classification", TYPES),
            "remark": (sentence, "text-classification", LABELS),
        }[task]
        own = "remark-" * (task == "remark")  # rows of equal ids are equally hard
        folder = root / "data/validated/tasks" / task
        folder.mkdir(parents=True)
        rows = {split: [make_row(f"{own}{split}-{n}", dice) for n in range(count)] for split, count in SPLITS.items()}
        for split, content in rows.items():
            pq.write_table(pa.Table.from_pylist(content), folder / f"{split}.parquet")
        write_json(folder / "task.json", {"type": named, "labels": labels, "rows": SPLITS})
        write_json(root / f"data/raw/tasks/{task}/manifest.json", simulated)
        for arm, chance in accuracy.items():
            for key, entry in made.cells(task, arm).items():
                spread = replicate_spread if entry.replicate else 0.0
                of_replicate = chance + (dice.gauss(0, spread) if spread else 0.0)
                chances = {seed: dice.gauss(of_replicate, SEED_SPREAD) for seed in seeds}
                _write_cell(root, key, entry, named, rows["test"], chances, dice)
    corpora = {"domain": 52_918, "general": 41_230}
    for corpus in corpora:
        write_json(root / f"data/raw/corpora/{corpus}/manifest.json", simulated)
    validation = {
        "corpora": {
            corpus: {"rows_in": count, "kept": count - 812, "rejected": {"duplicate": 800, "leak": 12}}
            for corpus, count in corpora.items()
        },
        "tasks": {
            task: {
                split: {"rows_in": count + 2, "kept": count, "rejected": {"empty": 2}, "warnings": {}}
                for split, count in SPLITS.items()
            }
            for task in tasks
        },
    }
    write_json(root / "metrics/validate.json", validation)
    return made


def rearmed(made: Simulated, arms: Mapping[str, tuple[str, Mapping[str, Any]]]) -> Simulated:
    """The same recipe of the task `section` with other arms; the results of each are those of an arm of `ARMS`.

    Args:
        arms: name -> the arm whose results it takes, what it is trained on. A checkpoint that is new takes the metrics
            of domain transfer.
    """
    other = Simulated(made.root, planned(["section"], {name: config for name, (_, config) in arms.items()}))
    metrics = made.root / "metrics/domain_transfer"
    for key in other.plan.domain_transfer:
        if not (metrics / f"{key}.json").exists():
            shutil.copy(metrics / "domain-small-1.json", metrics / f"{key}.json")
    for key, entry in other.plan.finetune.items():
        (source,) = made.cells("section", arms[entry.arm][0])
        if source != key:
            for pattern in ("metrics/finetune/{}.json", "predictions/{}.parquet"):
                shutil.copy(made.root / pattern.format(source), made.root / pattern.format(key))
    return other


def _write_cell(
    root: Path,
    key: str,
    entry: Entry,
    named: str,
    test: Sequence[dict[str, Any]],
    chances: Mapping[int, float],
    dice: random.Random,
) -> None:
    """Metrics and predictions of all seeds."""
    is_class = "label" in test[0]
    records, seeds = [], []
    gold = [row["label" if is_class else "tags"] for row in test]
    for seed, chance in chances.items():
        predicted = [predict(row, chance, dice) for row in test]
        scores = classification_metrics(gold, predicted) if is_class else span_metrics(gold, predicted)
        on_dev = dict.fromkeys(scores, chance + dice.gauss(0, 0.002))
        own = {"seed": seed, "dev": on_dev, "test": scores, "tuned": {}, "failed": False, "cut": 0}
        seeds.append({**own, "curve": []})
        for row, right, answer in zip(test, gold, predicted, strict=True):
            texts = (right, answer) if is_class else (json.dumps(right), json.dumps(answer))
            of_row = {"seed": seed, "id": row["id"], "gold": texts[0], "predicted": texts[1]}
            records.append({**of_row, "confidence": dice.uniform(0.3, 1)})
    path = root / f"predictions/{key}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(records), path)
    metrics = CellMetrics.model_validate(
        {
            "task": entry.task,
            "arm": entry.arm,
            "from": entry.checkpoint,
            "type": named,
            "metric": "f1_macro" if is_class else "f1_span",
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


def _write_step(root: Path, checkpoint: str, below: str, tasks: Sequence[str], dice: random.Random) -> None:
    """The metrics of a checkpoint, whose bits approach those of `BITS`."""
    before, after = _bits(below), _bits(checkpoint)
    tokens, points = TOKENS[checkpoint.split("/")[0]], 4
    steps = tokens // 2048

    def measured(bits: Sequence[float]) -> dict[str, dict[str, float]]:
        return {
            name: {"bits_per_char": value, "mlm_loss": value * 1.9, "masked_accuracy": 0.5 / value}
            for name, value in zip(("general", "domain", *tasks), (*bits, bits[-1] + 0.03), strict=False)
        }

    curve = []
    for point in range(1, points + 1):
        done = 1 - (1 - point / points) ** 2
        noise = [dice.gauss(0, 0.01) if point < points else 0 for _ in before]
        bits = [b + (a - b) * done + error for b, a, error in zip(before, after, noise, strict=True)]
        here = {"step": steps * point // points, "tokens": tokens * point // points, "train/mlm_loss": 6 - done}
        curve.append(here | {f"{name}/bits_per_char": each["bits_per_char"] for name, each in measured(bits).items()})
    metrics = StepMetrics.model_validate(
        {
            "checkpoint": checkpoint,
            "from": below,
            "tokens": tokens,
            "steps": steps,
            "tflop": tokens * 6 * 5.3e6 / 1e12,
            "parameters": 5_300_000,
            "before": measured(before),
            "after": measured(after),
            "curve": curve,
            "masking": MASKING,
        }
    )
    write_json(root / f"metrics/{checkpoint}.json", metrics.as_json())


def _bits(checkpoint: str) -> list[float]:
    stage, _, key = checkpoint.partition("/")
    if stage in BITS:
        return [*BITS[stage]]
    *path, _, replicate = key.replace("remark", "section").split("-")
    return [bits + REPLICATES_APART * (int(replicate) - 1) for bits in BITS[f"{stage}/{'-'.join(path)}"]]
