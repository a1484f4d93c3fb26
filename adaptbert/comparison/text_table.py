"""metrics/comparison.json -> the comparison as plain text in aligned columns, all scores times 100.

python -m adaptbert.comparison.text_table metrics/comparison.json
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.cells import cell_len, set_cell_size

from adaptbert.base.files import read_json
from adaptbert.comparison.amounts import amount, at_least
from adaptbert.comparison.statistics import FEWEST_SEEDS

BITS, TRAINING, STEPS, SUITE, INSPECTION = "bits_per_char", "training", "steps", "suite", "inspection"
NO_TASKS = (BITS, TRAINING, SUITE, INSPECTION)
"""Keys beside the tasks, so no task can have these names; beside the arms of a task stand `STEPS` and baselines."""
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
    """By which the arms of a task are compared."""
    return next((key for arm, found in values.items() if arm != STEPS for key in found), "score")


def _task(name: str, values: dict[str, Any], training: dict[str, Any]) -> str:
    cells = {arm: found for arm, found in values.items() if arm != STEPS}
    metric = _metric(values)
    rows = [[name, metric, "interval", "seeds", "tokens", "TFLOP"]]
    for arm, found in cells.items():
        if not found:
            rows.append([arm, "missing", "", "", "", ""])
            continue
        seeds = " ".join(_points(score) for _, score in found.get("seeds", []))
        if found.get("degenerate"):
            seeds += f" ({len(found['degenerate'])} of one class only)"
        if "rows" in found:
            seeds = f"(fitted on the first {found['rows'][0]:,} rows)"
        spent = training.get(found.get("rung", [""])[0], {})
        rows.append(
            [
                arm,
                _points(found[metric]),
                f"{_points(found['low'])} to {_points(found['high'])}" if "low" in found else "",
                seeds,
                f"{spent['tokens']:,}" if spent else "",
                amount(spent["tflop"]) if spent else "",
            ]
        )
    steps = [["step", "difference", "interval", "Holm p", "verdict"]]
    for step, found in values[STEPS].items():
        low, high = found.get("interval", (None, None))
        steps.append(
            [
                f"{step} ({found['of'][0]} - {found['of'][1]})",
                _points(found["difference"], signed=True) if "difference" in found else "",
                f"{_points(low, signed=True)} to {_points(high, signed=True)}" if low is not None else "",
                at_least(found["p_holm"], 3) if "p_holm" in found else "",
                VERDICTS[found["verdict"]],
            ]
        )
    tables = [aligned(rows, left=(0, 3))]
    if any(0 < len(found.get("seeds", [])) < FEWEST_SEEDS for found in cells.values()):
        tables[0] += "\n(an interval needs three seeds)"
    tables.append(aligned(steps, left=(0, 4)) if values[STEPS] else "no step was compared")
    return "\n\n".join(tables)


def _suite(suite: dict[str, Any], metrics: dict[str, str]) -> str:
    """Arms side by side, for tasks may be many: each part, and their mean."""
    parts = {arm: dict(found["parts"]) for arm, found in suite.items()}
    bounds = [
        f"{_points(found['low'])} to {_points(found['high'])}" if "low" in found else "" for found in suite.values()
    ]
    return aligned(
        [
            ["mean over tasks, of unlike metrics", *suite],
            *([f"{task} {metric}", *(_points(parts[arm][task]) for arm in suite)] for task, metric in metrics.items()),
            ["mean", *(_points(found["average"]) for found in suite.values())],
            ["interval", *bounds],
        ],
        left=(0,),
    )


def _bits(bits: dict[str, dict[str, float]]) -> str:
    heldout = list(dict.fromkeys(name for found in bits.values() for name in found))
    rows = [["bits per character on held-out text", *heldout]]
    rows += [
        [rung, *(f"{found[name]:.3f}" if name in found else "missing" for name in heldout)]
        for rung, found in bits.items()
    ]
    return aligned(rows, left=(0,))


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """Columns of equal width, a rule below the first row; the columns in `left` are set left, the others right."""
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
