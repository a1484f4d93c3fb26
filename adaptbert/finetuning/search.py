"""Hyper-parameter search of a cell on the dev split.

Every arm of a task gets the same search at the same budget. The search stores no state: after an interruption it
proposes the same points in the same order and gets the same scores from the work folder.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from math import inf, isnan, prod
from typing import Annotated, Literal

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction
from adaptbert.base.seeds import seed_of
from adaptbert.codes import Code
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
    """The values that are tried before the seeds of a cell are trained. A value that is left out is that of the
    task."""

    learning_rate: Annotated[list[Rate], Field(max_length=bounds.VALUES)] | None = None
    """Values to try; for optuna, which needs them, the lowest and the highest."""
    global_batch_size: Annotated[list[Size], Field(max_length=bounds.VALUES)] | None = None
    """Values to try."""
    epochs: Annotated[list[Epochs], Field(max_length=bounds.VALUES)] | None = None
    """Values to try; by optuna in turn, so that the trials of each arm cost the same."""
    seeds: Annotated[int, Field(gt=0, le=bounds.RUNS)]
    """Runs of each trial, the same for every trial and arm and none of them the cell's; the mean of their scores on
    the dev split decides, the earlier trial where two are equal."""
    sampler: Literal["optuna"] | None = None
    """Left out: every combination of the values is a trial. `optuna`: its TPE sampler chooses the next by those before
    (the extra `search`)."""
    trials: Annotated[int, Field(gt=0, le=bounds.TRIALS)] | None = None
    """Of optuna: how many."""

    @model_validator(mode="after")
    def _agree(self) -> "SearchConfig":
        lists = {
            "learning_rate": self.learning_rate,
            "global_batch_size": self.global_batch_size,
            "epochs": self.epochs,
        }
        searched = {name: values for name, values in lists.items() if values is not None}
        if not searched:
            raise contradiction(f"search gives none of {', '.join(lists)}: there is nothing to choose from")
        for name, values in searched.items():
            if not values or len(set(values)) != len(values):
                raise contradiction(f"{name} {values}: give at least one value, each once")
        trials = prod(map(len, searched.values()))
        if self.sampler is None and trials > bounds.TRIALS:
            raise contradiction(f"{trials:,} combinations are more than {bounds.TRIALS:,} trials", "give fewer values")
        if (self.sampler is None) != (self.trials is None):
            raise contradiction(f"sampler {self.sampler} and trials {self.trials}: optuna needs both, a grid neither")
        rates = self.learning_rate
        if self.sampler is not None and (rates is None or len(rates) != 2 or rates[0] >= rates[1]):
            raise contradiction(
                f"sampler optuna and learning_rate {rates}: it takes the lowest and the highest; a grid has the rest"
            )
        return self


def search_seeds(config: SearchConfig) -> list[int]:
    """Of the runs of each trial; derived, so that they differ from the seeds of cells."""
    return [seed_of(number, "search") for number in range(config.seeds)]


def search(config: SearchConfig, usual: Point, score: Callable[[Point], float]) -> list[Trial]:
    """All trials in their order.

    Args:
        usual: the values of params, for those that are not searched.
        score: trains with the values; larger is better.
    """
    points = _grid(config, usual)
    return _optuna(config, usual, score) if config.sampler else [Trial(point, score(point)) for point in points]


def best(trials: Sequence[Trial]) -> int:
    """The index of the best trial, the first of equals; one without a score (NaN) is last."""
    return max(range(len(trials)), key=lambda number: -inf if isnan(trials[number].score) else trials[number].score)


def _grid(config: SearchConfig, usual: Point) -> Iterator[Point]:
    """Every combination, the last value changing fastest."""
    rates = config.learning_rate or [usual.learning_rate]
    sizes = config.global_batch_size or [usual.global_batch_size]
    for rate, size, epochs in product(rates, sizes, config.epochs or [usual.epochs]):
        yield Point(rate, size, epochs)


def _optuna(config: SearchConfig, usual: Point, score: Callable[[Point], float]) -> list[Trial]:
    """TPE (Bergstra et al. 2011, section 4); the learning rate on a logarithmic scale.

    Epochs are not sampled: they are the cost of a trial, and an arm that profits from many would get more training than
    the others.
    """
    try:
        import optuna
    except ImportError:
        remedy = "pip install 'adaptbert[search]', or leave sampler and trials out for a grid"
        raise BadParams(Code.NOT_INSTALLED, "params.yaml: search.sampler", "optuna is not installed", remedy) from None

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed_of(0, "optuna") % 2**32)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    assert config.learning_rate is not None
    assert config.trials is not None
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
