"""Comparison -> the data of `dvc plots`: small CSV files below reports/plots.

scores/<task>.csv            task, arm, seed, score
learning_curve/<task>.csv    arm, labels, seed, score; a point an arm where there are no `label_counts`, because DVC
                             reports a plot without data as an error
bits_per_char/<heldout>.csv  rung, tokens (trained so far, the rungs below included), bits_per_char
confusion/<task>.csv         actual, predicted: a row for each test row (word) of the chosen arm, the mean of its seeds;
                             words outside of any span that were predicted so are not listed

A label that a spreadsheet would run as a formula begins with an apostrophe.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from adaptbert.base.files import atomic_write
from adaptbert.comparison.records import Arm, Comparison
from adaptbert.rows.spreadsheet import Table
from adaptbert.rows.tag_schemes import OUTSIDE


def write_plots(comparison: Comparison, folder: Path) -> None:
    """Write all files atomically."""
    with atomic_write(folder) as part:
        for task in comparison.tasks:
            scores = [(task.name, arm.name, seed, score) for arm in task.arms for seed, score in arm.scores.items()]
            _write(part / "scores" / f"{task.name}.csv", ("task", "arm", "seed", "score"), scores)
            by_labels = [
                (arm.name, labels, seed, score)
                for arm in task.arms
                for labels, scores in _by_labels(arm, task.labels)
                for seed, score in scores.items()
            ]
            _write(part / "learning_curve" / f"{task.name}.csv", ("arm", "labels", "seed", "score"), by_labels)
            if task.inspection is not None and task.inspection.confusion is not None:
                pairs = [
                    (actual, predicted)
                    for actual, row in task.inspection.confusion.counts.items()
                    for predicted, count in row.items()
                    if (actual, predicted) != (OUTSIDE, OUTSIDE)
                    for _ in range(round(count))
                ]
                _write(part / "confusion" / f"{task.name}.csv", ("actual", "predicted"), pairs)
        for name in comparison.heldout:
            points = [
                (rung.name, rung.total.tokens - rung.tokens + tokens, round(bits[name], 6))
                for rung in comparison.rungs
                if rung.total is not None
                for tokens, bits in rung.curve
                if name in bits
            ]
            _write(part / "bits_per_char" / f"{name}.csv", ("rung", "tokens", "bits_per_char"), points)


def _by_labels(arm: Arm, labels: int) -> list[tuple[int, dict[int, float]]]:
    return [(point.labels, point.scores) for point in arm.learning_curve] or [(labels, arm.scores)]


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = Table(file, header)
        for row in rows:
            table.write(row)
