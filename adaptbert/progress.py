"""Progress of a training run: a line every few seconds with step, loss, speed and the time left."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from adaptbert.tracking import Run

LINE_SECONDS = 5.0


class Progress:
    """Speed and time left, of what this process has trained; pauses (measuring, saving) are not counted.

    Args:
        steps: at which the run ends.
        run: gets `train/tokens_per_second`.
    """

    def __init__(self, steps: int, run: Run) -> None:
        self._steps, self._run = steps, run
        self.begin(0, 0)

    def begin(self, step: int, tokens: int) -> None:
        """Training begins after `step` steps and `tokens` tokens."""
        self._first = (step, tokens)
        self._began = self._told = time.monotonic()

    def is_due(self) -> bool:
        """Whether the last line is some seconds old."""
        return time.monotonic() - self._told > LINE_SECONDS

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What happens in this block is not training."""
        paused = time.monotonic()
        try:
            yield
        finally:
            self._began += time.monotonic() - paused

    def tell(self, step: int, tokens: int, loss: float) -> None:
        """Print the line and log the speed."""
        now = time.monotonic()
        first_step, first_tokens = self._first
        seconds = max(1e-9, now - self._began)
        speed = (tokens - first_tokens) / seconds
        left = int(seconds / (step - first_step) * (self._steps - step))
        self._run.log_metrics({"train/tokens_per_second": speed}, step)
        sys.stdout.write(
            f"  step {step:>6,}/{self._steps:,}  loss {loss:.3f}  {speed:,.0f} tokens/s"
            f"  {left // 60}:{left % 60:02d} left\n"
        )
        sys.stdout.flush()
        self._told = now
