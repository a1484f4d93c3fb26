"""The comparison as plain text in aligned columns, all scores times 100.

python -m adaptbert.report.text_table metrics/comparison.json
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from adaptbert.comparison.amounts import amount, at_least
from adaptbert.comparison.records import Comparison, Cost, Ranking, Task
from adaptbert.errors import UserError
from adaptbert.report.language import MINUS, change, points
from adaptbert.report.terms import STANDS, VERDICTS
from adaptbert.statistics.intervals import FEWEST_SEEDS, Difference, Interval
from adaptbert.statistics.verdicts import ADJUSTMENT


def comparison_table(comparison: Comparison) -> str:
    """Arms and baselines of each task, the steps between them, the bases, bits per character."""
    totals = {each.name: each.first.total for each in comparison.checkpoints}
    parts = [_task(task, totals) for task in comparison.tasks]
    for ranking in comparison.rankings:
        tasks = {task.base: task for task in comparison.tasks if task.task == ranking.task}
        parts.append(_bases(ranking, tasks, totals))
    return "\n\n".join([*parts, _bits(comparison)])


def _task(task: Task, totals: dict[str, Cost | None]) -> str:
    several = max((sum(number > 0 for number in arm.by_replicate) for arm in task.arms), default=0) > 1
    seeds = "seeds; draws separated by |" if several else "seeds"
    rows = [[task.name, task.metric, "interval", seeds, "tokens", "TFLOP"]]
    for arm in task.arms:
        if arm.interval is None:
            rows.append([arm.name, "missing", "", "", "", ""])
            continue
        seeds = " | ".join(" ".join(map(_points, scores.values())) for scores in arm.by_replicate.values())
        if arm.degenerate:
            seeds += f" ({len(arm.degenerate)} of one class only)"
        rows.append([arm.name, *_score(arm.interval), seeds, *_cost(totals[arm.checkpoint])])
    fitted = f"(fitted on the first {task.baseline_rows:,} rows)" if task.baseline_rows < task.labels else ""
    rows += [[name, *_score(interval), fitted, "", ""] for name, interval in task.baselines.items()]
    steps = [["step", "difference", "interval", f"{ADJUSTMENT} p", "verdict"]]
    for step in task.steps:
        name = f"{step.name} ({step.arm} - {step.other})"
        steps.append([name, *_answer(step.difference, step.p_holm), VERDICTS[step.verdict].en])
    tables = [aligned(rows, left=(0, 3))]
    if any(0 < len(arm.scores) < FEWEST_SEEDS for arm in task.arms):
        tables[0] += "\n(an interval needs three seeds)"
    own = dict.fromkeys(arm for step in task.steps for arm in step.own_values)
    note = f"\n(fine-tuned with values of its own: {', '.join(own)})" if own else ""
    tables.append(aligned(steps, left=(0, 4)) + note if task.steps else "no step was compared")
    return "\n\n".join(tables)


def _bases(ranking: Ranking, tasks: dict[str, Task], totals: dict[str, Cost | None]) -> str:
    """A row for each arm and base; in the order of the arm that ranks them, by its dev scores."""
    rows = [["arm", "start", ranking.metric, "interval", f"minus {ranking.order[0]}", "interval", f"{ADJUSTMENT} p"]]
    rows[0] += ["tokens", "TFLOP", ""]
    for each in ranking.arms:
        for standing in each.standings:
            score = ["missing", ""] if standing.interval is None else _score(standing.interval)
            answer = _answer(standing.difference, standing.p_holm)
            arm = tasks[standing.base].arm(each.arm)
            cost = _cost(totals[arm.checkpoint] if arm is not None and not arm.missing else None)
            verdict = "" if standing.verdict is None else STANDS[standing.verdict].en
            rows.append([each.arm, standing.base, *score, *answer, *cost, verdict])
    dev = ", ".join(f"{base} {_points(score)}" for base, score in ranking.dev.items())
    notes = [f"{ranking.task}: starts in the order of their dev scores in the arm {ranking.arm} ({dev})"]
    if others := [arm.arm for arm in ranking.arms if not arm.same_tokens]:
        notes.append(f"tokens differ in {', '.join(others)}")
    if ranking.replicates[1] == 1:
        notes.append("one draw of each rung: nothing is said of another training")
    return f"{'; '.join(notes)}\n{aligned(rows, left=(0, 1, 9))}"


def _bits(comparison: Comparison) -> str:
    measured = [each for each in comparison.checkpoints if each.missing or each.after]
    heldout = list(dict.fromkeys(name for each in measured for name in each.after))
    rows = [["bits per character on held-out text", *heldout]]
    for each in measured:
        after = each.after
        rows.append([each.name, *(f"{after[name]:.3f}" if name in after else "missing" for name in heldout)])
    note = "\n(per character and not per token, so starts with different tokenizers can be compared)"
    return aligned(rows, left=(0,)) + note * (len(comparison.bases) > 1)


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """Columns of equal width, a rule below the first row; the columns in `left` are set left, the others right."""
    from rich.cells import cell_len, set_cell_size

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            set_cell_size(cell, width) if column in left else " " * (width - cell_len(cell)) + cell
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(cell_len, lines)), *lines[1:]])


def _score(interval: Interval) -> list[str]:
    """A mean and its interval."""
    if interval.low is None or interval.high is None:
        return [_points(interval.mean), ""]
    return [_points(interval.mean), f"{_points(interval.low)} to {_points(interval.high)}"]


def _cost(cost: Cost | None) -> list[str]:
    """Tokens and TFLOP; empty where they are unknown."""
    return ["", ""] if cost is None else [f"{cost.tokens:,}", amount(cost.tflop)]


def _answer(difference: Difference | None, p_holm: float | None) -> list[str]:
    """A difference, its interval, its p-value."""
    if difference is None:
        return ["", "", ""]
    low, high, p = difference.low, difference.high, "" if p_holm is None else at_least(max(p_holm, LEAST_P), 3)
    return [_change(difference.mean), "" if low is None or high is None else f"{_change(low)} to {_change(high)}", p]


LEAST_P = 1e-9
"""No p-value is 0: one that is too small for a number is written as `<0.001`, too."""


def _points(score: float) -> str:
    return points(score).replace(MINUS, "-")


def _change(difference: float) -> str:
    return change(difference).replace(MINUS, "-")


if __name__ == "__main__":
    try:
        print(comparison_table(Comparison.read(Path(sys.argv[1]))))
    except UserError as error:
        sys.exit(f"error: {error}")
