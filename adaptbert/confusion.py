"""Predictions of a cell (predictions/<task>-<arm>.parquet) -> what is taken for what, and the F1 of every class."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from adaptbert.controls import OUTSIDE


@dataclass(frozen=True)
class Confusion:
    """Of one cell.

    Attributes:
        labels: rows and columns; for spans the types of the single words, `O` first.
        counts: gold label -> predicted label -> rows (words) a seed, as a mean over seeds.
        class_f1: label -> F1 of every seed; for spans the strict F1 of whole spans, by type.
    """

    labels: list[str]
    counts: dict[str, dict[str, float]]
    class_f1: dict[str, list[float]]


def read_confusion(path: Path, target: str) -> Confusion | None:
    """Count a cell's predictions over all its seeds; None where an answer is not one of some classes."""
    import pyarrow.parquet as pq

    if target not in ("class", "spans", "tags"):
        return None
    by_seed: dict[int, list[tuple[str, str]]] = {}
    for row in pq.read_table(path, columns=["seed", "gold", "predicted"]).to_pylist():
        by_seed.setdefault(row["seed"], []).append((row["gold"], row["predicted"]))
    counted: Counter[tuple[str, str]] = Counter()
    class_f1: dict[str, list[float]] = {}
    for seed in sorted(by_seed):
        if target == "class":
            pairs = by_seed[seed]
            scores = _label_f1(pairs)
        else:
            tags = [(json.loads(gold), json.loads(predicted)) for gold, predicted in by_seed[seed]]
            name = _type if target == "spans" else str
            pairs = [(name(g), name(p)) for gold, predicted in tags for g, p in zip(gold, predicted, strict=True)]
            scores = _span_f1(tags) if target == "spans" else _label_f1(pairs)
        counted.update(pairs)
        for label, score in scores.items():
            class_f1.setdefault(label, []).append(score)
    labels = sorted({label for pair in counted for label in pair}, key=lambda label: (label != OUTSIDE, label))
    means = {gold: {p: counted[gold, p] / len(by_seed) for p in labels} for gold in labels}
    return Confusion(labels, means, {label: class_f1[label] for label in sorted(class_f1)})


def _type(tag: str) -> str:
    return tag if tag == OUTSIDE else tag[2:]


def _label_f1(pairs: list[tuple[str, str]]) -> dict[str, float]:
    from sklearn.metrics import f1_score

    gold, predicted = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    labels = sorted(set(gold))
    scores = f1_score(gold, predicted, labels=labels, average=None, zero_division=0)
    return dict(zip(labels, map(float, scores), strict=True))


def _span_f1(tags: list[tuple[list[str], list[str]]]) -> dict[str, float]:
    from seqeval.metrics.v1 import classification_report
    from seqeval.scheme import IOB2

    gold, predicted = [pair[0] for pair in tags], [pair[1] for pair in tags]
    types = {tag[2:] for row in gold for tag in row if tag != OUTSIDE}
    report = classification_report(gold, predicted, scheme=IOB2, zero_division=0, output_dict=True)
    return {name: float(report[name]["f1-score"]) for name in sorted(types)}
