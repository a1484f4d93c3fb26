"""What a plan trains, and how long each training is: lines of `adaptbert plan`, and what its notices and prices are
made of."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from adaptbert.comparison.records import Comparison
from adaptbert.config.plan import FINETUNE, TRAINED, Entry, Plan
from adaptbert.config.recipe import Recipe, budget
from adaptbert.config.schema.bases import DOMAIN_TRANSFER, GENERAL
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.config.schema.mlm import MlmStep
from adaptbert.errors import UserError
from adaptbert.project.amounts import Amount, Amounts
from adaptbert.project.notebook import COMPARISON
from adaptbert.training.document_stream import steps_of


class Training(NamedTuple):
    """A step on one text or task from one base with some values: all checkpoints or cells of these.

    Attributes:
        entries: key in the plan -> entry.
        values: of its section.
        amount: of its text or task; None where that cannot be read.
        tokens: of one training, of a cell of one seed on all its labels; None where nothing is known of the text.
        steps: optimizer steps of the same.
    """

    step: str
    text: str
    base: str
    entries: dict[str, Entry]
    values: Any
    amount: Amount | None
    tokens: float | None
    steps: int | None

    @property
    def is_exact(self) -> bool:
        """Whether its length depends on no estimate."""
        return (self.step != FINETUNE and budget(self.values)[1] != "passes") or bool(
            self.amount and self.amount.is_exact
        )

    def __str__(self) -> str:
        if self.step == FINETUNE:
            length = f"{len(self.values.seeds)} seeds of {self.values.epochs:g} epochs"
        elif self.tokens is None or self.steps is None:
            length = "{:,} {}".format(*budget(self.values))
        else:
            about = "" if self.is_exact else "about "
            tokens = round(self.tokens, 0 if self.is_exact else 2 - len(str(round(self.tokens))))
            length = f"{about}{tokens:,.0f} tokens, {self.steps:,} steps"
        return f"{self.step:16} {self.text:16} {self.base:12} {len(self.entries):4} x {length}"


def trainings(recipe: Recipe, plan: Plan, amounts: Amounts) -> list[Training]:
    """In the order of training; a checkpoint that is taken as it is has none."""
    found: dict[tuple[str, ...], Training] = {}
    for step in TRAINED:
        for key, entry in plan.table(step).items():
            values, text = recipe.values(step, entry.names()), entry.task or entry.corpus or GENERAL
            kind = (step, text, entry.base, values.model_dump_json())
            if kind not in found and (step == FINETUNE or budget(values)[0]):
                of_text = amounts.task if entry.task else amounts.corpus
                amount = of_text(text, entry.base)
                length = _of_task(values, amount) if step == FINETUNE else _of_text(step, text, values, amount)
                found[kind] = Training(step, text, entry.base, {}, values, amount, *length)
            if kind in found:
                found[kind].entries[key] = entry
    return [*found.values()]


def _of_text(step: str, text: str, values: MlmStep, amount: Amount | None) -> tuple[float | None, int | None]:
    """Tokens and optimizer steps of a step of masked-language modelling; `MlmStep` says what a budget is."""
    size, unit = budget(values)
    if unit == "passes" and amount is None:
        return None, None
    tokens: float = size
    if unit == "passes" and amount is not None:
        replayed = getattr(values, "replay_fraction", 0.0) if step == DOMAIN_TRANSFER and text != GENERAL else 0.0
        tokens = size * amount.tokens / (1 - replayed)
    steps = size if unit == "steps" else steps_of(tokens, values.global_batch_tokens)
    steps += values.head_warmup_steps
    return (tokens if unit == "tokens" and not values.head_warmup_steps else steps * values.global_batch_tokens), steps


def _of_task(values: Finetune, amount: Amount | None) -> tuple[float | None, int | None]:
    if amount is None:
        return None, None
    rows, length = min(values.labels or amount.rows, amount.rows), amount.tokens / amount.rows
    length = length if values.long_text == "windows" else min(length, values.max_length)
    return values.epochs * rows * length, steps_of(values.epochs * rows, values.global_batch_size)


def other_arms(planned: Plan) -> Iterator[str]:
    """A line for each task whose next comparison has other arms than the last: over all the spread is pooled."""
    if not COMPARISON.is_file():
        return
    try:
        judged = Comparison.read(COMPARISON).tasks
    except UserError:  # of an older version; `compare` writes it anew
        return
    for task in judged:
        before = {arm.name for arm in task.arms}
        arms = {cell.arm for cell in planned.finetune.values() if (cell.task, cell.base) == (task.task, task.base)}
        if arms and (other := arms ^ before):
            yield (
                f"{task.name}: {', '.join(sorted(other))}: an arm more or less than in the last comparison changes all "
                "its intervals a little, because the spread of replicates and seeds is pooled over the arms of a task"
            )
