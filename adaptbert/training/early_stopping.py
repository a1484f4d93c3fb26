"""Early stopping: selects the best measured state of a run, and ends the run."""

import math
from dataclasses import dataclass


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
    """The best measurement so far.

    Attributes:
        step: of the best one, 0 before the first.
        value: its metric.
        worse: measurements since then.
    """

    step: int = 0
    value: float = -math.inf
    worse: int = 0

    def observe(self, step: int, value: float) -> bool:
        """Whether this measurement is the best so far; of equal ones the first is. NaN is never better."""
        if self.step > 0 and not value > self.value:
            self.worse += 1
            return False
        self.step, self.value, self.worse = step, -math.inf if math.isnan(value) else value, 0
        return True
