"""The map of adaptbert.runtime.worker_pool on a Ray cluster: the same answers in the same order."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeVar

from adaptbert.codes import Code
from adaptbert.errors import TEMPORARY, UserError
from adaptbert.runtime import cluster, signals

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class MachineLost(UserError):
    """A process on the cluster was lost more often than Ray starts it again."""

    exit_code = TEMPORARY


def in_order(function: Callable[[Item], Answer], items: Iterable[Item]) -> Generator[Answer, None, None]:
    """`map(function, items)` by the cores of the cluster; Ray gives the items of a lost machine to another one.

    Args:
        function: sent to the cluster once, so it must pickle.
        items: read as answers are taken, two ahead for each core of the cluster.

    Raises:
        MachineLost: an item cost several processes. What `function` raises is raised here as well.
    """
    with signals.held():
        ray = cluster.connected()
        answer = ray.remote(_answer)
        sent = ray.put(function)
        ahead = 2 * max(1, int(ray.cluster_resources().get("CPU", 0)))
    waiting: deque[Any] = deque()
    try:
        for item in items:
            with signals.held():
                waiting.append(answer.remote(sent, item))
            if len(waiting) > ahead:
                yield _result(ray, waiting.popleft())
        while waiting:
            yield _result(ray, waiting.popleft())
    finally:
        with signals.held():
            for task in waiting:
                ray.cancel(task)


def _answer(function: Callable[[Any], Any], item: Any) -> Any:
    return function(item)


def _result(ray: Any, task: Any) -> Any:
    """The result of a task, waited for in short stretches, between which a signal raises."""
    while True:
        with signals.held():
            if not ray.wait([task], timeout=signals.SECONDS_BETWEEN_LOOKS)[0]:
                continue
            try:
                return ray.get(task)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError as error:
                problem = f"a process on the cluster was lost: {str(error).strip().splitlines()[0]}"
                remedy = f"give more memory, or unset {cluster.VARIABLE}, and run again"
                raise MachineLost(Code.WORKER_LOST, "workers", problem, remedy) from None
