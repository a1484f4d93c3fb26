"""Tasks with so few optimizer steps of fine-tuning that models often predict one class, or with so few labels that some
classes are never shown: told before training."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from adaptbert.config.plan import FINETUNE
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.sources import Task
from adaptbert.config.schema.task_types import TARGETS
from adaptbert.data import parquet as tables
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
        shares: of the rows, by each class that they have.
    """

    rows: float
    classes: int
    shares: list[float]


def notices(recipe: Recipe) -> list[str]:
    """Lines for each task with such cells, about the shortest of them.

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
    values = recipe.values(FINETUNE, shortest)
    shown = sum(1 - (1 - share) ** values.labels for share in known.shares)
    if 0 < values.labels < known.rows and round(shown) < known.classes:
        yield (
            f"{recipe.place(FINETUNE, shortest, 'labels')}: {task}: the {values.labels:,} rows of a seed show about "
            f"{shown:.0f} of the {known.classes} classes that it is scored on; raise labels, or write 0 for all rows"
        )
    if (fewest := steps(shortest)) >= needed:
        return
    of_classes, short = "", "have hardly begun to learn"
    if known.classes:
        of_classes, short = f" for {known.classes} classes", "often predict one class"
    or_labels = ", or raise labels" if values.labels and values.labels < known.rows else ""
    yield (
        f"{recipe.place(FINETUNE, shortest, 'epochs')}: {task}: {max(1, round(fewest))} steps{of_classes}: models this "
        f"short {short}; raise epochs to {math.ceil(values.epochs * needed / fewest)}{or_labels}"
    )


def _validated(task: str) -> Known | None:
    folder = VALIDATED / task
    try:
        described = TaskDescription.read(folder)
        output, counts, train = TARGETS[described.target], Counter[str](), folder / "train.parquet"
        for row in tables.rows(train, [output.column]) if described.labels and train.is_file() else ():
            counts.update(set(output.labels(row[output.column])))
        rows = described.rows["train"]
        return Known(rows, len(described.labels), [count / rows for count in counts.values()])
    except (OSError, ValueError, KeyError):  # not validated yet, or by an older version
        return None


def _previewed(task: Task) -> Known | None:
    """By the rows of a small file, else by the first; None where it cannot be read, which `adaptbert check` reports."""
    path, column, counts, count = Path(task.train), task.spec.output.column, Counter[str](), 0
    try:
        is_whole = is_small([path])
        with without_warnings():
            for row in Files(path, task, "train", None if is_whole else ROWS).rows():
                if row.problem is None:
                    count += 1
                    counts.update(set(task.spec.output.labels(row.values[column])))
    except (UserError, OSError):
        return None
    share = 1 - sum(task.split.shares().values()) if task.split is not None else 1
    classes, shares = len({*counts, *(task.labels or ())}), [each / count for each in counts.values()]
    return Known(count * share if is_whole else math.inf, classes, shares) if count else None
