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

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.comparison.arms import StageOutputs
from adaptbert.comparison.assemble import compare_all
from adaptbert.comparison.records import Comparison
from adaptbert.config.plan import Entry, Plan
from adaptbert.config.plan_file import expand
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.comparison import ORDER, Compare
from adaptbert.config.schema.task_types import spec_of
from adaptbert.core.files import read_json, write_json
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
MASKING = {
    "unit": "token",
    "probability": 0.15,
    "documents": 20_000,
    "rate": 0.1497,
    "rate_p05": 0.06,
    "rate_p50": 0.148,
    "rate_p95": 0.262,
    "unit_tokens": 1.0,
    "specials": 0,
    "documents_without": 0.0112,
    "documents_without_expected": 0.0109,
    "documents_whole": 0.0,
    "documents_whole_expected": 0.0001,
    "rate_continuation": 0.151,
    "rate_latin": 0.1493,
    "rate_punctuation": 0.1502,
}
"""The masking audit of every checkpoint."""
REPLICATES_APART = 0.02
"""Bits per character that each further replicate of a checkpoint is worse by."""
TOKENS = {"pretrain": 800_000, "domain_transfer": 2_000_000, "task_transfer": 250_000}
LABELS = ["Lead", "Notes", "Parameters", "Raises", "Returns"]
TYPES = ["CODE", "PARAM", "REF"]


# ---- rows, and answers to them


def sentence(row_id: str, dice: random.Random) -> dict[str, Any]:
    """A row of a single-sentence task; its word tells something of its label."""
    label = dice.choice(LABELS)
    word = f"word{LABELS.index(label)}{dice.randrange(6)}" if dice.random() < 0.4 else f"word{dice.randrange(5)}x"
    return {"id": row_id, "text": f"simulated {word} text {dice.randrange(40)}", "label": label}


def tagged(row_id: str, dice: random.Random) -> dict[str, Any]:
    """A row of a sequence-labelling task."""
    tokens, tags = [], []
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


def predict(gold: Any, hardness: Sequence[float], chance: float, dice: random.Random) -> Any:
    """The right answer where the row (tag by tag) is easy enough for this chance, else another label."""
    if isinstance(gold, str):
        wrong = LABELS[(LABELS.index(gold) + dice.choice([1, 1, 2, 4])) % len(LABELS)]
        return gold if hardness[0] < chance + dice.gauss(0, 0.05) else wrong
    predicted: list[str] = []
    for tag, hard in zip(gold, hardness, strict=True):
        if tag.startswith("B-"):
            kind = tag[2:] if hard < chance + dice.gauss(0, 0.05) else dice.choice([*TYPES, "O"])
            predicted.append("O" if kind == "O" else f"B-{kind}")
        elif tag.startswith("I-"):
            predicted.append("O" if predicted[-1] == "O" else f"I-{predicted[-1][2:]}")
        else:
            predicted.append("O")
    return predicted


@cache
def difficulty(row_id: str, place: int) -> float:
    """How hard a row is, the same for all arms and seeds: this is what makes arms comparable."""
    return random.Random(f"{row_id} {place}").random()


KINDS = {
    "section": ("single_sentence", "class", LABELS, sentence),
    "mention": ("sequence_labelling", "spans", TYPES, tagged),
}
"""Task -> shape, target, labels, and what draws a row."""
SEED_SPREAD = 0.008
"""Standard deviation of that chance over the seeds of an arm."""


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

    def metrics(self, arm: str, task: str = "section") -> Path:
        """Of the first replicate of an arm."""
        entries = self.plan.finetune.items()
        key = next(key for key, entry in entries if (entry.task, entry.arm) == (task, arm))
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


def planned(
    tasks: Sequence[str] = ("section", "mention"),
    arms: Mapping[str, Any] = ARMS,
    bases: Sequence[str] = ("small",),
    replicates: int = 1,
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
    plan = planned(tasks, ARMS, bases, replicates)
    made = Simulated(root, plan)
    validation: dict[str, Any] = {"corpora": {}, "tasks": {}}
    for corpus, count in (("domain", 52_918), ("general", 41_230)):
        write_json(root / f"data/raw/corpora/{corpus}/manifest.json", {"source": "simulated", "demonstration": True})
        validation["corpora"][corpus] = {
            "rows_in": count,
            "kept": count - 812,
            "rejected": {"duplicate": 800, "leak": 12},
        }
    for checkpoint, below in plan.parents().items():
        if below is not None:
            write_checkpoint(root, checkpoint, below, plan, dice)
    for task in tasks:
        shape, target, names, make_row = KINDS[task]
        write_json(root / f"data/raw/tasks/{task}/manifest.json", {"source": "simulated", "demonstration": True})
        splits = {"train": 300, "dev": 60, "test": 300}
        rows = {split: [make_row(f"{split}-{n}", dice) for n in range(count)] for split, count in splits.items()}
        folder = root / "data/validated/tasks" / task
        folder.mkdir(parents=True)
        for split, content in rows.items():
            pq.write_table(pa.Table.from_pylist(content), folder / f"{split}.parquet")
        write_json(folder / "task.json", {"type": spec_of(shape, target).name, "labels": names, "rows": splits})
        for arm, chance in accuracy.items():
            for key, entry in plan.finetune.items():
                if (entry.task, entry.arm) == (task, arm):
                    of_replicate = chance + (
                        dice.gauss(0, replicate_spread) if replicate_spread and entry.replicate else 0.0
                    )
                    chances = {seed: dice.gauss(of_replicate, SEED_SPREAD) for seed in seeds}
                    _write_arm(root, key, entry, rows["test"], chances, dice)
        validation["tasks"][task] = {
            split: {"rows_in": n + 2, "kept": n, "rejected": {"empty": 2}, "warnings": {}}
            for split, n in splits.items()
        }
    write_json(root / "metrics/validate.json", validation)
    return made


def rearmed(made: Simulated, arms: Mapping[str, tuple[str, Mapping[str, Any]]], task: str = "section") -> Simulated:
    """The same recipe with other arms in a task; the results of each are those of an arm of `ARMS`.

    Args:
        arms: name -> the arm whose results it takes, what it is trained on. A checkpoint that is new takes the metrics
            of domain transfer.
    """
    plan = planned([task], {name: config for name, (_, config) in arms.items()})
    for key in plan.domain_transfer:
        path = made.root / f"metrics/domain_transfer/{key}.json"
        if not path.exists():
            shutil.copy(made.root / "metrics/domain_transfer/domain-small-1.json", path)
    for key, entry in plan.finetune.items():
        like = arms[entry.arm][0]
        source = next(name for name, there in made.plan.finetune.items() if (there.task, there.arm) == (task, like))
        if source != key:
            for pattern in ("metrics/finetune/{}.json", "predictions/{}.parquet"):
                shutil.copy(made.root / pattern.format(source), made.root / pattern.format(key))
    return Simulated(made.root, plan)


def _write_arm(
    root: Path,
    key: str,
    entry: Entry,
    test: Sequence[dict[str, Any]],
    chances: Mapping[int, float],
    dice: random.Random,
) -> None:
    shape, target, *_ = KINDS[entry.task]
    single = target == "class"
    metric, column = ("f1_macro", "label") if single else ("f1_span", "tags")
    records, seeds = [], []
    gold = [row[column] for row in test]
    hardness = [[difficulty(row["id"], place) for place in range(1 if single else len(row["tags"]))] for row in test]
    for seed, chance in chances.items():
        predicted = [predict(value, hard, chance, dice) for value, hard in zip(gold, hardness, strict=True)]
        scores = classification_metrics(gold, predicted) if single else span_metrics(gold, predicted)
        on_dev = dict.fromkeys(scores, chance + dice.gauss(0, 0.002))
        own = {"seed": seed, "dev": on_dev, "test": scores, "tuned": {}, "degenerate": False, "cut": 0}
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
            "task": entry.task,
            "arm": entry.arm,
            "from": entry.checkpoint,
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


# ---- checkpoints


def write_checkpoint(root: Path, checkpoint: str, below: str, plan: Plan, dice: random.Random) -> None:
    """Its metrics, in `root`/metrics."""
    before, after = _bits(below), _bits(checkpoint)
    names = ["general", "domain", *dict.fromkeys(entry.task for entry in plan.finetune.values())]

    def measured(bits: Sequence[float]) -> dict[str, dict[str, float]]:
        spread = (*bits, bits[-1] + 0.03)
        return {
            name: {"bits_per_char": value, "mlm_loss": value * 1.9, "masked_accuracy": 0.5 / value}
            for name, value in zip(names, spread, strict=False)
        }

    tokens = TOKENS[checkpoint.split("/")[0]]
    steps, points = tokens // 2048, 4
    curve: list[dict[str, float]] = []
    for point in range(1, points + 1):
        done = 1 - (1 - point / points) ** 2
        now = measured(
            [
                b + (a - b) * done + (dice.gauss(0, 0.01) if point < points else 0)
                for b, a in zip(before, after, strict=True)
            ]
        )
        curve.append(
            {"step": steps * point // points, "tokens": tokens * point // points, "train/mlm_loss": 6 - done}
            | {f"{name}/bits_per_char": values["bits_per_char"] for name, values in now.items()}
        )
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
    *path, _, replicate = key.split("-")
    return [bits + REPLICATES_APART * (int(replicate) - 1) for bits in BITS[f"{stage}/{'-'.join(path)}"]]
