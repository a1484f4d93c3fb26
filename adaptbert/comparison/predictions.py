"""predictions/<task>-<arm>.parquet -> what every seed answered to every test row, and which answers are right."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptbert.finetuning.metrics import answer_overlap as answer_text


@dataclass(frozen=True)
class Answer:
    """What one seed said of one row.

    Attributes:
        gold, predicted: a label (`class`), labels (`labels`), tags (`spans`, `tags`) or a number (`number`); for
            `answer` all right answers, and the one given.
        confidence: of the model in its answer, from 0 to 1.
    """

    id: str
    gold: Any
    predicted: Any
    confidence: float


def read_predictions(path: Path, target: str) -> dict[int, list[Answer]]:
    """Seed -> its answers, in the order of the file.

    Args:
        target: kind of the task's target.
    """
    import pyarrow.parquet as pq

    by_seed: dict[int, list[Answer]] = {}
    for row in pq.read_table(path, columns=["seed", "id", "gold", "predicted", "confidence"]).to_pylist():
        gold = row["gold"] if target == "class" else json.loads(row["gold"])
        predicted = row["predicted"] if target in ("class", "answer") else json.loads(row["predicted"])
        answer = Answer(row["id"], gold, predicted, row["confidence"])
        by_seed.setdefault(row["seed"], []).append(answer)
    return {seed: by_seed[seed] for seed in sorted(by_seed)}


def judge(target: str, answers: Sequence[Answer]) -> Callable[[Answer], bool] | None:
    """Says of an answer whether it is right as a whole; None for numbers, which are never just right.

    Args:
        answers: of the whole set, whose script decides how answers are compared.
    """
    if target == "number":
        return None
    if target == "labels":
        return lambda answer: set(answer.gold) == set(answer.predicted)
    if target == "answer":
        by_characters = answer_text.by_characters([text for answer in answers for text in answer.gold])
        return lambda answer: answer_text.agreement(answer.gold, answer.predicted, by_characters)[1] == 1
    return lambda answer: bool(answer.gold == answer.predicted)
