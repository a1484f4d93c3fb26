"""Tasks with so few optimizer steps of fine-tuning that models often predict one class: told before training."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from adaptbert.config.plan import FINETUNE
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.sources import Task
from adaptbert.data.files import Files
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import UserError
from adaptbert.project.preflight import ROWS, is_small, without_warnings

VALIDATED = Path("data/validated/tasks")
FEWEST_STEPS, STEPS_OF_A_CLASS = 50, 10
"""Optimizer steps of a run, and for each class, below which a warning is given.

A rule of thumb. Of what was trained for this project from small models in batches of 32, 38 steps for 12 classes and
125 for 13 (`scratch` of chemprot, docs/results/biomedical.md) ended in models that predict one class; 75 and 94 steps
for 5 classes (the demonstration, rct_sections) did not. Public checkpoints are no exception: the usual three epochs of
a thousand rows are too few to be stable (Zhang et al. 2021, "Revisiting Few-sample BERT Fine-tuning", section 6), and
runs that are longer fail less often (Mosbach et al. 2021, "On the Stability of Fine-tuning BERT").
"""


class Known(NamedTuple):
    """What is known of a task before training.

    Attributes:
        rows: for training; infinite where a large file was not read to its end.
        classes: labels; those of the first rows of such a file. 0: no row has a class.
    """

    rows: float
    classes: int


def notices(recipe: Recipe) -> list[str]:
    """A line for each task with such cells, about the shortest of them.

    Args:
        recipe: one that `adaptbert.project.rules.check` lets pass.
    """
    return [line for task in recipe.tasks for line in _of(recipe, task)]


def _of(recipe: Recipe, task: str) -> Iterator[str]:
    cells = [cell for cell in recipe.cells() if cell["task"] == task]
    known = (_validated(task) or _previewed(recipe.tasks[task])) if cells else None
    if known is None:
        return

    def steps(cell: Mapping[str, str]) -> float:
        values = recipe.values(FINETUNE, cell)
        return float(values.epochs * min(values.labels or math.inf, known.rows) / values.global_batch_size)

    needed, shortest = max(FEWEST_STEPS, STEPS_OF_A_CLASS * known.classes), min(cells, key=steps)
    if (fewest := steps(shortest)) >= needed:
        return
    values, place = recipe.values(FINETUNE, shortest), recipe.place(FINETUNE, shortest, "epochs")
    of_classes, short = "", "have hardly begun to learn"
    if known.classes:
        of_classes, short = f" for {known.classes} classes", "often predict one class"
    or_labels = ", or raise labels" if values.labels and values.labels < known.rows else ""
    yield (
        f"{place}: {task}: {max(1, round(fewest))} steps{of_classes}: models this short {short}; raise epochs to "
        f"{math.ceil(values.epochs * needed / fewest)}{or_labels}"
    )


def _validated(task: str) -> Known | None:
    folder = VALIDATED / task
    try:
        described = TaskDescription.read(folder)
        return Known(described.rows["train"], len(described.labels))
    except (OSError, ValueError, KeyError):  # not validated yet, or by an older version
        return None


def _previewed(task: Task) -> Known | None:
    """By the rows of a small file, else by the first; None where it cannot be read, which `adaptbert check` reports."""
    path, column, labels, count = Path(task.train), task.spec.output.column, set[str](task.labels or ()), 0
    try:
        is_whole = is_small([path])
        with without_warnings():
            for row in Files(path, task, "train", None if is_whole else ROWS).rows():
                if row.problem is None:
                    count += 1
                    labels.update(task.spec.output.labels(row.values[column]))
    except (UserError, OSError):
        return None
    share = 1 - sum(task.split.shares().values()) if task.split is not None else 1
    return Known(count * share if is_whole else math.inf, len(labels)) if count else None
