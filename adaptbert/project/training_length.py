"""Trainings with so few optimizer steps that nothing is learned, or one class is predicted: told before training."""

import math
from collections.abc import Iterator, Sequence

from adaptbert.config import plan_file
from adaptbert.config.plan import FINETUNE
from adaptbert.config.recipe import Recipe, budget
from adaptbert.project import fitting
from adaptbert.project.amounts import Amounts
from adaptbert.project.trainings import Training, trainings

FEWEST_STEPS, STEPS_OF_A_CLASS, MOST_TIMES = 100, 20, 1.75
"""Optimizer steps of a fine-tuning at the usual learning rate of its base, and for each class, below which a warning is
given. At half the rate a step counts for half of one, at a higher rate for more, but at most 1.75.

A rule of thumb. Of what was trained for this project from small models in batches of 32, models predicted one class
after 38 steps for 12 classes, 125 for 13 (`scratch` of chemprot, docs/results/biomedical.md), 75 for 6 classes (from
random weights at the usual 0.0004; at 0.001 they learned), 50 for the tags of genes at 2.5 times the usual rate, and
251 of the latter at a sixth of it; 75 and 94 steps for 5 classes (docs/results) and 251 for the tags at the usual rate
did not. Public checkpoints are no exception: the usual three epochs of a thousand rows are too few to be stable (Zhang
et al. 2021, "Revisiting Few-sample BERT Fine-tuning", section 6), and runs that are longer fail less often (Mosbach et
al. 2021, "On the Stability of Fine-tuning BERT").
"""
FEWEST_MLM_STEPS = 100
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
    batch, smaller = (
        values.global_batch_tokens,
        max(fitting.batch(tokens, values.global_batch_tokens), values.block_size),
    )
    or_batch = f", or global_batch_tokens and micro_batch_tokens: {smaller:_}" if smaller < batch else ""
    yield (
        f"{place}: {training.text}: {steps:,} step{'' if steps == 1 else 's'} of {batch:,} tokens: too few to learn "
        f"much from; write tokens: {FEWEST_MLM_STEPS * batch:_}{or_batch}"
    )


def _of_task(recipe: Recipe, training: Training) -> Iterator[str]:
    assert training.amount is not None
    values, place = training.values, recipe.place(FINETUNE, _names(training), "epochs")
    rows, classes = training.amount.rows, training.amount.classes
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
    return max(FEWEST_STEPS, STEPS_OF_A_CLASS * (training.amount.classes if training.amount else 0))


def _usual_steps(recipe: Recipe, training: Training) -> float:
    """To how many steps at the usual rate those of a fine-tuning amount."""
    usual = fitting.usual_rate(FINETUNE, recipe.bases[training.base])
    return (training.steps or 0) * min(MOST_TIMES, float(training.values.learning_rate) / usual)


def _names(training: Training) -> dict[str, str]:
    return next(iter(training.entries.values())).names()
