"""How much of the processor the threads of this process get, of what they are ready to use.

A thread that could run and does not is waiting: for other processes on its core, or because a limit of the container
holds it back. Linux counts both times for every thread (schedstat, in nanoseconds); elsewhere nothing is known.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from adaptbert.base.control_group import times_throttled

THREADS = Path("/proc/self/task")


class ProcessorShare:
    """Since it was made, or asked before.

    Args:
        threads: a folder of /proc with a folder for each thread.
    """

    def __init__(self, threads: Path = THREADS) -> None:
        self._threads = threads
        self._times, self._throttled = self._read(), times_throttled()

    def read(self) -> float | None:
        """Time that the threads ran, of the time in which they ran or waited to run; None where it is not counted."""
        before, self._times = self._times, self._read()
        ran, waited = (
            sum(now[part] - before.get(thread, (0, 0))[part] for thread, now in self._times.items()) for part in (0, 1)
        )
        return ran / (ran + waited) if ran + waited > 0 else None

    def held_by_a_limit(self) -> bool:
        """Whether a limit of the container held the process back meanwhile."""
        before, self._throttled = self._throttled, times_throttled()
        return self._throttled > before

    def _read(self) -> Mapping[str, tuple[int, int]]:
        """Thread -> nanoseconds that it ran, and waited to run."""
        times = {}
        with suppress(OSError):
            for thread in self._threads.iterdir():
                with suppress(OSError, ValueError):  # the thread has ended; a kernel without these counters
                    ran, waited, _ = (thread / "schedstat").read_text(encoding="ascii").split()
                    times[thread.name] = (int(ran), int(waited))
        return times
