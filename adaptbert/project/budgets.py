"""`adaptbert new --minutes`: how long a recipe takes here, and budgets with which it takes less.

Tokens of the steps before fine-tuning are scaled alike, down to where they are steps enough to learn from
(adaptbert.project.training_length); where that is still too long, labels are.
"""

from collections.abc import Callable, Mapping
from typing import Any

from adaptbert.config import plan_file
from adaptbert.config.plan import FINETUNE
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import DOMAIN_TRANSFER, GENERAL
from adaptbert.project import fitting, price, speed, training_length
from adaptbert.project.amounts import Amounts
from adaptbert.project.trainings import Training, trainings

Values = Mapping[str, Mapping[str, Any]]
"""Step -> what differs from its defaults."""
SECONDS = 3.0
"""Of measuring: less exact than `plan --price`."""
SHARES = tuple(share / 100 for share in (100, 90, 80, 70, 60, 50, 40, 30, 25, 20, 15, 12, 10, 8, 6, 5, 4, 3, 2, 1, 0))


class Budgets:
    """Of one recipe, all of which is due.

    Args:
        recipe: of the values.
        values: as they would be written.
    """

    def __init__(self, recipe: Callable[[Values], Recipe], values: Values) -> None:
        self._recipe, self._values, first = recipe, values, recipe(values)
        self._amounts, self._plan = Amounts(first, with_outputs=False), plan_file.expand(first)
        self._due = plan_file.stages_of(self._plan)
        self._planned = self._trainings(values)
        self._speeds = speed.measured(first, self._planned, SECONDS)

    def minutes(self, values: Values) -> float:
        """Of the whole recipe."""
        return price.minutes(price.prices(self._trainings(values), self._due, self._speeds), self._due, self._speeds)

    def within(self, minutes: float) -> Values:
        """The values with which it takes so long at most; if none are, those with which it takes least."""
        values = self._values
        for tokens, labels in [*((share, 1.0) for share in SHARES), *((0.0, share) for share in SHARES)]:
            values = self._scaled(tokens, labels) if (tokens, labels) != (1.0, 1.0) else self._values
            if self.minutes(values) <= minutes:
                break
        return values

    def _trainings(self, values: Values) -> list[Training]:
        return trainings(self._recipe(values), self._plan, self._amounts)

    def _scaled(self, tokens: float, labels: float) -> Values:
        """With these shares of tokens and labels; nothing that is enough now becomes too few."""
        scaled = {step: dict(values) for step, values in self._values.items()}
        for each in self._planned:
            if each.step == FINETUNE:
                scaled[FINETUNE] |= self._labels(each, labels)
            elif each.tokens and (each.step, each.text) != (DOMAIN_TRANSFER, GENERAL):  # it gets what the domain gets
                batch = max(fitting.SMALLEST_BATCH, each.values.block_size)
                least = min(each.tokens, training_length.FEWEST_MLM_STEPS * batch)
                amount = _rounded_up(max(least, tokens * each.tokens))
                size = max(batch, fitting.batch(amount, each.values.global_batch_tokens))
                keys = [
                    key for key in ("global_batch_tokens", "micro_batch_tokens") if size < getattr(each.values, key)
                ]
                scaled[each.step] |= {"tokens": amount, **dict.fromkeys(keys, size)}
        return scaled

    def _labels(self, training: Training, share: float) -> dict[str, int]:
        if share == 1 or training.amount is None:
            return {}
        least = training_length.needed(training) * training.values.global_batch_size / training.values.epochs
        rows = _rounded_up(max(min(least, training.amount.rows), share * training.amount.rows))
        return {"labels": rows} if rows < training.amount.rows else {}


def _rounded_up(number: float) -> int:
    """To two digits."""
    unit = 10 ** max(0, len(str(int(number))) - 2)
    return int(-(-number // unit) * unit)
