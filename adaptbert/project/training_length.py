"""Trainings with so few optimizer steps that nothing is learned, or one class is predicted, or with so few labels that
some classes are never shown: told before training."""

import math
from collections.abc import Iterator, Sequence

from adaptbert.comparison.training_length import steps_to_learn
from adaptbert.config import plan_file
from adaptbert.config.plan import FINETUNE
from adaptbert.config.recipe import Recipe, budget
from adaptbert.project import fitting
from adaptbert.project.amounts import Amounts
from adaptbert.project.trainings import Training, trainings

MOST_TIMES = 1.75
"""At half the usual learning rate of its base a step counts for half of one, at a higher rate for more, but at most so
much: 50 steps at 2.5 times that rate taught nothing."""
FEWEST_MLM_STEPS = 50
"""Of masked-language modelling: 12 and 26 steps of 32,768 tokens changed a small checkpoint by 0.01 bits per character,
211 of 4,096 on the same text by 0.20."""


def notices(recipe: Recipe, planned: Sequence[Training] | None = None) -> list[str]:
    """A line for each step on a text that is too short, and for each task about the shortest of its cells.

    Args:
        recipe: one that `adaptbert.project.rules.check` lets pass.
        planned: all that it trains, where that is known.
    """
    every = trainings(recipe, plan_file.expand(recipe), Amounts(recipe)) if planned is None else planned
    known = [each for each in every if each.steps is not None]
    lines = [line for each in known if each.step != FINETUNE for line in _of_text(recipe, each)]
    for task in recipe.tasks:
        cells = [each for each in known if (each.step, each.text) == (FINETUNE, task)]
        if cells:
            lines += _of_task(recipe, min(cells, key=lambda each: _usual_steps(recipe, each)))
    return lines


def _of_text(recipe: Recipe, training: Training) -> Iterator[str]:
    steps, tokens, values = training.steps or 0, training.tokens or 0, training.values
    if steps >= FEWEST_MLM_STEPS:
        return
    place = recipe.place(training.step, _names(training), budget(values)[1])
    batch = values.global_batch_tokens
    smaller = max(fitting.batch(tokens, batch), values.block_size)
    or_batch = f", or global_batch_tokens and micro_batch_tokens: {smaller:_}" if smaller < batch else ""
    yield (
        f"{place}: {training.text}: {steps:,} step{'' if steps == 1 else 's'} of {batch:,} tokens: too few to learn "
        f"much from; write tokens: {FEWEST_MLM_STEPS * batch:_}{or_batch}"
    )


def _of_task(recipe: Recipe, training: Training) -> Iterator[str]:
    assert training.amount is not None
    values, place = training.values, recipe.place(FINETUNE, _names(training), "epochs")
    rows, classes = training.amount.rows, training.amount.classes
    shares, labels = training.amount.shares, values.labels
    shown = sum(1 - (1 - share) ** labels for share in shares)
    if 0 < labels < rows and shares and round(shown) < classes:
        of_labels = recipe.place(FINETUNE, _names(training), "labels")
        yield (
            f"{of_labels}: {training.text}: the {labels:,} rows of a seed show about {shown:.0f} of the {classes} "
            "classes that it is scored on; raise labels, or write 0 for all rows"
        )
    enough, few = needed(training), _usual_steps(recipe, training)
    if few >= enough:
        return
    of_classes, short = "", "have hardly begun to learn"
    if classes:
        of_classes, short = f" for {classes} classes", "often predict one class"
    times = values.learning_rate / fitting.usual_rate(FINETUNE, recipe.bases[training.base])
    at_rate = "" if times == 1 else f" at {times:.2g} times the usual learning rate"
    or_labels = ", or raise labels" if values.labels and values.labels < rows else ""
    yield (
        f"{place}: {training.text}: {training.steps:,} steps{of_classes}{at_rate}: models this short {short}; raise "
        f"epochs to {math.ceil(values.epochs * enough / few)}{or_labels}"
    )


def needed(training: Training) -> int:
    """Optimizer steps of a fine-tuning at the usual rate, below which a warning is given."""
    return steps_to_learn(training.amount.classes if training.amount else 0)


def _usual_steps(recipe: Recipe, training: Training) -> float:
    """To how many steps at the usual rate those of a fine-tuning amount."""
    usual = fitting.usual_rate(FINETUNE, recipe.bases[training.base])
    return (training.steps or 0) * min(MOST_TIMES, float(training.values.learning_rate) / usual)


def _names(training: Training) -> dict[str, str]:
    return next(iter(training.entries.values())).names()
