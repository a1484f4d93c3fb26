"""predictions/<cell>.parquet -> what every seed answered to every test row."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptbert.config.schema.task_types import TARGETS, Target


@dataclass(frozen=True)
class Answer:
    """The answer of one seed to one row.

    Attributes:
        gold, predicted: a label (`class`), labels (`labels`), tags (`spans`, `tags`) or a number (`number`); for
            `answer` all right answers, and the predicted one.
        confidence: of the model in its answer, from 0 to 1.
    """

    id: str
    gold: Any
    predicted: Any
    confidence: float


def read_predictions(path: Path, target: Target) -> dict[int, list[Answer]]:
    """Seed -> its answers, in the order of the file.

    Args:
        target: kind of the task's target.
    """
    import pyarrow.parquet as pq

    output = TARGETS[target]
    by_seed: dict[int, list[Answer]] = {}
    for row in pq.read_table(path, columns=["seed", "id", "gold", "predicted", "confidence"]).to_pylist():
        gold, predicted = output.read_gold(row["gold"]), output.read_answer(row["predicted"])
        answer = Answer(row["id"], gold, predicted, row["confidence"])
        by_seed.setdefault(row["seed"], []).append(answer)
    return {seed: by_seed[seed] for seed in sorted(by_seed)}
