"""What a change of names makes run, by the entries of ladder.yaml that are new or different."""

from typing import Any

from adaptbert.base.expansion import Expansion


def counted(number: int, what: str) -> str:
    """`1 rung`, `2 rungs`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def will_run(before: Expansion, after: Expansion, *, reads: int | None = None) -> str:
    """The stages that `dvc repro` runs after names have changed.

    Args:
        reads: labelled sets that are read anew; None: the sets are the same as before.
    """
    old: dict[str, dict[str, Any]] = before.model_dump()
    new: dict[str, dict[str, Any]] = after.model_dump()
    changed = {stage: sum(old[stage].get(key) != entry for key, entry in new[stage].items()) for stage in new}
    first = []
    if reads is not None:
        first = [*([f"{reads} x collect_task"] if reads else []), "validate"]
        # The dev rows of every set are held-out text of every start; the tokenised corpora stay the same bytes.
        changed |= {"tokenize": len(after.tokenize), "measure": len(after.measure)}
    rest = [f"{count} x {stage}" for stage, count in changed.items() if count]
    return f"dvc repro will run: {', '.join([*first, *rest, 'compare'])}"
