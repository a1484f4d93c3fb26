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

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction
from adaptbert.codes import Code
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


class SearchConfig(Config):
    """The values that are tried before the seeds of a cell are trained (the extra `search`). A value that is left out
    is that of the task."""

    trials: Annotated[int, Field(gt=0, le=bounds.TRIALS)]
    """How many; optuna's TPE sampler chooses the next by those before."""
    learning_rate: Annotated[list[Rate], Field(max_length=bounds.VALUES)]
    """The lowest and the highest to try."""
    global_batch_size: Annotated[list[Size], Field(max_length=bounds.VALUES)] | None = None
    """Values to try."""
    epochs: Annotated[list[Epochs], Field(max_length=bounds.VALUES)] | None = None
    """Values to try, in turn, so that the trials of each arm cost the same."""
    seeds: Annotated[int, Field(gt=0, le=bounds.RUNS)]
    """Runs of each trial, the same for every trial and arm and none of them the cell's; the mean of their scores on
    the dev split decides, the earlier trial where two are equal."""

    @model_validator(mode="after")
    def _agree(self) -> "SearchConfig":
        for name, values, example in (
            ("global_batch_size", self.global_batch_size, [16, 32]),
            ("epochs", self.epochs, [3, 5]),
        ):
            if values is not None and (not values or len(set(values)) != len(values)):
                raise contradiction(f"{name} {values}: give at least one value, each once", f"write e.g. {example}")
        rates = self.learning_rate
        if len(rates) != 2 or rates[0] >= rates[1]:
            problem = f"learning_rate {rates}: it takes the lowest and the highest"
            raise contradiction(problem, "write e.g. [1.0e-5, 2.0e-4]")
        if self.epochs is not None and self.trials < len(self.epochs):
            problem = f"trials {self.trials} < {len(self.epochs)} values of epochs, and each is to be tried"
            raise contradiction(problem, "raise trials, or take values of epochs out")
        return self


def search_seeds(config: SearchConfig) -> list[int]:
    """Of the runs of each trial; derived, so that they differ from the seeds of cells."""
    return [seed_of(number, "search") for number in range(config.seeds)]


def search(config: SearchConfig, usual: Point, score: Callable[[Point], float]) -> list[Trial]:
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
