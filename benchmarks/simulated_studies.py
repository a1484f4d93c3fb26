"""Studies of which the truth is known: scores of arms with draws, seeds and test rows, all figures in points.

The scores of a run are the sum of what is true of its arm and of normal deviations, each repeated as in a real study:
of the draw, of the seed (in all arms alike, in all arms of a kind, and in this arm), of the run, and of each test row
in each arm and in each run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from adaptbert.statistics.spread import MADE_ONCE, Runs
from adaptbert.statistics.study import RESAMPLES, ArmRuns, Study, resampled_weights
from adaptbert.tasks.failed_runs import failed

ARMS = ("scratch", "general", "general_long", "domain", "task", "domain_task")
ONCE = ("scratch", "general")
"""Arms whose checkpoint is made once."""
QUESTIONS = {
    "recipe": ("domain_task", "general"),
    "domain_transfer": ("domain", "general"),
    "task_transfer": ("domain_task", "domain"),
    "domain_text": ("domain", "general_long"),
    "pretrain": ("general", "scratch"),
    "more_training": ("general_long", "general"),
}
OF_DOMAIN = ("domain", "domain_task")
"""Arms of one kind: a seed may do the same to both, and another thing to all others."""
ROWS = 1000
CONSTANT = 20.0
"""Score of the constant answer."""


@dataclass(frozen=True)
class World:
    """What is true, and how far it is blurred.

    Attributes:
        arms: of `ARMS`.
        draw: standard deviation of a draw.
        rows: of the difference of two arms, due to the test rows.
        seed: of what a seed does to all arms alike; `seed_by_arm`: to one arm in all its draws; `seed_by_kind`: to all
            arms of a kind.
        rest: of a single run.
        rows_of_run: of one run, due to what rows do to it alone.
        effects: arm -> points beyond the others.
        scatter, scatter_of_runs: arm -> how many times as far apart its draws lie as those of the others; its runs.
        inherited: of what task transfer adds to the draw of domain transfer that it began with; None: the two are
            independent.
        luck: of what a search does to all runs that have its values: those of a draw, also on weights made once.
        one_search: whether all draws of an arm have the values of one search.
        failures: share of runs that end at the constant answer; each is trained once more.
        restarts: whether it is; otherwise it counts as it is.
    """

    draws: int
    seeds: int
    draw: float
    rows: float
    arms: tuple[str, ...] = ARMS
    seed: float = 0.6**0.5
    rest: float = 0.4**0.5
    seed_by_arm: float = 0.0
    seed_by_kind: float = 0.0
    rows_of_run: float = 0.0
    effects: Mapping[str, float] = field(default_factory=dict)
    scatter: Mapping[str, float] = field(default_factory=dict)
    scatter_of_runs: Mapping[str, float] = field(default_factory=dict)
    inherited: float | None = None
    luck: float = 0.0
    one_search: bool = False
    failures: float = 0.0
    restarts: bool = True


@dataclass(frozen=True)
class Simulated:
    """One study.

    Attributes:
        runs: arm -> draw -> seed -> score, between 0 and 1.
        resampled: arm -> draw by draw the scores of its seeds on resampled test rows, (draws, seeds, resamples).
    """

    runs: Mapping[str, Runs]
    resampled: Mapping[str, np.ndarray] | None

    def study(self, confidence: float = 0.95) -> Study:
        """A study as `compare` makes it."""
        resampled = self.resampled or {}
        arms = {
            arm: ArmRuns(runs, list(resampled[arm]) if arm in resampled else None) for arm, runs in self.runs.items()
        }
        return Study(arms, ROWS, confidence, (0.0, 1.0))


@cache
def _weights() -> np.ndarray:
    """Weights of the test rows in each resample; they do not depend on the study."""
    return resampled_weights(range(ROWS)).astype(np.float32) / ROWS


class Simulator:
    """Draws studies."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def scores(self, world: World, studies: int) -> dict[str, np.ndarray]:
        """Arm -> scores of its runs in each study, (studies, draws, seeds), but for what test rows do to them. A run
        that failed twice has none: NaN."""
        normal, shape = self._random.normal, (studies, 1, world.seeds)
        of_seed, of_kind = normal(0, world.seed, shape), normal(0, world.seed_by_kind, (2, *shape))
        searched, scores, of_domain = world.luck > 0 and not world.one_search, {}, np.zeros(1)
        for arm in world.arms:
            once, times = arm in ONCE, world.scatter_of_runs.get(arm, 1.0)
            draws = 1 if once and not searched else world.draws
            of_draw = normal(0, 0 if once else world.draw, (studies, draws, 1)) * world.scatter.get(arm, 1.0)
            if arm == "domain":
                of_domain = of_draw
            if arm == "domain_task" and world.inherited is not None:
                of_draw = of_domain + normal(0, world.inherited, (studies, draws, 1))
            of_arm = 60 + world.effects.get(arm, 0.0) + of_kind[int(arm in OF_DOMAIN)] + of_draw
            of_arm = of_arm + normal(0, world.luck, (studies, draws if searched else 1, 1))
            of_arm = of_arm + times * normal(0, world.seed_by_arm, shape)
            runs = (studies, draws, world.seeds)
            first = of_arm + of_seed + times * normal(0, world.rest, runs)
            if world.failures:
                again = of_arm + normal(0, world.seed, runs) + times * normal(0, world.rest, runs)
                first = self._last(first, again, world)
            scores[arm] = first / 100
        return scores

    def _last(self, first: np.ndarray, again: np.ndarray, world: World) -> np.ndarray:
        """The runs that are counted. One that is trained once more has another seed, in one arm alone."""
        random, fell = self._random, []
        for runs in (first, again):
            collapsed = random.random(runs.shape) < world.failures
            scores = np.where(collapsed, CONSTANT + random.normal(0, 0.2, runs.shape), runs)
            dev = (scores + random.normal(0, world.rest, runs.shape)) / 100
            fell.append((scores, failed(dev, np.zeros(runs.shape, bool), CONSTANT / 100, ROWS)))
        (scores, is_failed), (restarted, failed_again) = fell
        if not world.restarts:
            return scores
        return np.where(is_failed, np.where(failed_again, np.nan, restarted), scores)

    def studies(self, world: World, studies: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Many studies: arm -> scores, as above, and what the bootstrap says of the variance of a difference due to
        test rows, (studies,)."""
        of_rows = self._random.normal(0, world.rows / 2**0.5 / 100, (len(world.arms), studies, 1, 1))
        scores = self.scores(world, studies)
        told = (world.rows / 100) ** 2 * self._random.chisquare(RESAMPLES - 1, studies) / (RESAMPLES - 1)
        return {arm: own + rows for (arm, own), rows in zip(scores.items(), of_rows, strict=True)}, told

    def study(self, world: World) -> Simulated:
        """One study of this world, with the answers to each row."""
        of_rows = self._random.normal(0, world.rows * (ROWS / 2) ** 0.5, (ROWS, len(world.arms))) / 100
        runs: dict[str, Runs] = {}
        by_arm: dict[str, np.ndarray] = {}
        for place, (arm, (scores,)) in enumerate(self.scores(world, 1).items()):
            by_arm[arm] = answers = self._answers(of_rows[:, place], len(scores), world)
            draws = [MADE_ONCE] if arm in ONCE else list(range(1, world.draws + 1))
            rows = scores + answers.mean(0)
            runs[arm] = {draw: dict(enumerate(map(float, row), 1)) for draw, row in zip(draws, rows, strict=True)}
        return Simulated(runs, self._resampled(by_arm, runs) if world.rows or world.rows_of_run else None)

    def _answers(self, of_arm: np.ndarray, draws: int, world: World) -> np.ndarray:
        """Answers of runs to rows: (rows, draws, seeds), or (rows, 1, 1) where all runs of the arm answer alike."""
        if not world.rows_of_run:
            return of_arm[:, None, None]
        own = self._random.normal(0, world.rows_of_run * ROWS**0.5 / 100, (ROWS, draws, world.seeds))
        return np.asarray(of_arm[:, None, None] + own)

    def _resampled(self, answers: Mapping[str, np.ndarray], runs: Mapping[str, Runs]) -> dict[str, np.ndarray]:
        """One product for all arms."""
        columns = np.concatenate([own.reshape(ROWS, -1) for own in answers.values()], 1).astype(np.float32)
        scores = iter((_weights() @ columns).T.astype(np.float64))
        resampled = {}
        for arm, own in answers.items():
            each = np.array([next(scores) for _ in range(own[0].size)]).reshape(*own.shape[1:], -1)
            shape = (len(runs[arm]), len(next(iter(runs[arm].values()))), each.shape[-1])
            resampled[arm] = np.broadcast_to(each, shape)
        return resampled
