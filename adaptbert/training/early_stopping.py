"""Early stopping: selects the best measured state of a run, and ends the run."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class KeepBest:
    """The rule: the measured step with the highest metric is kept.

    Attributes:
        metric: its name among the measures.
        patience: measurements without a better one, after which the run ends.
    """

    metric: str
    patience: int


@dataclass
class Best:
    """The best measurement so far: the state of the rule.

    Attributes:
        step: of the best one, 0 before the first.
        value: its metric.
        worse: measurements since then.
    """

    rule: KeepBest
    step: int = 0
    value: float = -math.inf
    worse: int = 0

    def observe(self, step: int, measures: Mapping[str, float]) -> bool:
        """Whether this measurement is the best so far; of equal ones the first is. NaN is never better."""
        value = measures[self.rule.metric]
        if self.step > 0 and not value > self.value:
            self.worse += 1
            return False
        self.step, self.value, self.worse = step, -math.inf if math.isnan(value) else value, 0
        return True

    @property
    def is_over(self) -> bool:
        """Whether the run ends here."""
        return self.worse >= self.rule.patience

    def state(self) -> dict[str, Any]:
        """For a savepoint."""
        return {"step": self.step, "value": None if math.isinf(self.value) else self.value, "worse": self.worse}

    def restore(self, state: Mapping[str, Any]) -> None:
        """From a savepoint."""
        self.step, self.worse = state["step"], state["worse"]
        self.value = -math.inf if state["value"] is None else state["value"]
