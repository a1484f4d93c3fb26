"""How many of the stages of a flow have ended, and how long the others will take.

Only stages that train or measure count: the others take seconds, or come before all training. What one takes follows
from its tokens and from those of its kind that ended; while none has, from all of its base. Where the last ones took
longer than their kind did before, as on a machine that has become busy, the others will as well. Then the rest of the
run is played: the graph, so many jobs side by side, as far as the devices have room for them.
"""

import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from fractions import Fraction
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from typing import NamedTuple

from adaptbert.config import plan as planning
from adaptbert.config import recipe as recipes
from adaptbert.config.plan import FINETUNE, MEASURE
from adaptbert.core.english import duration

LAST = 3
"""Stages by which the load of the machine is judged."""


class Training(NamedTuple):
    """What a stage trains.

    Attributes:
        kind: step, base and, of fine-tuning, task; trainings of one kind differ in their tokens alone.
        tokens: none, where a checkpoint is measured.
    """

    kind: tuple[str, str, str]
    tokens: float


def trainings() -> dict[str, Training]:
    """Stage -> what it trains, by the plan."""
    from adaptbert.planning import workload

    recipe, plan = recipes.read(), planning.read()
    measured = {f"{MEASURE}@{key}": Training((MEASURE, each.base, ""), 0) for key, each in plan.measure.items()}
    return measured | {
        f"{each.step}@{key}": Training(
            (each.step, each.base, each.text if each.step == FINETUNE else ""),
            each.tokens * (len(each.values.seeds) if each.step == FINETUNE else 1),
        )
        for each in workload.trainings(recipe, plan, workload.Amounts(recipe))
        if each.tokens
        for key in each.entries
    }


class Pace:
    """The stages of a run.

    Args:
        upstream: those that run -> those of them that each needs.
        trained: what stages train, these and others.
        jobs: so many run side by side.
        parts: of all devices, that stages take, from 0 to 1.
    """

    def __init__(
        self,
        upstream: Mapping[str, Sequence[str]],
        trained: Mapping[str, Training],
        jobs: int,
        parts: Mapping[str, Fraction] | None = None,
    ) -> None:
        self._upstream, self._trainings, self._jobs, self._parts = upstream, trained, jobs, parts or {}
        self._begun: dict[str, float] = {}
        self._ended: set[str] = set()
        self._spent = defaultdict[tuple[str, str, str], list[tuple[float, float]]](list)
        """Kind -> tokens and seconds of each that ended, at the load of the first of its kind."""
        self._last = deque[tuple[float, float]](maxlen=LAST)
        """Seconds that the last stages took, and those that were usual for them."""

    def is_known(self, stage: str) -> bool:
        """Whether one of its kind has begun. A kind of which none has goes first: then the time left is known soon,
        and what is wrong with it shows early."""
        kinds = {self._trainings[other].kind for other in [*self._begun] if other in self._trainings}
        return stage not in self._trainings or self._trainings[stage].kind in kinds

    def begin(self, stage: str) -> None:
        """Notes that a stage runs from now on."""
        self._begun[stage] = time.monotonic()

    def end(self, stage: str, has_run: bool = True) -> float:
        """Notes that a stage has ended; returns the seconds that it took.

        Args:
            has_run: False where DVC had its outputs.
        """
        seconds = time.monotonic() - self._begun[stage]
        self._ended.add(stage)
        if has_run and stage in self._trainings:
            kind, tokens = self._trainings[stage]
            usual = self._usual(stage)
            if usual and kind in self._spent:
                self._last.append((seconds, usual))
            self._spent[kind].append((tokens, seconds / self._load))
        return seconds

    def __str__(self) -> str:
        left = self.seconds_left()
        return f"{len(self._ended)} of {len(self._upstream)}" + (f", {duration(left)} left" if left else "")

    def seconds_left(self) -> float | None:
        """Seconds left; None where no training of some base has ended."""
        needed = {stage: self._needed(stage) for stage in self._upstream if stage not in self._ended}
        order = TopologicalSorter({stage: [up for up in self._upstream[stage] if up in needed] for stage in needed})
        order.prepare()
        ready, working, now, free = deque[str](), list[tuple[float, str]](), 0.0, Fraction(1)
        while order.is_active():
            ready.extend(sorted(order.get_ready(), key=lambda stage: stage not in self._begun))
            while ready and len(working) < self._jobs and self._parts.get(ready[0], 0) <= free:
                stage = ready.popleft()
                free -= self._parts.get(stage, 0)
                seconds = needed[stage]
                if seconds is None:
                    return None
                heappush(working, (now + seconds, stage))
            now, stage = heappop(working)
            free += self._parts.get(stage, 0)
            order.done(stage)
        return now

    def _needed(self, stage: str) -> float | None:
        """Seconds that a stage will still take, if that is known."""
        usual = self._usual(stage) if stage in self._trainings else 0.0
        passed = time.monotonic() - self._begun[stage] if stage in self._begun else 0.0
        return None if usual is None else max(0.0, usual * self._load - passed)

    def _usual(self, stage: str) -> float | None:
        """Seconds that a stage would take at the load of the first of its kind."""
        kind, tokens = self._trainings[stage]
        alike = self._spent.get(kind, [])
        if not tokens:
            return sum(seconds for _, seconds in alike) / max(1, len(alike))
        of_base = [each for (_, base, _), spent in self._spent.items() if base == kind[1] for each in spent]
        ended = alike or [(trained, seconds) for trained, seconds in of_base if trained]
        return tokens * sum(seconds for _, seconds in ended) / sum(trained for trained, _ in ended) if ended else None

    @property
    def _load(self) -> float:
        """How many times as long as usual the last stages took."""
        took, usual = (sum(each) for each in zip(*self._last, strict=True)) if self._last else (1.0, 1.0)
        return took / usual
