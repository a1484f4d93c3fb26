"""Progress of a training run: a bar in a terminal, elsewhere a line every few seconds, and the same in the record.

Step, loss, speed, share of what the machine can do at most, and the time left.
"""

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from adaptbert.runtime.tracking.run import Run

LINE_SECONDS = 5.0
BAR_SECONDS = 0.5
CLEAR = "\r\x1b[K"


class Progress:
    """Speed and time left, of what this process has trained; pauses (measuring, saving) are not counted.

    Args:
        steps: at which the run ends.
        run: gets `train/tokens_per_second`, `train/share_of_peak` and how busy the machine is.
        flop: floating-point operations for counts as `MicroBatch.counts` names them; None where nobody knows.
        peak: floating-point operations a second of the devices together at most; asked once, and only if there is
            something to tell.
    """

    def __init__(
        self,
        steps: int,
        run: Run,
        flop: Callable[[Mapping[str, int]], float] | None = None,
        peak: Callable[[], float] = lambda: float("inf"),
    ) -> None:
        self._steps, self._run, self._flop, self._peak = steps, run, flop, peak
        self._bar, self._open = sys.stdout.isatty(), False
        self.begin(0, {})

    def begin(self, step: int, counts: Mapping[str, int]) -> None:
        """Training begins after `step` steps with these counts."""
        self._first, self._counts = step, dict(counts)
        self._began = self._told = self._recorded = time.monotonic()

    def is_due(self) -> bool:
        """Whether what is shown is some time old."""
        return time.monotonic() - self._told > (BAR_SECONDS if self._bar else LINE_SECONDS)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What happens in this block is not training."""
        paused = time.monotonic()
        try:
            yield
        finally:
            self._began += time.monotonic() - paused

    @contextmanager
    def closing(self) -> Iterator[None]:
        """After this block, however it ends, what is printed begins on a line of its own."""
        try:
            yield
        finally:
            if self._open:
                print()

    def note(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        print(f"{CLEAR if self._bar else ''}  {text}")
        self._open = False

    def tell(self, step: int, counts: Mapping[str, int], loss: float) -> None:
        """Show how far training is after `step` steps with these counts, and record the speed."""
        done = {name: number - self._counts.get(name, 0) for name, number in counts.items()}
        seconds = max(1e-9, time.monotonic() - self._began)
        figures = {"train/tokens_per_second": done["tokens"] / seconds}
        if self._flop is not None:
            with self.paused():
                peak = self._peak()
            figures["train/share_of_peak"] = self._flop(done) / seconds / peak
        self._show(step, loss, figures, seconds / (step - self._first) * (self._steps - step))
        self._told = time.monotonic()
        if step == self._steps or self._told - self._recorded > LINE_SECONDS:
            self._run.log_metrics(figures, step)
            self._run.log_machine(step)
            self._recorded = self._told

    def _show(self, step: int, loss: float, figures: Mapping[str, float], left: float) -> None:
        share = figures.get("train/share_of_peak")
        parts = [
            f"step {step:>6,}/{self._steps:,}",
            f"loss {loss:.3f}",
            f"{figures['train/tokens_per_second']:,.0f} tokens/s",
            *([f"{share:.0%} of peak"] if share is not None else []),
            f"{int(left) // 60}:{int(left) % 60:02d} left",
        ]
        text = "  ".join(parts)
        if self._bar:
            columns = shutil.get_terminal_size().columns
            width = max(1, min(30, columns - len(text) - 8))
            full = width * step // self._steps
            line = f"  [{'#' * full}{'-' * (width - full)}]  {text}"
            sys.stdout.write(CLEAR + line[: columns - 1])  # a line that wraps could not be written over
            self._open = True
        else:
            sys.stdout.write(f"  {text}\n")
        sys.stdout.flush()
