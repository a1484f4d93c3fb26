"""metrics/comparison.json -> the comparison as plain text in aligned columns, all scores times 100.

python -m adaptbert.comparison.text_table metrics/comparison.json
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adaptbert.base.files import read_json
from adaptbert.comparison.amounts import amount, at_least
from adaptbert.comparison.statistics import ADJUSTMENT, FEWEST_SEEDS

BITS, TRAINING, STEPS, SUITE, INSPECTION = "bits_per_char", "training", "steps", "suite", "inspection"
NO_TASKS = (BITS, TRAINING, SUITE, INSPECTION)
"""Keys beside those of the tasks, so no task can have these names. A task has `STEPS` and baselines beside its arms."""
VERDICTS = {
    "gain": "gain shown",
    "loss": "loss shown",
    "likely_gain": "gain likely, not shown",
    "likely_loss": "loss likely, not shown",
    "not_shown": "not shown",
    "untested": "not testable",
}


def comparison_table(summary: dict[str, Any]) -> str:
    """Arms and baselines of each task, the steps between them, the mean over tasks, bits per character of each rung."""
    tasks = tasks_of(summary)
    parts = [_task(name, values, summary[TRAINING]) for name, values in tasks.items()]
    if SUITE in summary:
        parts.append(_suite(summary[SUITE], {name: _metric(values) for name, values in tasks.items()}))
    return "\n\n".join([*parts, _bits(summary[BITS])])


def tasks_of(summary: dict[str, Any]) -> dict[str, Any]:
    """The sections that are tasks."""
    return {name: values for name, values in summary.items() if name not in NO_TASKS}


def _metric(values: dict[str, Any]) -> str:
    """The metric by which the arms of a task are compared."""
    return next((key for arm, scores in values.items() if arm != STEPS for key in scores), "score")


def _task(name: str, values: dict[str, Any], training: dict[str, Any]) -> str:
    cells = {arm: scores for arm, scores in values.items() if arm != STEPS}
    metric = _metric(values)
    rows = [[name, metric, "interval", "seeds", "tokens", "TFLOP"]]
    for arm, cell in cells.items():
        if not cell:
            rows.append([arm, "missing", "", "", "", ""])
            continue
        seeds = " ".join(_points(score) for _, score in cell.get("seeds", []))
        if cell.get("degenerate"):
            seeds += f" ({len(cell['degenerate'])} of one class only)"
        if "rows" in cell:
            seeds = f"(fitted on the first {cell['rows'][0]:,} rows)"
        spent = training.get(cell.get("rung", [""])[0], {})
        rows.append(
            [
                arm,
                _points(cell[metric]),
                f"{_points(cell['low'])} to {_points(cell['high'])}" if "low" in cell else "",
                seeds,
                f"{spent['tokens']:,}" if spent else "",
                amount(spent["tflop"]) if spent else "",
            ]
        )
    steps = [["step", "difference", "interval", f"{ADJUSTMENT} p", "verdict"]]
    for step, answer in values[STEPS].items():
        low, high = answer.get("interval", (None, None))
        steps.append(
            [
                f"{step} ({answer['of'][0]} - {answer['of'][1]})",
                _points(answer["difference"], signed=True) if "difference" in answer else "",
                f"{_points(low, signed=True)} to {_points(high, signed=True)}" if low is not None else "",
                at_least(answer["p_holm"], 3) if "p_holm" in answer else "",
                VERDICTS[answer["verdict"]],
            ]
        )
    tables = [aligned(rows, left=(0, 3))]
    if any(0 < len(cell.get("seeds", [])) < FEWEST_SEEDS for cell in cells.values()):
        tables[0] += "\n(an interval needs three seeds)"
    tables.append(aligned(steps, left=(0, 4)) if values[STEPS] else "no step was compared")
    return "\n\n".join(tables)


def _suite(suite: dict[str, Any], metrics: dict[str, str]) -> str:
    """A row for each task and a column for each arm, because there may be many tasks."""
    parts = {arm: dict(mean["parts"]) for arm, mean in suite.items()}
    bounds = [f"{_points(mean['low'])} to {_points(mean['high'])}" if "low" in mean else "" for mean in suite.values()]
    return aligned(
        [
            ["mean over tasks, of unlike metrics", *suite],
            *([f"{task} {metric}", *(_points(parts[arm][task]) for arm in suite)] for task, metric in metrics.items()),
            ["mean", *(_points(mean["average"]) for mean in suite.values())],
            ["interval", *bounds],
        ],
        left=(0,),
    )


def _bits(bits: dict[str, dict[str, float]]) -> str:
    heldout = list(dict.fromkeys(name for measured in bits.values() for name in measured))
    rows = [["bits per character on held-out text", *heldout]]
    rows += [
        [rung, *(f"{measured[name]:.3f}" if name in measured else "missing" for name in heldout)]
        for rung, measured in bits.items()
    ]
    return aligned(rows, left=(0,))


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
