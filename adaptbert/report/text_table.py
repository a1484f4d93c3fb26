"""The comparison as plain text in aligned columns, in English, all scores times 100.

python -m adaptbert.report.text_table metrics/comparison.json
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len, set_cell_size

from adaptbert.comparison.records import Comparison
from adaptbert.report import tables
from adaptbert.report.language import MINUS
from adaptbert.report.tables import Table

PLAIN = str.maketrans({MINUS: "-", "–": "-", "`": None})
"""What a terminal shows for the signs of the page."""


def comparison_table(comparison: Comparison) -> str:
    """Arms and baselines of each task, the comparisons between them, the bases, bits per character."""
    shown = []
    for task in comparison.tasks:
        shown += [tables.arms(task), *([tables.answers(comparison, [task])] if task.answers else [])]
    shown += [*map(tables.bases, comparison.rankings), tables.checkpoints(comparison)]
    return "\n\n".join(map(_text, shown))


def _text(table: Table) -> str:
    places = [place for place, column in enumerate(table.columns) if column.in_text]
    rows = [[table.columns[place].label.en for place in places]]
    rows += [[row[place].text.en for place in places] for row in table.rows]
    left = [shown for shown, place in enumerate(places) if table.columns[place].is_name]
    return "\n".join([table.title.en, aligned(rows, left), *(note.en for note in table.notes)]).translate(PLAIN)


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """Columns of equal width, a rule below the first row; the columns in `left` are set left, the others right."""
    rows = [[cell.translate(PLAIN) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            set_cell_size(cell, width) if column in left else " " * (width - cell_len(cell)) + cell
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(cell_len, lines)), *lines[1:]])


if __name__ == "__main__":
    print(comparison_table(Comparison.read(Path(sys.argv[1]))))
