"""The thread that calls MLflow: what is recorded waits in a queue, and training does not wait for it."""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

SECONDS = 20.0

S = TypeVar("S")


class Recorder(Generic[S]):
    """Makes the calls of one process in their order, and gives all of them up at the first that fails.

    Nobody waits for a call. Those who need that all calls so far are made (`wait`) wait for `seconds` in all, however
    often they ask; then the record is given up. A call that hangs hangs in a thread that the process does not wait for.

    Args:
        prepare: what must not count as waiting, such as imports; called once, by the thread that records first.
        connect: opens the store.
        fail: told why the record was given up, once.
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
        """Call the store when the calls before are through; the event is set then, or when the call was dropped."""
        if self._thread is None:
            try:
                self._prepare()
            except Exception as error:  # whatever the store or the network does must not stop training
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
