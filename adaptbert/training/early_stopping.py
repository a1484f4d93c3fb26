"""Early stopping: selects the best measured state of a run, and ends the run."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from adaptbert.base import bounds
from adaptbert.base.config import Config


class EarlyStoppingConfig(Config):
    """Keeps the weights of the epoch with the best dev score, by the metric that cells are compared by.

    The rule is the same for every arm and uses dev only (Prechelt 1998, "Early Stopping - But When?").
    """

    patience: Annotated[int, Field(ge=1, le=bounds.EPOCHS)]
    """The run ends after so many consecutive epochs without improvement."""


Ended = Literal["patience", "limit"]


@dataclass(frozen=True)
class KeepBest:
    """The rule: which measured step is kept, and when training ends.

    Attributes:
        metric: its name among the measures.
        patience: measurements without a better one, after which the run ends.
        lower_is_better: whether a lower metric is better, not a higher one.
        before: the metric of the weights before the first step, which are kept until others are better; None: they are
            not measured and never kept.
        limits: name of a measure -> value that it may not exceed: a measurement that does is not kept and ends the run.
            They need `before`, so that there are weights to keep.
    """

    metric: str
    patience: int
    lower_is_better: bool = False
    before: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)

    def score(self, metric: float) -> float:
        """The metric, so that higher is better."""
        return -metric if self.lower_is_better else metric


@dataclass
class Best:
    """The best measurement so far: the state of the rule.

    Attributes:
        step: of the best one, 0 before the first.
        value: its score.
        worse: measurements since then.
        is_beyond: whether the last one was beyond a limit.
    """

    rule: KeepBest
    step: int = 0
    value: float = -math.inf
    worse: int = 0
    is_beyond: bool = False

    def __post_init__(self) -> None:
        if self.rule.before is not None:
            self.value = self.rule.score(self.rule.before)

    def observe(self, step: int, measures: Mapping[str, float]) -> bool:
        """Whether this measurement is the best so far; of equal ones the first is. NaN is never better."""
        value = self.rule.score(measures[self.rule.metric])
        self.is_beyond = any(measures[name] > most for name, most in self.rule.limits.items())
        has_best = self.step > 0 or self.rule.before is not None
        if self.is_beyond or (has_best and not value > self.value):
            self.worse += 1
            return False
        self.step, self.value, self.worse = step, -math.inf if math.isnan(value) else value, 0
        return True

    @property
    def ended(self) -> Ended | None:
        """Why the run ends here: a limit is exceeded, or patience is exhausted."""
        if self.is_beyond:
            return "limit"
        return "patience" if self.worse >= self.rule.patience else None

    @property
    def is_over(self) -> bool:
        """Whether the run ends here."""
        return self.ended is not None

    def state(self) -> dict[str, Any]:
        """For a savepoint."""
        value = None if math.isinf(self.value) else self.value
        return {"step": self.step, "value": value, "worse": self.worse, "is_beyond": self.is_beyond}

    def restore(self, state: Mapping[str, Any]) -> None:
        """From a savepoint."""
        self.step, self.worse, self.is_beyond = state["step"], state["worse"], state["is_beyond"]
        self.value = -math.inf if state["value"] is None else state["value"]
