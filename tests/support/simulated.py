"""A finished recipe with a known truth: metrics, predictions, labelled sets and manifests, drawn at random.

No model is trained. Every number here is simulated and says so in its manifest; the true lift of each arm is a
parameter, so that a test can ask whether the comparison finds it.
"""

import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.base.files import write_json
from adaptbert.base.ladder import LadderConfig
from adaptbert.comparison.assemble import StageOutputs
from adaptbert.finetuning.metrics.cell_metrics import CellMetrics
from adaptbert.finetuning.metrics.scores import classification_metrics, span_metrics
from adaptbert.pretraining.metrics.rung_metrics import RungMetrics

LABELS = ["Lead", "Notes", "Parameters", "Raises", "Returns"]
TYPES = ["CODE", "PARAM", "REF"]
ARMS = {
    "scratch": "scratch",
    "general": "pretrain",
    "general_long": "domain_transfer/general",
    "domain": "domain_transfer/domain",
    "task": "task_transfer/{task}-general",
    "domain_task": "task_transfer/{task}-domain",
}
ACCURACY = {"scratch": 0.52, "general": 0.54, "general_long": 0.58, "domain": 0.64, "task": 0.545, "domain_task": 0.638}
"""True chance that a test row is right."""
BITS = {  # after each rung: general, domain, task text
    "scratch": (4.30, 4.45, 4.40),
    "pretrain": (3.05, 3.30, 3.28),
    "domain_transfer/domain": (3.12, 2.45, 2.50),
    "domain_transfer/general": (2.70, 2.95, 2.97),
    "task_transfer/section-general": (3.09, 3.24, 3.12),
    "task_transfer/section-domain": (3.16, 2.46, 2.44),
    "task_transfer/mention-general": (3.10, 3.25, 3.14),
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
TOKENS = {"pretrain": 800_000, "domain_transfer": 2_000_000, "task_transfer": 250_000}


@dataclass(frozen=True)
class Simulated:
    """Where a simulated recipe lies, by the arguments of `compare`."""

    root: Path
    ladder: LadderConfig

    @property
    def outputs(self) -> StageOutputs:
        return StageOutputs(
            data=self.root / "data/validated/tasks",
            manifests=self.root / "data/raw",
            cells=self.root / "metrics",
            predictions=self.root / "predictions",
        )


def ladder_section(tasks: Sequence[str] = ("section", "mention")) -> dict[str, Any]:
    """The section of params.yaml."""
    starts = {"general": "pretrain", "domain": "domain_transfer/domain"}
    return {
        "domain_transfer": ["domain", "general"],
        "task_transfer": {f"{t}-{name}": {"task": t, "from": start} for t in tasks for name, start in starts.items()},
        "finetune": {
            f"{t}-{arm}": {"task": t, "arm": arm, "from": rung.format(task=t)}
            for t in tasks
            for arm, rung in ARMS.items()
        },
    }


def simulate(
    root: Path,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    accuracy: Mapping[str, float] = ACCURACY,
    seed_spread: float = 0.008,
    test_rows: int = 300,
    tasks: Sequence[str] = ("section", "mention"),
    draw: int = 0,
) -> Simulated:
    """Write a whole recipe below `root`.

    Args:
        accuracy: arm -> true chance of a right answer.
        seed_spread: sd of that chance over seeds.
        draw: seed of everything random here.
    """
    dice = random.Random(draw)
    ladder = LadderConfig.model_validate(ladder_section(tasks))
    made = Simulated(root, ladder)
    validation: dict[str, Any] = {"corpora": {}, "tasks": {}}
    for corpus, count in (("domain", 52_918), ("general", 41_230)):
        write_json(root / f"data/raw/corpora/{corpus}/manifest.json", {"source": "simulated", "demonstration": True})
        validation["corpora"][corpus] = {
            "rows_in": count,
            "kept": count - 812,
            "rejected": {"duplicate": 800, "leak": 12},
        }
    for rung in ladder.rungs()[1:]:
        _rung(root, rung, ladder, dice)
    for task in tasks:
        shape = "single_sentence" if task == "section" else "sequence_labelling"
        write_json(root / f"data/raw/tasks/{task}/manifest.json", {"source": "simulated", "demonstration": True})
        splits = {"train": 300, "dev": 60, "test": test_rows}
        draw_row = _sentence if shape == "single_sentence" else _tagged
        rows = {split: [draw_row(f"{split}-{n}", dice) for n in range(count)] for split, count in splits.items()}
        folder = root / "data/validated/tasks" / task
        folder.mkdir(parents=True)
        for split, content in rows.items():
            pq.write_table(pa.Table.from_pylist(content), folder / f"{split}.parquet")
        names = LABELS if shape == "single_sentence" else TYPES
        target = "class" if shape == "single_sentence" else "spans"
        about = {"shape": shape, "target": target, "labels": names, "rows": splits}
        write_json(folder / "task.json", about)
        for arm, chance in accuracy.items():
            _cell(root, task, arm, shape, rows["test"], {seed: dice.gauss(chance, seed_spread) for seed in seeds}, dice)
        validation["tasks"][task] = {
            split: {"rows_in": n + 2, "kept": n, "rejected": {"empty": 2}} for split, n in splits.items()
        }
    write_json(root / "metrics/validate.json", validation)
    return made


def rearmed(made: Simulated, arms: Mapping[str, tuple[str, str]], task: str = "section") -> Simulated:
    """The same recipe with other arms in a task; the cell of each is that of an arm of `ARMS`.

    Args:
        arms: name -> the arm whose cell it takes, the rung that it starts from. A rung that is new takes the metrics of
            domain transfer.
    """
    transfer = {key: rung.model_dump(by_alias=True) for key, rung in made.ladder.task_transfer.items()}
    corpora = list(made.ladder.domain_transfer)
    cells = {}
    for name, (like, rung) in arms.items():
        cells[f"{task}-{name}"] = {"task": task, "arm": name, "from": rung}
        stage, _, corpus = rung.partition("/")
        if stage == "domain_transfer" and corpus not in corpora:
            corpora.append(corpus)
            shutil.copy(made.root / "metrics/domain_transfer/domain.json", made.root / f"metrics/{rung}.json")
        if name != like:
            for pattern in ("metrics/finetune/{}.json", "predictions/{}.parquet"):
                source, target = (made.root / pattern.format(f"{task}-{arm}") for arm in (like, name))
                shutil.copy(source, target)
    section = {"domain_transfer": corpora, "task_transfer": transfer, "finetune": cells}
    return Simulated(made.root, LadderConfig.model_validate(section))


def _rung(root: Path, rung: str, ladder: LadderConfig, dice: random.Random) -> None:
    starts = {"pretrain": "scratch"} | {f"task_transfer/{k}": r.start for k, r in ladder.task_transfer.items()}
    like_section = f"task_transfer/section-{rung.rpartition('-')[2]}"
    before, after = BITS[starts.get(rung, "pretrain")], BITS[rung if rung in BITS else like_section]
    names = ["general", "domain", *ladder.tasks()]

    def measured(bits: Sequence[float]) -> dict[str, dict[str, float]]:
        spread = (*bits, bits[-1] + 0.03)
        return {
            name: {"bits_per_char": value, "mlm_loss": value * 1.9, "masked_accuracy": 0.5 / value}
            for name, value in zip(names, spread, strict=False)
        }

    tokens = TOKENS[rung.split("/")[0]]
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
    metrics = RungMetrics.model_validate(
        {
            "rung": rung,
            "from": starts.get(rung, "pretrain"),
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
    write_json(root / f"metrics/{rung}.json", metrics.as_json())


def _sentence(row_id: str, dice: random.Random) -> dict[str, Any]:
    label = dice.choice(LABELS)
    word = f"word{LABELS.index(label)}{dice.randrange(6)}" if dice.random() < 0.4 else f"word{dice.randrange(5)}x"
    return {"id": row_id, "text": f"simulated {word} text {dice.randrange(40)}", "label": label}


def _tagged(row_id: str, dice: random.Random) -> dict[str, Any]:
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


def _predict(gold: Any, difficulty: Sequence[float], chance: float, dice: random.Random) -> Any:
    """The right answer where the row (tag by tag) is easy enough for this chance, else another label."""
    if isinstance(gold, str):
        wrong = LABELS[(LABELS.index(gold) + dice.choice([1, 1, 2, 4])) % len(LABELS)]
        return gold if difficulty[0] < chance + dice.gauss(0, 0.05) else wrong
    predicted: list[str] = []
    for tag, hard in zip(gold, difficulty, strict=True):
        if tag.startswith("B-"):
            kind = tag[2:] if hard < chance + dice.gauss(0, 0.05) else dice.choice([*TYPES, "O"])
            predicted.append("O" if kind == "O" else f"B-{kind}")
        elif tag.startswith("I-"):
            predicted.append("O" if predicted[-1] == "O" else f"I-{predicted[-1][2:]}")
        else:
            predicted.append("O")
    return predicted


def _uniform(row_id: str, place: int) -> float:
    """How hard a row is, the same for all arms and seeds: this is what makes cells comparable."""
    return random.Random(f"{row_id} {place}").random()


def _cell(
    root: Path,
    task: str,
    arm: str,
    shape: str,
    test: Sequence[dict[str, Any]],
    chances: Mapping[int, float],
    dice: random.Random,
) -> None:
    single = shape == "single_sentence"
    metric, column = ("f1_macro", "label") if single else ("f1_span", "tags")
    records, seeds = [], []
    gold = [row[column] for row in test]
    difficulty = [[_uniform(row["id"], place) for place in range(len(row[column]))] for row in test]
    for seed, chance in chances.items():
        predicted = [_predict(value, hard, chance, dice) for value, hard in zip(gold, difficulty, strict=True)]
        scores = classification_metrics(gold, predicted) if single else span_metrics(gold, predicted)
        dev = chance + dice.gauss(0, 0.002)
        curve = [
            {"step": 8 * n, "tokens": 8_000 * n, f"dev/{metric}": dev * n / 8, "train/loss": 1.6 / n}
            for n in range(1, 9)
        ]
        seeds.append(
            {"seed": seed, "dev": {metric: dev}, "test": scores, "tuned": {}, "degenerate": False, "cut": 0}
            | {"curve": curve}
        )
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
    path = root / f"predictions/{task}-{arm}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(records), path)
    metrics = CellMetrics.model_validate(
        {
            "task": task,
            "arm": arm,
            "from": ARMS[arm].format(task=task),
            "shape": shape,
            "target": "class" if single else "spans",
            "metric": metric,
            "labels": 250,
            "examples": 250,
            "epochs": 8,
            "steps": 63,
            "tokens": 64_000,
            "tflop": 0.4,
            "parameters": 5_300_000,
            "contract": {},
            "seeds": seeds,
        }
    )
    write_json(root / f"metrics/finetune/{task}-{arm}.json", metrics.as_json())
