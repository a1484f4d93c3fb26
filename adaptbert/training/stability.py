"""Numerical stability of a run: skipped steps, warnings, and when to stop.

An optimizer step whose loss or gradient is not finite is skipped and counted; three in a row, or more than one in a
hundred, end the run. A spike of the loss or of the gradient norm is reported.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from adaptbert.codes import Code
from adaptbert.errors import INTERNAL, UserError

IN_A_ROW = 3
SHARE = 0.01
PATIENCE = 100  # steps before the share is checked
DECAY = 0.98
LOSS_DEVIATIONS = 6.0
NORM_RATIO = 10.0
WINDOW = 128
LOWER = "lower learning_rate"


class Diverged(UserError):
    """A loss or a gradient that is no longer a number.

    Args:
        trained: sums over the micro-batches until then, for the cost; empty where nothing was trained.
    """

    exit_code = INTERNAL

    def __init__(self, place: str, problem: str, remedy: str = LOWER, trained: Mapping[str, int] | None = None) -> None:
        super().__init__(Code.DIVERGED, place, problem, remedy)
        self.trained = dict(trained or {})


@dataclass
class Health:
    """Observes the steps of one run in order; its state is a function of the observations.

    Attributes:
        skipped, spikes: how many steps.
        seen, in_a_row: steps, and how many of the last were skipped.
        mean, variance: running ones of the loss.
        norms: of the last gradients.
        bad: the last skipped steps: step, loss, norm, as text (JSON has no NaN).
    """

    skipped: int = 0
    spikes: int = 0
    seen: int = 0
    in_a_row: int = 0
    mean: float = 0.0
    variance: float = 0.0
    norms: list[float] = field(default_factory=list)
    bad: list[dict[str, Any]] = field(default_factory=list)

    def observe(self, step: int, loss: float, norm: float) -> str:
        """One optimizer step: its loss and the norm of its gradient before clipping.

        Returns:
            A warning for the user, or an empty text.

        Raises:
            Diverged: too many steps were skipped.
        """
        self.seen += 1
        if not (math.isfinite(loss) and math.isfinite(norm)):
            return self._skip(step, loss, norm)
        self.in_a_row = 0
        spike = self._spike(loss, norm)
        self.spikes += bool(spike)
        self.norms = [*self.norms[1 - WINDOW :], norm]
        deviation = loss - self.mean
        decay = min(DECAY, 1 - 1 / (len(self.norms) + 1))  # the first values are averaged with equal weights
        self.mean += (1 - decay) * deviation
        self.variance = decay * (self.variance + (1 - decay) * deviation**2)
        return f"step {step}: a spike, {spike}" if spike else ""

    def _skip(self, step: int, loss: float, norm: float) -> str:
        self.skipped += 1
        self.in_a_row += 1
        self.bad = [*self.bad[1 - WINDOW :], {"step": step, "loss": str(loss), "norm": str(norm)}]
        what = f"the loss is {loss}" if not math.isfinite(loss) else f"the norm of the gradient is {norm}"
        often = ""
        if self.in_a_row == IN_A_ROW:
            often = f", {IN_A_ROW} steps in a row"
        elif self.seen >= PATIENCE and self.skipped > SHARE * self.seen:
            often = f", as in {self.skipped} of {self.seen} steps"
        if often:
            raise Diverged(f"step {step}", what + often)
        return f"step {step}: {what}; the step is skipped"

    def _spike(self, loss: float, norm: float) -> str:
        if len(self.norms) < WINDOW:
            return ""
        if loss - self.mean > LOSS_DEVIATIONS * math.sqrt(self.variance):
            return f"loss {loss:.3f}, usually {self.mean:.3f}"
        usual = median(self.norms)
        return f"norm of the gradient {norm:.3g}, usually {usual:.3g}" if norm > NORM_RATIO * usual else ""
