"""Studies of which the truth is known: scores of six arms with draws, seeds and test rows, all figures in points.

The scores of a run are the sum of what is true of its arm and of normal deviations, each repeated as in a real study:
of the draw, of the seed (in all arms alike), of the seed in this arm, of the run, and of each test row in each arm.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from adaptbert.comparison.statistics.rows import RowSpread, resampled_weights
from adaptbert.comparison.statistics.spread import MADE_ONCE, Runs
from adaptbert.comparison.statistics.study import Study

ARMS = ("scratch", "general", "general_long", "domain", "task", "domain_task")
ONCE = ("scratch", "general")
"""Arms whose rung is made once."""
QUESTIONS = {
    "pretrain": ("general", "scratch"),
    "more_training": ("general_long", "general"),
    "domain_transfer": ("domain", "general"),
    "domain_text": ("domain", "general_long"),
    "task_transfer": ("task", "general"),
    "task_transfer_after_domain": ("domain_task", "domain"),
    "climb": ("domain", "scratch"),
}
PRIMARY = ("domain_text", "task_transfer_after_domain")
ROWS = 1000


@dataclass(frozen=True)
class World:
    """What is true, and how far it is blurred.

    Attributes:
        draw: standard deviation of a draw.
        seed: of a run with another seed, of which `common` is the share of the variance that all arms have alike.
        seed_by_arm: of what a seed does to one arm in all its draws.
        rows: of the difference of two arms, due to the test rows.
        effects: arm -> points beyond the others.
        scatter: arm -> how many times as far apart its draws and runs lie as those of the others.
    """

    draws: int
    seeds: int
    draw: float
    rows: float
    seed: float = 1.0
    common: float = 0.6
    seed_by_arm: float = 0.0
    effects: Mapping[str, float] = field(default_factory=dict)
    scatter: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Simulated:
    """One study.

    Attributes:
        runs: arm -> draw -> seed -> score, between 0 and 1.
        resampled: arm -> its score on resampled test rows.
    """

    runs: Mapping[str, Runs]
    resampled: Mapping[str, np.ndarray] | None

    def study(self, confidence: float = 0.95) -> Study:
        """As `compare` makes it."""
        rows = RowSpread(self.resampled, ROWS) if self.resampled is not None else None
        return Study(self.runs, rows, confidence, (0.0, 1.0))


class Simulator:
    """Draws studies. The resampled weights of the test rows are made once: they do not depend on the study."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._weights = resampled_weights(range(ROWS)).astype(np.float32) / ROWS

    def study(self, world: World) -> Simulated:
        """One study of this world."""
        random, of_seed = self._random, self._random.normal(0, world.seed * world.common**0.5, world.seeds)
        of_rows = random.normal(0, world.rows * (ROWS / 2) ** 0.5, (ROWS, len(ARMS))) / 100
        resampled = (self._weights @ of_rows.astype(np.float32)).astype(np.float64) if world.rows else None
        runs: dict[str, Runs] = {}
        for place, arm in enumerate(ARMS):
            draws = [MADE_ONCE] if arm in ONCE else list(range(1, world.draws + 1))
            of_draw = np.zeros(1) if arm in ONCE else random.normal(0, world.draw, world.draws)
            rest = random.normal(0, world.seed * (1 - world.common) ** 0.5, (len(draws), world.seeds))
            own = world.scatter.get(arm, 1.0) * (
                of_draw[:, None] + random.normal(0, world.seed_by_arm, world.seeds) + rest
            )
            points = 60 + world.effects.get(arm, 0.0) + of_seed + own
            scores = points / 100 + of_rows[:, place].mean()
            runs[arm] = {draw: dict(enumerate(map(float, row), 1)) for draw, row in zip(draws, scores, strict=True)}
        if resampled is None:
            return Simulated(runs, None)
        return Simulated(runs, {arm: resampled[:, place] for place, arm in enumerate(ARMS)})
