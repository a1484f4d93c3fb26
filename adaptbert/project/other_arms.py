"""What a comparison with other arms than the last one changes: told before training."""

from collections.abc import Iterator

from adaptbert.comparison.records import Comparison
from adaptbert.config.plan import Plan
from adaptbert.errors import UserError
from adaptbert.project.notebook import COMPARISON


def notices(planned: Plan) -> Iterator[str]:
    """A line for each task whose next comparison has other arms than the last: over all the spread is pooled."""
    try:
        judged = Comparison.read(COMPARISON).tasks if COMPARISON.is_file() else []
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
