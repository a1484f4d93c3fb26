"""Numerical stability of a run: skipped steps, warnings, and when to stop.

An optimizer step whose loss or gradient is not finite is skipped and counted; three in a row, or more than one in a
hundred, end the run. A spike of the loss or of the gradient norm is reported.
"""

import math
from collections import deque
from collections.abc import Mapping
from pathlib import Path
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


class Diverged(UserError):
    """A loss or a gradient that is no longer a number.

    Args:
        trained: sums over the micro-batches until then, for the cost; empty where nothing was trained.
    """

    exit_code = INTERNAL

    def __init__(
        self, code: Code, place: str | Path, problem: str, remedy: str, trained: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(code, place, problem, remedy)
        self.trained = dict(trained or {})


class Health:
    """Observes the steps of one run in order; its state is a function of the observations."""

    def __init__(self) -> None:
        self.skipped = self.spikes = 0
        self._seen = self._in_a_row = 0
        self._mean = self._variance = 0.0
        self._norms: deque[float] = deque(maxlen=WINDOW)
        self._bad: deque[dict[str, Any]] = deque(maxlen=WINDOW)

    def observe(self, step: int, loss: float, norm: float) -> str:
        """One optimizer step: its loss and the norm of its gradient before clipping.

        Returns:
            A warning for the user, or an empty text.

        Raises:
            Diverged: too many steps were skipped.
        """
        self._seen += 1
        if not (math.isfinite(loss) and math.isfinite(norm)):
            return self._skip(step, loss, norm)
        self._in_a_row = 0
        warning = self._spike(step, loss, norm)
        self._norms.append(norm)
        deviation = loss - self._mean
        decay = min(DECAY, 1 - 1 / (len(self._norms) + 1))  # the first values are averaged with equal weights
        self._mean += (1 - decay) * deviation
        self._variance = decay * (self._variance + (1 - decay) * deviation**2)
        return warning

    def values(self) -> dict[str, Any]:
        """For a savepoint."""
        return {
            "skipped": self.skipped,
            "spikes": self.spikes,
            "seen": self._seen,
            "in_a_row": self._in_a_row,
            "mean": self._mean,
            "variance": self._variance,
            "norms": list(self._norms),
            "bad": list(self._bad),
        }

    def restore(self, values: dict[str, Any]) -> None:
        """From a savepoint, what `values` returned."""
        self.skipped, self.spikes = values["skipped"], values["spikes"]
        self._seen, self._in_a_row = values["seen"], values["in_a_row"]
        self._mean, self._variance = values["mean"], values["variance"]
        self._norms = deque(values["norms"], maxlen=WINDOW)
        self._bad = deque(values["bad"], maxlen=WINDOW)

    @property
    def bad_steps(self) -> list[dict[str, Any]]:
        """The last skipped steps: step, loss, norm, as text (JSON has no NaN)."""
        return list(self._bad)

    def _skip(self, step: int, loss: float, norm: float) -> str:
        self.skipped += 1
        self._in_a_row += 1
        self._bad.append({"step": step, "loss": str(loss), "norm": str(norm)})
        what = f"the loss is {loss}" if not math.isfinite(loss) else f"the norm of the gradient is {norm}"
        if self._in_a_row == IN_A_ROW:
            problem = f"{what}, {IN_A_ROW} steps in a row"
            raise Diverged(Code.DIVERGED, f"step {step}", problem, "lower learning_rate")
        if self._seen >= PATIENCE and self.skipped > SHARE * self._seen:
            share = f"{self.skipped} of {self._seen} steps"
            raise Diverged(Code.DIVERGED, f"step {step}", f"{what}, as in {share}", "lower learning_rate")
        return f"step {step}: {what}; the step is skipped"

    def _spike(self, step: int, loss: float, norm: float) -> str:
        if len(self._norms) < WINDOW:
            return ""
        usual = median(self._norms)
        if loss - self._mean > LOSS_DEVIATIONS * math.sqrt(self._variance):
            what = f"loss {loss:.3f}, usually {self._mean:.3f}"
        elif norm > NORM_RATIO * usual:
            what = f"norm of the gradient {norm:.3g}, usually {usual:.3g}"
        else:
            return ""
        self.spikes += 1
        return f"step {step}: a spike, {what}"
