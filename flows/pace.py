"""How many of the stages of a flow have ended, and how long the others will take.

Only stages that train count: the others take seconds, or come before all training. What one takes follows from those of
its kind that ended, by the size of their trainings (tokens; seeds times epochs); before one of each kind has ended,
nothing is said. Then the rest of the run is played: the graph, so many jobs side by side.
"""

import time
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from typing import NamedTuple

from adaptbert.config import plan as planning
from adaptbert.config import recipe as recipes
from adaptbert.config.plan import FINETUNE, MEASURE, TRAINED, Plan
from adaptbert.config.recipe import Recipe, budget
from adaptbert.config.schema.bases import GENERAL


class Training(NamedTuple):
    """What a stage trains.

    Attributes:
        kind: trainings of one kind differ in their size alone.
    """

    kind: tuple[str, ...]
    size: float


def trainings(stages: Iterable[str]) -> dict[str, Training]:
    """What these stages train, each a kind of its own if the plan does not know it."""
    recipe, plan = recipes.read(), planning.read()
    return {stage: _training(recipe, plan, *stage.partition("@")[::2]) for stage in stages}


def _training(recipe: Recipe, plan: Plan, stage: str, key: str) -> Training:
    entry = plan.table(stage).get(key) if stage in (*TRAINED, MEASURE) else None
    if entry is None:
        return Training((stage,), 1)
    values = recipe.values(stage, entry.names())
    if stage == MEASURE:
        return Training((stage, entry.base), 1)
    if stage == FINETUNE:
        return Training((stage, entry.base, entry.task), values.epochs * len(values.seeds))
    size, unit = budget(values)
    text = entry.task or entry.corpus or GENERAL if unit == "passes" else ""
    return Training((stage, entry.base, unit, text), max(1, size))  # 0: a checkpoint that is taken as it is


class Pace:
    """The stages of a run.

    Args:
        upstream: those that run -> those of them that each needs.
        trained: what those of them train that train.
        jobs: so many run side by side.
    """

    def __init__(self, upstream: Mapping[str, Sequence[str]], trained: Mapping[str, Training], jobs: int) -> None:
        self._upstream, self._trainings, self._jobs = upstream, trained, jobs
        self._begun: dict[str, float] = {}
        self._ended: set[str] = set()
        self._spent: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
        """Kind -> size and seconds of each that ended."""

    def is_known(self, stage: str) -> bool:
        """Whether one of its kind has begun. A kind of which none has goes first: then the time left can be told soon,
        and what is wrong with it shows early."""
        kinds = {self._trainings[other].kind for other in [*self._begun] if other in self._trainings}
        return stage not in self._trainings or self._trainings[stage].kind in kinds

    def begin(self, stage: str) -> None:
        """It runs from now on."""
        self._begun[stage] = time.monotonic()

    def end(self, stage: str, has_run: bool = True) -> float:
        """It has ended; the seconds that it took.

        Args:
            has_run: False where DVC had its outputs.
        """
        seconds = time.monotonic() - self._begun[stage]
        self._ended.add(stage)
        if has_run and stage in self._trainings:
            training = self._trainings[stage]
            self._spent[training.kind].append((training.size, seconds))
        return seconds

    def __str__(self) -> str:
        left = self.seconds_left()
        return f"{len(self._ended)} of {len(self._upstream)}" + (f", {about(left)} left" if left else "")

    def seconds_left(self) -> float | None:
        """None where a kind of training is still to come of which none has ended."""
        needed = {stage: self._needed(stage) for stage in self._upstream if stage not in self._ended}
        order = TopologicalSorter({stage: [up for up in self._upstream[stage] if up in needed] for stage in needed})
        order.prepare()
        ready, working, now = deque[str](), list[tuple[float, str]](), 0.0
        while order.is_active():
            ready.extend(sorted(order.get_ready(), key=lambda stage: stage not in self._begun))
            while ready and len(working) < self._jobs:
                stage = ready.popleft()
                seconds = needed[stage]
                if seconds is None:
                    return None
                heappush(working, (now + seconds, stage))
            now, stage = heappop(working)
            order.done(stage)
        return now

    def _needed(self, stage: str) -> float | None:
        """Seconds that it will still take, if that can be told."""
        if stage not in self._trainings:
            return 0.0
        kind, size = self._trainings[stage]
        if not self._spent[kind]:
            return None
        rate = sum(seconds for _, seconds in self._spent[kind]) / sum(size for size, _ in self._spent[kind])
        passed = time.monotonic() - self._begun[stage] if stage in self._begun else 0.0
        return max(0.0, size * rate - passed)


def about(seconds: float) -> str:
    """`about 9 minutes`."""
    if seconds < 60:
        return "less than a minute"
    if seconds < 5400:
        return f"about {round(seconds / 60)} minute{'' if seconds < 90 else 's'}"
    return f"about {seconds / 3600:.1f} hours"
