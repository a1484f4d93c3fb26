"""The comparison in a few lines of plain text, in English, all scores times 100; reports/index.md has all tables.

python -m adaptbert.report.text_table metrics/comparison.json
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len, set_cell_size

from adaptbert.comparison.records import Comparison
from adaptbert.core.english import MINUS
from adaptbert.core.printable import printable
from adaptbert.core.processes import escape_unprintable
from adaptbert.report import answer, tables

PLAIN = str.maketrans({MINUS: "-", "–": "-", "`": None})
"""What a terminal shows for the signs of the page."""


def summary(comparison: Comparison) -> str:
    """What a terminal shows when all is trained: the answer of each task, the arms of all, what to do next."""
    answers = [f"{answer.mean_name(mean).en}: {answer.of_mean(mean, comparison).en}" for mean in comparison.means]
    for task in comparison.tasks:
        answers.append(f"{task.name}: {(answer.answer(task, comparison) + answer.besides(task, comparison)).en}")
    following = [f"{task.name}. {answer.next_step(task, comparison).en}" for task in comparison.tasks]
    table = tables.summary(comparison)
    rows = [[column.en for column in table.columns], *([cell.text.en for cell in row] for row in table.rows)]
    return printable("\n".join([*answers, "", aligned(rows), "", *following])).translate(PLAIN)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, a rule below the first row; the first column is set left, the others right."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            " " * (width - cell_len(cell)) + cell if column else set_cell_size(cell, width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(cell_len, lines)), *lines[1:]])


if __name__ == "__main__":
    escape_unprintable()
    print(summary(Comparison.read(Path(sys.argv[1]))))
