"""Signals that end the flow of this process: stages save their state, none starts, and the same command goes on.

A Prefect worker has its own way of ending a flow; there nothing of this is at work.
"""

import signal
import sys
from contextlib import suppress
from threading import Event
from types import FrameType

from adaptbert.errors import TEMPORARY
from flows.stage_process import StageFailed, stop_all

MESSAGE = "interrupted; the same command goes on from here"

_taken = Event()
_received = Event()


class Interrupted(StageFailed):
    """A signal came; what has not started does not."""

    def __init__(self) -> None:
        super().__init__(MESSAGE, TEMPORARY)


def take_signals() -> None:
    """From now on the first signal is noted. A second one ends this process at once."""
    _taken.set()
    signal.signal(signal.SIGINT, _of_all)
    signal.signal(signal.SIGHUP, _of_all)
    insist()


def insist() -> None:
    """Note SIGTERM again, where signals were taken: Prefect has put a handler of its own around the flow."""
    if _taken.is_set() and not received():
        signal.signal(signal.SIGTERM, _of_this_process)


def received() -> bool:
    return _received.is_set()


def check() -> None:
    """Raise `Interrupted` if a signal came: between two stages nothing else would say so."""
    if received():
        raise Interrupted


def _of_all(number: int, frame: FrameType | None) -> None:
    """A terminal sends it to the stages as well: they save their state and end, and so does the flow.

    The temporary server ends too, so the flow cannot report its state.
    """
    _note(number)


def _of_this_process(number: int, frame: FrameType | None) -> None:
    """Whoever ends a process ends this one alone: the stages hear of it from here."""
    _note(number)
    stop_all()


def _note(number: int) -> None:
    for other in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(other, signal.default_int_handler if other is signal.SIGINT else signal.SIG_DFL)
    _received.set()
    with suppress(OSError):  # the terminal was closed
        print("interrupted: stages save their state ...", file=sys.stderr)
