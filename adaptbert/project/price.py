"""`adaptbert plan --price`: tokens, operations and minutes of each step that is due, and of the whole recipe.

Tokens follow from budgets, texts and rows (adaptbert.project.trainings), minutes from them at the speed of this machine
(adaptbert.project.speed).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from rich import box
from rich.table import Table

from adaptbert.config.plan import FINETUNE
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.model.flops import training_flop
from adaptbert.project.speed import Speeds
from adaptbert.project.trainings import Training
from adaptbert.report.language import amount


class Price(NamedTuple):
    """A step on one text or task from one base: all trainings that are due, of every replicate, seed and trial.

    The minutes are those of one device and of optimizer steps alone.
    """

    step: str
    text: str
    base: str
    trainings: int
    tokens: float
    tflop: float
    minutes: float


def prices(planned: Sequence[Training], due: Collection[str], speeds: Speeds) -> list[Price]:
    """In the order of training; none where everything is up to date.

    Args:
        due: names of stages, as DVC has them.
    """
    priced = []
    for each in planned:
        if count := sum(f"{each.step}@{key}" in due for key in each.entries):
            speed, own = speeds.bases[each.base], next(iter(each.entries.values()))
            runs, full_runs = _runs(each) if each.step == FINETUNE else (1, 1.0)
            tokens = count * full_runs * (each.tokens or 0)
            name = f"{each.text}, {own.arm}" if own.has_own_values else each.text
            minutes = tokens / speed.of(each.step) / 60
            priced.append(
                Price(each.step, name, each.base, count * runs, tokens, _tflop(each, tokens, speeds), minutes)
            )
    return priced


def minutes(priced: Sequence[Price], due: Collection[str], speeds: Speeds) -> float:
    """Of the recipe: stages of one kind run side by side, one kind after another, and each has to start."""
    trained, total = defaultdict[str, float](float), 0.0
    for each in priced:
        trained[each.step] += each.minutes
    for kind, count in Counter(stage.partition("@")[0] for stage in due).items():
        total += (trained[kind] + count * speeds.start / 60) / min(count, speeds.jobs)
    return total


def about(total: float) -> str:
    """For the user."""
    shown = (
        "less than a minute"
        if total < 1
        else f"about {total:,.0f} minutes"
        if total < 90
        else f"about {total / 60:.1f} hours"
    )
    return f"{shown} by `make recipe`"


def table(priced: Sequence[Price]) -> Table:
    """With the sums in the last row."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("step", "text or task", "base", "trainings", "tokens", "TFLOP", "minutes"):
        shown.add_column(name, justify="left" if name in ("step", "text or task", "base") else "right")
    sums = (sum(figures) for figures in zip(*(each[3:] for each in priced), strict=True)) if priced else (0, 0, 0, 0)
    for each in [*priced, Price("all", "", "", *sums)]:
        figures = f"{each.trainings:,}", f"{each.tokens:,.0f}", amount(each.tflop), amount(each.minutes)
        shown.add_row(*each[:3], *figures)
    return shown


def _tflop(training: Training, tokens: float, speeds: Speeds) -> float:
    """Of so many tokens; [CLS] and [SEP] of short texts, which are not masked, are counted as if they were."""
    values = training.values
    rows = training.amount.rows * tokens / training.amount.tokens if training.amount and training.amount.tokens else 0
    read, decoded = (round(rows), 0) if training.step == FINETUNE else (round(tokens * values.masking.probability),) * 2
    return training_flop(speeds.bases[training.base].config, round(tokens), values.block_size, read, decoded) / 1e12


def _runs(training: Training) -> tuple[int, float]:
    """Trainings of a cell, and to how many on all its labels they amount.

    A trial of a search with another number of epochs counts as one with the usual number.
    """
    values: Finetune = training.values
    seeds, curve, search = len(values.seeds), values.label_counts or [], values.search
    rows = training.amount.rows if training.amount else 1
    trials = 0 if search is None else search.seeds * search.trials
    shares = sum(min(1.0, count / min(values.labels or rows, rows)) for count in curve)
    return seeds * (1 + len(curve)) + trials, seeds * (1 + shares) + trials
