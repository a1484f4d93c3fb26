"""Comparison -> the data of `dvc plots`: small CSV files below reports/plots.

scores/<task>.csv            task, start, arm, draw, seed, score; draw 0: the rung of the arm is made once a start
learning_curve/<task>.csv    start, arm, labels, seed, score, which is the mean over draws; a point an arm where there
                             are no `label_counts`, because DVC reports a plot without data as an error
bits_per_char/<heldout>.csv  start, draw, rung, tokens (trained so far, the rungs below included), bits_per_char
confusion/<task>.csv         actual, predicted: a row for each test row (word) of the chosen arm, the mean of its runs;
                             words outside of any span that were predicted so are not listed. With several starts a file
                             for each: <task>-<start>.csv

A label that a spreadsheet would run as a formula begins with an apostrophe.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from adaptbert.comparison.records import Arm, Comparison, Confusion, Task
from adaptbert.core.files import atomic_write
from adaptbert.data.spreadsheet import Table
from adaptbert.data.tag_schemes import OUTSIDE

SCORES = ("task", "start", "arm", "draw", "seed", "score")
LEARNING = ("start", "arm", "labels", "seed", "score")
BITS = ("start", "draw", "rung", "tokens", "bits_per_char")


def write_plots(comparison: Comparison, folder: Path) -> None:
    """Write all files atomically."""
    by_name: dict[str, list[Task]] = {}
    for task in comparison.tasks:
        by_name.setdefault(task.task, []).append(task)
    with atomic_write(folder) as part:
        part.mkdir()
        for name, tasks in by_name.items():
            scores, learned = map(_scores, tasks), map(_learning, tasks)
            _write(part / "scores" / f"{name}.csv", SCORES, chain.from_iterable(scores))
            _write(part / "learning_curve" / f"{name}.csv", LEARNING, chain.from_iterable(learned))
        for task in comparison.tasks:
            if task.inspection is not None and task.inspection.confusion is not None:
                pairs = _pairs(task.inspection.confusion)
                _write(part / "confusion" / f"{task.anchor}.csv", ("actual", "predicted"), pairs)
        for heldout in comparison.heldout:
            points = [
                (each.base, trained.number, each.name, total.tokens - cost.tokens + tokens, round(bits[heldout], 6))
                for each, trained in comparison.trained()
                if (total := trained.total) is not None and (cost := trained.cost) is not None
                for tokens, bits in trained.curve
                if heldout in bits
            ]
            _write(part / "bits_per_char" / f"{heldout}.csv", BITS, points)


def _scores(task: Task) -> list[tuple[object, ...]]:
    return [
        (task.task, task.base, arm.name, run.replicate, run.seed, run.score) for arm in task.arms for run in arm.runs
    ]


def _learning(task: Task) -> list[tuple[object, ...]]:
    return [
        (task.base, arm.name, labels, seed, score)
        for arm in task.arms
        for labels, scores in _by_labels(arm, task.labels)
        for seed, score in scores.items()
    ]


def _pairs(confusion: Confusion) -> list[tuple[str, str]]:
    return [
        (actual, predicted)
        for actual, row in confusion.counts.items()
        for predicted, count in row.items()
        if (actual, predicted) != (OUTSIDE, OUTSIDE)
        for _ in range(round(count))
    ]


def _by_labels(arm: Arm, labels: int) -> list[tuple[int, dict[int, float]]]:
    return [(point.labels, point.scores) for point in arm.learning_curve] or [(labels, arm.scores)]


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = Table(file, header)
        for row in rows:
            table.write(row)
