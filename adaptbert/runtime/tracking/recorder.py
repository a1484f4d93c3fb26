"""The thread that calls MLflow: calls wait in a queue, and training does not wait for them."""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

SECONDS = 20.0

S = TypeVar("S")


class Recorder(Generic[S]):
    """Makes the calls of one process in their order; after the first that fails, it drops the others.

    `do` does not wait for a call. `wait` waits until all calls so far are made, for at most `seconds` over all its
    calls; then tracking stops. A call that hangs blocks only a daemon thread.

    Args:
        prepare: slow steps outside the time limit, such as imports; called once, by the first thread that logs.
        connect: opens the store.
        fail: called once with the error when tracking stops.
    """

    def __init__(
        self,
        prepare: Callable[[], None],
        connect: Callable[[], S],
        fail: Callable[[Exception], None],
        seconds: float = SECONDS,
    ) -> None:
        self._prepare, self._connect, self._fail = prepare, connect, fail
        self._seconds = self._left = seconds
        self._calls: SimpleQueue[tuple[Callable[[S], object], threading.Event] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._failing = threading.Lock()
        self.failed = False

    def do(self, call: Callable[[S], object]) -> threading.Event:
        """Queue a call of the store; the event is set when it is made or dropped."""
        if self._thread is None:
            try:
                self._prepare()
            except Exception as error:  # no error of the store or the network may stop training
                self._give_up(error)
            self._thread = threading.Thread(target=self._work, name="mlflow", daemon=True)
            self._thread.start()
        done = threading.Event()
        self._calls.put((call, done))
        return done

    def wait(self) -> None:
        """Until every call so far is made, or the time for waiting is used up."""
        if self.failed:
            return
        began = time.monotonic()
        try:
            if not self.do(lambda _store: None).wait(self._left):
                self._give_up(TimeoutError(f"its calls took more than {self._seconds:g} seconds"))
        finally:
            self._left = max(0.0, self._left - (time.monotonic() - began))

    def close(self) -> None:
        """Wait, then end the thread; one that hangs ends with the process."""
        self.wait()
        self._calls.put(None)
        if self._thread is not None and not self.failed:
            self._thread.join()

    def _work(self) -> None:
        store: S | None = None
        while (entry := self._calls.get()) is not None:
            call, done = entry
            if not self.failed:
                try:
                    if store is None:
                        store = self._connect()
                    call(store)
                except Exception as error:  # as above
                    self._give_up(error)
            done.set()

    def _give_up(self, error: Exception) -> None:
        with self._failing:
            if not self.failed:
                self.failed = True
                self._fail(error)
