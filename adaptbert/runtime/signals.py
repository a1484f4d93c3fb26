"""Signals: SIGTERM, SIGINT and SIGHUP end a stage in such a way that the same command goes on where it stopped.

Outside training they raise at once, and unfinished files are removed on the way out. During training the handler only
sets a flag, for it may have struck in the middle of a backward pass: whoever trains looks at the flag between two
optimizer steps, where a savepoint is possible. A second signal ends the process on the spot.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from adaptbert.base.processes import is_orphan
from adaptbert.errors import TEMPORARY

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_asked: list[signal.Signals] = []
_hooks: list[Callable[[Any], object]] = []


class Interrupted(BaseException):
    """Stopped by a signal; not an `Exception`, so that nothing which mends errors takes it for one."""

    exit_code = TEMPORARY


def raise_at_once() -> None:
    """From now on a signal raises `Interrupted` wherever the program is."""
    _take(_raise)
    if sys.unraisablehook is not _raise_again:
        _hooks.append(sys.unraisablehook)
        sys.unraisablehook = _raise_again


@contextmanager
def deferred() -> Iterator[None]:
    """In this block a signal is only noted; see `asked` and `insist`."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    insist()
    try:
        yield
    finally:
        if _is_main():
            for number, handler in before.items():
                signal.signal(number, handler)


def insist() -> None:
    """Note signals again, after a library has put its own handlers in the place of ours."""
    _take(_note)


def ignore() -> None:
    """Leave signals to the process that started this one: a terminal sends them to both."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def asked() -> str:
    """The name of the signal that was noted, or nothing."""
    return _asked[0].name if _asked else ""


def die_with_parent(number: signal.Signals = signal.SIGTERM) -> None:
    """Get a signal when the process that started this one ends, however it ends; Linux only.

    DVC that is killed would leave its stage behind as an orphan, and the next `dvc repro` would start a second one. It
    may have been killed while this process was starting: then its place is taken by a process of another group.
    """
    if is_orphan():
        os.kill(os.getpid(), number)
    if sys.platform != "linux":
        return
    import ctypes

    parent = os.getppid()
    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, number, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        os.kill(os.getpid(), number)


def _take(handler: Callable[[int, FrameType | None], None]) -> None:
    if _is_main():
        for number in SIGNALS:
            signal.signal(number, handler)


def _is_main() -> bool:
    """Python takes signals in its main thread only; elsewhere (a notebook's executor) the owner of that one decides."""
    return threading.current_thread() is threading.main_thread()


def _note(number: int, frame: FrameType | None) -> None:
    if _asked:
        os._exit(128 + number)
    _asked.append(signal.Signals(number))


def _raise(number: int, frame: FrameType | None) -> None:
    _note(number, frame)
    raise Interrupted(f"stopped by {asked()}")


def _raise_again(lost: Any) -> None:
    """What is raised inside a destructor Python only prints: then a moment later, outside of it.

    Args:
        lost: as `sys.unraisablehook` gets it.
    """
    if isinstance(lost.exc_value, Interrupted) and _is_main():
        signal.signal(signal.SIGALRM, _raise_where_allowed)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        _hooks[-1](lost)


def _raise_where_allowed(number: int, frame: FrameType | None) -> None:
    if signal.getsignal(_asked[0]) is _raise:  # else whoever trains looks at `asked`
        raise Interrupted(f"stopped by {asked()}")
