"""Tiny labelled sets of every shape and target, whose answers can be learnt from the words of tests.support.tiny."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.comparison.baselines import BASELINES
from adaptbert.config.schema.task_types import SPECS, TASK_TYPES, ByTarget, spec_of
from adaptbert.data import tag_schemes
from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks import heads
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.head import TaskHead
from adaptbert.tasks.metrics.scoring import SCORING, right_answers
from tests.support.tiny import rows, tokenizer

KINDS = [(spec.task_type, spec.target) for spec in SPECS.values()]
"""What a row holds and what is predicted, for every task type; the first target where none is named."""

USUAL: dict[str, str] = dict(reversed(KINDS))
LABELS: Any = ByTarget(
    {
        "class": ["code", "prose"],
        "labels": ["attribute", "object"],
        "number": [],
        "answer": [],
        "spans": ["ATTR", "OBJ"],
        "tags": ["DET", "NOUN", "X"],
    }
)


def labelled(kind: str, shape: str, count: int, seed: int, target: str | None = None) -> list[dict[str, Any]]:
    """Rows whose answers can be learnt: `shape` and `estimator` decide, in a pair those of the second text."""
    return [
        {"id": text_id, **_row(text.split(), shape, target or USUAL[shape], random.Random(text_id))}
        for text_id, text in rows(kind, count, seed)
    ]


TAGS = {"the": "DET", "an": "DET", "a": "DET", "matrix": "NOUN", "estimator": "NOUN", "array": "NOUN"}
SPANS = {"shape": "B-ATTR", "estimator": "B-OBJ", "matrix": "I-OBJ"}


def _row(words: list[str], shape: str, target: str, draw: random.Random) -> dict[str, Any]:
    if shape == "sequence_labelling":
        legal = tag_schemes.legal([SPANS.get(word, "O") for word in words], "bio")
        return {
            "tokens": words,
            "tags": legal if target == "spans" else [TAGS.get(word.lower(), "X") for word in words],
        }
    if shape == "extractive_answer":
        return _question([word for word in words if word.lower() not in ("bread", "fish")], draw)
    if shape == "sentence_pair":
        first, second = words[: len(words) // 2], words[len(words) // 2 :]
        return {"text_a": " ".join(first), "text_b": " ".join(second), **_answer(second, target)}
    return {"text": " ".join(words), **_answer(words, target)}


def _answer(words: list[str], target: str) -> dict[str, Any]:
    if target == "number":
        return {"value": 100.0 + 50 * ("shape" in words) + 20 * ("estimator" in words)}
    labels = [label for label, word in (("attribute", "shape"), ("object", "estimator")) if word in words]
    return {"labels": labels} if target == "labels" else {"label": "code" if "shape" in words else "prose"}


def _question(words: list[str], draw: random.Random) -> dict[str, Any]:
    """The answer is the fish; one row in four has no answer."""
    row = {"context": " ".join(words), "question": "Which fish?", "answers": list[Any]()}
    if draw.random() >= 0.25:
        place, fish = draw.randint(0, len(words)), draw.choice(["bread or fish", "fish", "fish"])
        row["context"] = " ".join([*words[:place], fish, *words[place:]])
        row["answers"] = [{"text": fish, "start": sum(len(word) + 1 for word in words[:place])}]
    return row


def about(shape: str, target: str | None = None) -> dict[str, Any]:
    """What task.json says, but for the numbers of rows."""
    target = target or USUAL[shape]
    more: dict[str, dict[str, Any]] = {"number": {"range": [100.0, 170.0]}, "answer": {"no_answer": True}}
    return {"type": spec_of(shape, target).name, "labels": LABELS[target], **more.get(target, {})}


def described(shape: str, target: str | None = None, **changes: Any) -> TaskDescription:
    """The same as it is read."""
    return TaskDescription.of(about(shape, target) | changes)


def options(shape: str, **changes: Any) -> Any:
    """Options of a shape; windows overlap by half. None takes an option away."""
    usual: dict[str, dict[str, Any]] = {
        "single_sentence": {"long_text": "head"},
        "sentence_pair": {"long_text": "head"},
        "extractive_answer": {"max_question": 10, "stride": 24, "max_answer": 8},
        "sequence_labelling": {"stride": 24},
    }
    values = {name: value for name, value in (usual[shape] | changes).items() if value is not None}
    return TASK_TYPES[shape].options.model_validate(values)  # type: ignore[index]


def head_of(shape: str, target: str | None = None, **changes: Any) -> TaskHead:
    return heads.head_of(described(shape, target), options(shape, **changes))


def encoded(
    shape: str, given: list[dict[str, Any]], max_length: int, target: str | None = None, **changes: Any
) -> tuple[TaskHead, Examples]:
    """The head of a shape, and rows as it reads them."""
    head = head_of(shape, target, **changes)
    return head, head.examples(given, tokenizer(), max_length)


def task(folder: Path, shape: str, rows_of: tuple[int, int, int] = (64, 24, 24), target: str | None = None) -> Path:
    """data/validated/tasks/<task>."""
    folder.mkdir(parents=True, exist_ok=True)
    splits = {
        name: labelled("domain", shape, count, 10 + number, target)
        for number, (name, count) in enumerate(zip(("train", "dev", "test"), rows_of, strict=True))
    }
    for name, content in splits.items():
        pq.write_table(pa.Table.from_pylist(content), folder / f"{name}.parquet")
    description = {**about(shape, target), "rows": {name: len(content) for name, content in splits.items()}}
    (folder / "task.json").write_text(json.dumps(description), encoding="utf-8")
    return folder


def baseline_answers(task: TaskDescription, train: Any, dev: Any, test: Any, seed: int) -> dict[str, list[Any]]:
    """Name of a baseline -> its answers to `test`."""
    return {name: model(test) for name, model in BASELINES[task.target](task, train, dev, seed).items()}


def baseline_scores(task: TaskDescription, train: Any, dev: Any, test: Any, seed: int) -> dict[str, dict[str, float]]:
    """Name of a baseline -> its metrics on `test`."""
    gold, answers = right_answers(test, task.target), baseline_answers(task, train, dev, test, seed)
    return {name: SCORING[task.target].score(gold, own, task) for name, own in answers.items()}
