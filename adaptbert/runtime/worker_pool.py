"""Maps a function over many items in worker processes: results in order, a bounded number of items in progress.

Workers are spawned, not forked (threads of libraries do not survive a fork), end with their parent, and leave the
signals of a terminal to it. Their number does not change the results.
"""

import multiprocessing
import os
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import Any, TypeVar

from adaptbert.codes import Code
from adaptbert.core.processes import cores
from adaptbert.errors import BadParams, Temporary
from adaptbert.runtime import signals
from adaptbert.runtime.variables import BATCH_WORKERS, WORKERS, value_of

Item = TypeVar("Item")
Answer = TypeVar("Answer")

FEW = 16
"""Fewest items for which processes are started."""
LONGEST = 75
"""Characters of the folder of temporary files, in which Python makes sockets: their paths have 107 at most, and it adds
32. Where it is longer, who waits for batches waits for ever."""
MOST = 4
"""Default number of processes: each takes memory, and one process reads and writes for all of them."""


_FEWER = "run again; if memory had run out, give more, or set %s to fewer (0: none)"


def workers() -> int:
    """Processes that read and tokenize text: ADAPTBERT_WORKERS, or else one per core where there are several.

    Raises:
        BadParams: the variable is no number.
    """
    there = cores()
    return int(value_of(WORKERS) or (min(there, MOST) if there > 1 else 0))


def batch_workers(default: int) -> int:
    """Processes that make batches for one that trains: ADAPTBERT_BATCH_WORKERS, or else `default`.

    Raises:
        BadParams: the variable is no number, or the path of temporary files is too long for the sockets of processes.
    """
    number, length = int(value_of(BATCH_WORKERS) or default), len(os.fsencode(tempfile.gettempdir()))
    if number and length > LONGEST:
        problem = f"its path has {length} characters, and processes that make batches need one of at most {LONGEST}"
        raise BadParams(Code.BAD_OPTION, "TMPDIR", problem, "write a shorter one, or ADAPTBERT_BATCH_WORKERS=0")
    return number


def in_order(function: Callable[[Item], Answer], items: Iterable[Item], workers: int) -> Generator[Answer, None, None]:
    """`map(function, items)`, by so many processes; in this one where `workers` is 0 or the items are few.

    Close the iterator when it is not read to its end, so that the processes end.

    Args:
        function: sent to each process once, so it must pickle.
        items: read as answers are taken, a few ahead.

    Raises:
        Temporary: a process was killed. What `function` raises is raised here as well.
    """
    source = iter(items)
    first = list(islice(source, FEW)) if workers else []
    if len(first) < FEW:
        yield from map(function, chain(first, source))
        return
    waiting: deque[Future[Any]] = deque()
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, (function,))
    try:
        for item in chain(first, source):
            with signals.held():
                waiting.append(pool.submit(_answer, item))
            if len(waiting) > 2 * workers:
                yield _waited(waiting.popleft())
        while waiting:
            yield _waited(waiting.popleft())
    except BrokenProcessPool:
        problem = f"one of {workers} worker processes was killed"
        raise Temporary(Code.WORKER_LOST, "workers", problem, _FEWER % WORKERS) from None
    finally:
        with signals.held():
            pool.shutdown(cancel_futures=True)


def lost_worker(error: BaseException) -> Temporary | None:
    """The error for users, if a process for batches was killed; else None."""
    if not str(error).startswith(signals.HELPER_KILLED):
        return None
    problem = "a process that makes batches was killed"
    return Temporary(Code.WORKER_LOST, "workers", problem, _FEWER % BATCH_WORKERS)


def _waited(future: Future[Any]) -> Any:
    """The answer, waited for in short stretches, between which a signal raises."""
    while True:
        with signals.held():
            if wait([future], signals.SECONDS_BETWEEN_LOOKS).done:
                return future.result()


_function: Callable[[Any], Any]
"""The function of this worker process."""


def _begin(function: Callable[[Any], Any]) -> None:
    global _function
    _function = function
    signals.follow_parent()


def _answer(item: Any) -> Any:
    return _function(item)
