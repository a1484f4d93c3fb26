"""The tokens that all rungs below a cell are trained on, by their budgets: a parameter of its run."""

from collections.abc import Mapping
from typing import Any

from adaptbert.base.plan import SCRATCH, Plan
from adaptbert.runtime.params import blocks

NAMES = {
    "pretrain": ("start",),
    "domain_transfer": ("start", "corpus"),
    "task_transfer": ("start", "task"),
}
"""Section -> the names of a rung that can have a block in it, later ones winning, as in its stage."""


def planned_tokens(document: Mapping[str, Any], plan: Plan, rung: str) -> int | None:
    """The sum over a rung and all below it; None where a budget is in passes or steps.

    Args:
        document: params.yaml, checked.
        rung: its folder below models/.
    """
    total, below = 0, plan.starts_of_rungs()
    here: str | None = rung
    while here is not None and not here.startswith(f"{SCRATCH}/"):
        stage, _, key = here.partition("/")
        names = getattr(plan, stage)[key].names()
        budget = blocks.in_force(document[stage], [names[name] for name in NAMES[stage]])["budget"]
        if budget.get("tokens") is None:
            return None
        total += budget["tokens"]
        here = below[here]
    return total
