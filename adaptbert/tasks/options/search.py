"""Hyper-parameter search of a cell on the dev split, by optuna.

Every arm of a task gets the same number of trials at the same budget. The search stores no state: after an interruption
optuna, with the same seed, proposes the same points in the same order, and they get the same scores from the work
folder.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import inf, isnan
from typing import Annotated

from pydantic import Field

from adaptbert.codes import Code
from adaptbert.config.schema import bounds
from adaptbert.config.schema.finetuning import Search
from adaptbert.core.seeds import seed_of
from adaptbert.errors import BadParams

Rate = Annotated[float, Field(gt=0, le=1)]
Size = Annotated[int, Field(gt=0, le=bounds.BATCH_EXAMPLES)]
Epochs = Annotated[float, Field(gt=0, le=bounds.EPOCHS)]


@dataclass(frozen=True)
class Point:
    """The values that a search may change."""

    learning_rate: float
    global_batch_size: int
    epochs: float


@dataclass(frozen=True)
class Trial:
    """A point and its mean score on the dev split; NaN where a run of it diverged."""

    point: Point
    score: float


def search_seeds(config: Search) -> list[int]:
    """Of the runs of each trial; derived, so that they differ from the seeds of cells."""
    return [seed_of(number, "search") for number in range(config.seeds)]


def search(config: Search, usual: Point, score: Callable[[Point], float]) -> list[Trial]:
    """All trials in their order: TPE (Bergstra et al. 2011, section 4), the learning rate on a logarithmic scale.

    Epochs are not sampled: they are the cost of a trial, and an arm that profits from many would get more training than
    the others.

    Args:
        usual: the values of params, for those that are not searched.
        score: trains with the values; larger is better.
    """
    try:
        import optuna
    except ImportError:
        remedy = "pip install 'adaptbert[search]'"
        raise BadParams(Code.NOT_INSTALLED, "params.yaml: search", "optuna is not installed", remedy) from None

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed_of(0, "optuna") % 2**32)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    lowest, highest = config.learning_rate
    trials = []
    for _, epochs in zip(range(config.trials), cycle(config.epochs or [usual.epochs]), strict=False):
        trial = study.ask()
        rate = trial.suggest_float("learning_rate", lowest, highest, log=True)
        size = trial.suggest_categorical("global_batch_size", config.global_batch_size or [usual.global_batch_size])
        point = Point(rate, size, epochs)
        trials.append(Trial(point, score(point)))
        if isnan(trials[-1].score):
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, trials[-1].score)
    return trials


def best(trials: Sequence[Trial]) -> int:
    """The index of the best trial, the first of equals; one without a score (NaN) is last."""
    return max(range(len(trials)), key=lambda number: -inf if isnan(trials[number].score) else trials[number].score)
