"""What a design (replicates, seeds, test rows) will show, before it is trained: lines of `new`, `plan` and `check`."""

import math
from collections.abc import Iterator, Sequence
from statistics import median

from adaptbert.comparison.questions import answered, asked
from adaptbert.config.plan import FINETUNE
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.task_types import TARGETS
from adaptbert.planning.rules import arms_of_tasks
from adaptbert.planning.workload import Training
from adaptbert.statistics.intervals import FEWEST_SEEDS
from adaptbert.statistics.known_spreads import CLASSES, TAGS
from adaptbert.statistics.power import MOST_REPLICATES, MOST_SEEDS, Power, cheapest
from adaptbert.statistics.spread import Layout

FEWEST_REPLICATES = 2
"""Fewest of a verdict on a step."""
TRIED = (FEWEST_REPLICATES, 3, 5, 8, MOST_REPLICATES)
"""Replicates of the designs that are compared: a power takes some milliseconds on each set."""
LARGE = 0.05
"""A difference that `new --minutes` wants to be shown on a set of middling spread; of the nine gains of the recipe that
were measured, six were smaller (docs/decisions/0045-designs-before-training.md)."""


class Designs:
    """The designs of a task, by the spreads that sets of its kind had, or all sets where there is none.

    Attributes:
        planned: replicates and seeds of params.yaml; `now`: the same, or the fewest of a verdict.
        rows: of the test split.
        is_judged: whether these are known, and a question about trained steps is asked.
    """

    def __init__(self, recipe: Recipe, planned: Sequence[Training], task: str) -> None:
        compare, finetune = recipe.compare, [each for each in planned if each.step == FINETUNE]
        first = next(each for each in finetune if each.text == task)
        _, arms, compared = next(each for each in arms_of_tasks(recipe) if each[0] == task)
        questions = asked(answered(arms, arms.keys() - compared, compare), compare.order)
        sides = [(arms[pair.arm], arms[pair.other]) for pair in questions]
        pairs_of_steps = [each for each in sides if each[0].is_random == each[1].is_random]
        first_pair = next((each for each in pairs_of_steps if each[0].steps or each[1].steps), ())
        steps = [each.steps for each in first_pair] or [(), ()]
        steps += [each.steps for each in arms.values() if each not in first_pair]
        one, other, *others = (int(bool(each)) for each in steps)
        self._layout = Layout((one, other), FEWEST_SEEDS, tuple(others))
        self._planned = planned
        self._level = (1 - compare.confidence) / len({(each.text, each.base) for each in finetune})
        self.planned = compare.replicates, len(first.values.seeds)
        self.now = max(self.planned[0], FEWEST_REPLICATES), max(self.planned[1], FEWEST_SEEDS)
        self.rows = first.amount.test_rows if first.amount else 0
        self.is_judged = any(self._layout.replicates) and self.rows > 1
        sets = {"row": CLASSES, "word": TAGS, None: {**CLASSES, **TAGS}}
        self._spreads = sets[TARGETS[recipe.tasks[task].spec.target].classes].values()

    def powers(self, replicates: int, seeds: int) -> list[Power]:
        """Power of a design on each of the sets."""
        layout = self._layout.repeated(replicates, seeds)
        return [each.power(layout, self.rows, self._level) for each in self._spreads]

    def cheapest(self, difference: float, among: Sequence[int]) -> tuple[int, int] | None:
        """Replicates, of these, and seeds that show a difference on half of the sets and take the fewest tokens; None
        where none of those considered does."""

        def power(replicates: int, seeds: int) -> float:
            return median(each.of(difference) for each in self.powers(replicates, seeds))

        return cheapest(power, self._tokens, among, FEWEST_SEEDS)

    def needed(self, difference: float, minutes: float | None) -> str:
        """What would show a difference on half of the sets."""
        of_rows = median(power.of_rows_alone for power in self.powers(*self.now))
        if of_rows >= difference:
            return f"at least {100 * math.ceil(self.rows * (of_rows / difference) ** 2 / 100):,} test rows"
        if (design := self.cheapest(difference, TRIED)) is None:
            return f"more than {MOST_REPLICATES} replicates and {MOST_SEEDS} seeds"
        times = self._tokens(*design) / max(1, self._tokens(*self.planned))
        took = (
            f"{times:.1f} times the tokens of this plan" if minutes is None else f"about {minutes * times:,.0f} minutes"
        )
        return f"`replicates: {design[0]}` and `seeds: {design[1]}`, {took}"

    def _tokens(self, replicates: int, seeds: int) -> float:
        total = 0.0
        for each in self._planned:
            runs = sum(replicates if entry.replicate else 1 for entry in each.entries.values() if entry.replicate < 2)
            total += (each.tokens or 0) * runs * (seeds if each.step == FINETUNE else 1)
        return total


def lines(recipe: Recipe, planned: Sequence[Training], minutes: float | None = None) -> Iterator[str]:
    """What the design of each task shows, what the smallest gain worth having would take, and that of several tasks
    the mean comes first.

    Args:
        minutes: of all training; None: not measured.
    """
    gain = recipe.compare.min_gain
    for task, design in [(task, Designs(recipe, planned, task)) for task in recipe.tasks]:
        if design.is_judged:
            replicates, seeds = design.now
            shown = [each.detectable or math.inf for each in design.powers(replicates, seeds)]
            fewest = "" if design.now == design.planned else " (the fewest of a verdict; planned: {} and {})"
            is_grouped = "group" in (recipe.tasks[task].columns or {})
            as_if = " (as if each were of a group of its own; of fewer groups it shows less)" if is_grouped else ""
            yield (
                f"{task}, first question: a study of {replicates} replicates, {seeds} seeds"
                f"{fewest.format(*design.planned)} and {design.rows:,.0f} test rows{as_if} finds a gain four times "
                f"in five if it is at least {_points(min(shown))} where runs vary little, {_points(max(shown))} where "
                f"they vary much (of {len(shown)} sets that were studied); on half of them {gain:g} "
                f"point{'' if gain == 1 else 's'} would take {design.needed(gain / 100, minutes)}"
            )
    if len({task.target for task in recipe.tasks.values()}) < len(recipe.tasks):
        yield (
            "where one metric compares several tasks, their mean is asked about first and shows smaller gains; until "
            "it shows a gain or a loss, a task alone needs a larger one than said here"
        )


def _points(difference: float) -> str:
    """A gain; one beyond the range of scores is none."""
    return f"{100 * difference:.1f} points" if difference < 1 else "more than 100 points (none)"
