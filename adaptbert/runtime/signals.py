"""Signals: SIGTERM, SIGINT and SIGHUP end a stage in such a way that the same command goes on where it stopped.

Outside training they raise at once, and unfinished files are removed. During training the handler only sets a flag,
because it may run in the middle of a backward pass: the training loop checks the flag between two optimizer steps,
where it can save its state. While it measures, they raise at once. A second signal ends the process at once, unless it
comes so soon that it is the first by another way, or is passed on by a flow or a DVC that has ended.
"""

import atexit
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from adaptbert.core.processes import is_orphan
from adaptbert.errors import TEMPORARY

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PASSED_ON = signal.SIGUSR1
"""Signal that the flow sends, and the kernel where a parent has ended: it follows a signal of the user, on a busy
machine seconds later, and is no second one."""
TAKEN = (*SIGNALS, PASSED_ON)
SECONDS_BETWEEN_LOOKS = 0.2
"""Longest time for which a process that waits in `held` lets a signal wait."""

SECONDS_OF_ONE = 2.0
"""Seconds within which signals count as one."""

HELPER_KILLED = "DataLoader worker (pid"
"""How torch's error begins where a process that makes batches was killed; it has no class of its own."""

_received: list[signal.Signals] = []
_first = 0.0
"""Time at which it came."""
_holding = 0
"""How many `held` blocks the main thread is in."""
_hooks: list[Callable[[Any], object]] = []


class Interrupted(BaseException):
    """A stop by a signal; not an `Exception`, so that `except Exception` does not catch it."""

    exit_code = TEMPORARY


def raise_at_once() -> None:
    """From now on a signal raises `Interrupted` wherever the program is."""
    _take(_raise)
    if sys.unraisablehook is not _raise_again:
        _hooks.append(sys.unraisablehook)
        sys.unraisablehook = _raise_again
        atexit.register(_forget_alarm)


@contextmanager
def deferred() -> Iterator[None]:
    """In this block a signal is only noted, see `received` and `insist`; at its end it raises."""
    with restored():
        insist()
        yield
    if _received:
        _raise_where_allowed()


@contextmanager
def restored() -> Iterator[None]:
    """After this block signals have the handlers that they had before it, whoever has set others."""
    before = {number: signal.getsignal(number) for number in TAKEN}
    try:
        yield
    finally:
        if in_main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def at_once() -> Iterator[None]:
    """In this part of a `deferred` block a signal raises wherever it is, one that was noted before it as well: for what
    takes long and changes nothing that a savepoint holds."""
    _take(_raise)
    try:
        if _received:
            _raise_where_allowed()
        yield
    finally:
        insist()


@contextmanager
def held() -> Iterator[None]:
    """In this block a signal does not raise yet, but at its end: for code of others, which may hold a lock.

    `concurrent.futures` for one: an exception between the taking of a lock and the `with` that would give it back
    leaves the lock taken, and the process waits for ever.
    """
    global _holding
    if not in_main_thread():
        yield
        return
    _holding += 1
    try:
        yield
    finally:
        _holding -= 1
        if _received:  # also one that came before, in a destructor, and whose alarm rang in this block
            _raise_where_allowed()


@contextmanager
def withheld(*numbers: signal.Signals) -> Iterator[None]:
    """These signals, or all, do not reach the processes that are started in this block, unless they ask for them; those
    to this process wait for its end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers or TAKEN)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def insist() -> None:
    """Note signals again, after a library has put its own handlers in the place of ours."""
    _take(_note)


def received() -> str:
    """The name of the signal that was noted, or nothing."""
    return _received[0].name if _received else ""


def in_main_thread() -> bool:
    """Python takes signals in its main thread only; in other threads (a notebook's executor) nothing is installed."""
    return threading.current_thread() is threading.main_thread()


def follow_parent(*_: object) -> None:
    """Make a helper of a stage leave signals, which a terminal sends to all, to it, and end when it has ended.

    One whose own helper was killed ends as if it were: the stage then says so, and does not take it for a fault.
    """
    for number in TAKEN:
        signal.signal(number, signal.SIG_IGN)
    sys.excepthook = _end_like_a_helper
    die_with_parent(signal.SIGKILL)


def die_with_parent(number: signal.Signals = PASSED_ON) -> None:
    """Get a signal when the process that started this one ends, however it ends; Linux only.

    Otherwise a killed DVC would leave its stage running, and the next `dvc repro` would start a second one. DVC may
    also have been killed while this process was starting: then the parent is a process of another group.
    """
    if is_orphan():
        os.kill(os.getpid(), number)
    if sys.platform != "linux":
        return
    parent = os.getppid()
    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, number, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the line above
        os.kill(os.getpid(), number)


def _end_like_a_helper(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if str(error).startswith(HELPER_KILLED):
        os.kill(os.getpid(), signal.SIGKILL)
    sys.__excepthook__(kind, error, trace)


def _take(handler: Callable[[int, FrameType | None], None]) -> None:
    if in_main_thread():
        for number in TAKEN:
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                signal.signal(number, handler)


def _note(number: int, frame: FrameType | None) -> None:
    global _first
    if _received:
        if number != PASSED_ON and time.monotonic() > _first + SECONDS_OF_ONE:
            os._exit(128 + number)
        return
    _first = time.monotonic()
    _received.append(signal.SIGTERM if number == PASSED_ON else signal.Signals(number))


def _raise(number: int, frame: FrameType | None) -> None:
    is_first = not _received  # the same by another way would raise while the first is made a message
    _note(number, frame)
    if is_first:
        _raise_where_allowed()


def _raise_where_allowed(*_: object) -> None:
    """Raise for the noted signal, unless `held` will, or the training checks `received`."""
    if not _holding and signal.getsignal(_received[0]) is _raise:
        _forget_alarm()
        raise Interrupted(f"stopped by {received()}")


def _raise_again(unraisable: Any) -> None:
    """Python only prints an exception raised in a destructor: raise `Interrupted` a moment later, outside of it."""
    if isinstance(unraisable.exc_value, Interrupted) and in_main_thread():
        if not sys.is_finalizing():
            signal.signal(signal.SIGALRM, _raise_where_allowed)
            signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        _hooks[-1](unraisable)


def _forget_alarm() -> None:
    """Let the alarm of `_raise_again` ring unheard: it would raise a second time, or kill a process that is ending.

    Python takes its handlers away while it shuts down, and a SIGALRM without one ends the process.
    """
    if signal.getsignal(signal.SIGALRM) is _raise_where_allowed:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
