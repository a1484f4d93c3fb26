"""metrics/comparison.json -> the comparison as plain text in aligned columns, all scores times 100.

python -m adaptbert.report.text_table metrics/comparison.json
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adaptbert.comparison.amounts import amount, at_least
from adaptbert.core.files import read_json
from adaptbert.report.terms import STANDS, VERDICTS
from adaptbert.statistics.intervals import FEWEST_SEEDS
from adaptbert.statistics.multiplicity import ADJUSTMENT

BITS, TRAINING, STEPS = "bits_per_char", "training", "steps"
STARTS, INSPECTION = "starts", "inspection"
WORTH, REPLICATED = "worth", "replicated"
NO_TASKS = (BITS, TRAINING, STARTS, INSPECTION, WORTH, REPLICATED)
"""Keys beside those of the tasks, so no task can have these names. A task has `STEPS` and baselines beside its arms."""
LEAST_P = 1e-9
"""No p-value is 0: a smaller one was rounded, and is written as `<0.001`."""
Key = tuple[str, str]
"""A task and a start."""


def comparison_table(summary: dict[str, Any]) -> str:
    """Arms and baselines of each task, the steps between them, the starts, bits per character."""
    tasks, names = tasks_of(summary), names_of(summary)
    parts = [_task(names[key], values, summary[TRAINING]) for key, values in tasks.items()]
    metrics = {task: _metric(values) for (task, _), values in tasks.items()}
    several = len({start for _, start in tasks}) > 1
    for task, ranking in summary.get(STARTS, {}).items():
        cells = {start: tasks[task, start] for start in ranking["order"]}
        parts.append(_starts(task, metrics[task], ranking, cells, summary[TRAINING]))
    return "\n\n".join([*parts, _bits(summary[BITS], several_starts=several)])


def tasks_of(summary: dict[str, Any]) -> dict[Key, dict[str, Any]]:
    """Task and start -> its arms, baselines and steps."""
    return {
        (task, start): values
        for task, starts in summary.items()
        if task not in NO_TASKS
        for start, values in starts.items()
    }


def names_of(summary: dict[str, Any]) -> dict[Key, str]:
    """Task and start -> its name in tables: with the start only where there are several."""
    keys = list(tasks_of(summary))
    several = len({start for _, start in keys}) > 1
    return {(task, start): f"{task}/{start}" if several else task for task, start in keys}


def _metric(values: dict[str, Any]) -> str:
    """The metric by which the arms of a task are compared."""
    return next((key for arm, scores in values.items() if arm != STEPS for key in scores), "score")


def _task(name: str, values: dict[str, Any], training: dict[str, Any]) -> str:
    cells = {arm: scores for arm, scores in values.items() if arm != STEPS}
    metric = _metric(values)
    draws = max((len({draw for draw, *_ in cell.get("runs", []) if draw}) for cell in cells.values()), default=0)
    rows = [[name, metric, "interval", "seeds; draws separated by |" if draws > 1 else "seeds", "tokens", "TFLOP"]]
    for arm, cell in cells.items():
        if not cell:
            rows.append([arm, "missing", "", "", "", ""])
            continue
        seeds = _runs(cell.get("runs", []))
        if cell.get("degenerate"):
            seeds += f" ({len(cell['degenerate'])} of one class only)"
        if "rows" in cell:
            seeds = f"(fitted on the first {cell['rows'][0]:,} rows)"
        spent = training.get(cell.get("rung", [""])[0], {})
        rows.append(
            [
                arm,
                _points(cell[metric]),
                _bounds(cell),
                seeds,
                *_cost(spent),
            ]
        )
    steps = [["step", "difference", "interval", f"{ADJUSTMENT} p", "verdict"]]
    for step, answer in values[STEPS].items():
        name = f"{step} ({answer['of'][0]} - {answer['of'][1]})"
        steps.append([name, *_answer(answer), VERDICTS[answer["verdict"]].en])
    tables = [aligned(rows, left=(0, 3))]
    if any(0 < len(cell.get("seeds", [])) < FEWEST_SEEDS for cell in cells.values()):
        tables[0] += "\n(an interval needs three seeds)"
    own = dict.fromkeys(arm for answer in values[STEPS].values() for arm in answer.get("own_values", ()))
    note = f"\n(fine-tuned with values of its own: {', '.join(own)})" if own else ""
    tables.append(aligned(steps, left=(0, 4)) + note if values[STEPS] else "no step was compared")
    return "\n\n".join(tables)


def _runs(runs: Sequence[tuple[int, int, float]]) -> str:
    """The scores of all seeds, draw by draw."""
    draws = dict.fromkeys(draw for draw, *_ in runs)
    return " | ".join(" ".join(_points(score) for own, _, score in runs if own == draw) for draw in draws)


def _bounds(values: dict[str, Any]) -> str:
    return f"{_points(values['low'])} to {_points(values['high'])}" if "low" in values else ""


def _cost(spent: dict[str, Any]) -> list[str]:
    """Tokens and TFLOP; empty where they are unknown."""
    return [f"{spent['tokens']:,}", amount(spent["tflop"])] if spent else ["", ""]


def _answer(values: dict[str, Any]) -> list[str]:
    """A difference, its interval, its p-value."""
    low, high = values.get("interval", (None, None))
    return [
        _points(values["difference"], signed=True) if "difference" in values else "",
        f"{_points(low, signed=True)} to {_points(high, signed=True)}" if low is not None else "",
        at_least(max(values["p_holm"], LEAST_P), 3) if "p_holm" in values else "",
    ]


def _starts(task: str, metric: str, ranking: dict[str, Any], cells: dict[str, Any], training: dict[str, Any]) -> str:
    """A row for each arm and start; in the order of the arm that ranks them, by its dev scores."""
    rows = [["arm", "start", metric, "interval", f"minus {ranking['order'][0]}", "interval", f"{ADJUSTMENT} p"]]
    rows[0] += ["tokens", "TFLOP", ""]
    for arm, standings in ranking["arms"].items():
        for start, standing in standings.items():
            cell = cells[start][arm]
            spent = training.get(cell.get("rung", [""])[0], {})
            score = [_points(cell[metric]), _bounds(cell)] if cell else ["missing", ""]
            verdict = STANDS[standing["verdict"]].en if "verdict" in standing else ""
            rows.append([arm, start, *score, *_answer(standing), *_cost(spent), verdict])
    dev = ", ".join(f"{start} {_points(score)}" for start, score in ranking["dev"].items())
    notes = [f"{task}: starts in the order of their dev scores in the arm {ranking['arm'][0]} ({dev})"]
    if ranking["other_budgets"]:
        notes.append(f"tokens differ in {', '.join(ranking['other_budgets'])}")
    if ranking["draws"][1] == 1:
        notes.append("one draw of each rung: nothing is said of another training")
    return f"{'; '.join(notes)}\n{aligned(rows, left=(0, 1, 9))}"


def _bits(bits: dict[str, dict[str, float]], *, several_starts: bool) -> str:
    heldout = list(dict.fromkeys(name for measured in bits.values() for name in measured))
    rows = [["bits per character on held-out text", *heldout]]
    rows += [
        [rung, *(f"{measured[name]:.3f}" if name in measured else "missing" for name in heldout)]
        for rung, measured in bits.items()
    ]
    note = "\n(per character and not per token, so starts with different tokenizers can be compared)"
    return aligned(rows, left=(0,)) + note * several_starts


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


def _points(score: float, *, signed: bool = False) -> str:
    points = round(100 * score, 1) + 0.0  # + 0.0 turns -0.0 into 0.0
    return f"{points:{'+' if signed and points else ''}.1f}"


if __name__ == "__main__":
    print(comparison_table(read_json(Path(sys.argv[1]))))
