"""What the documents take from elsewhere: results of the demonstration, parameters, errors, task and model types,
benchmarks.

    python -m tests.documents           # write all of it anew

tests/docs/test_docs.py compares with what is there.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from markupsafe import Markup

from adaptbert.codes import Code
from adaptbert.comparison.records import Comparison
from adaptbert.config.schema.task_types import SPECS, TaskSpec
from adaptbert.report.drawing import MARGIN, ROW, WIDTH, Figure, Picture, standalone
from adaptbert.report.figures import scores
from adaptbert.report.language import same
from adaptbert.report.markdown import in_markdown
from adaptbert.report.terms import metric_name
from adaptbert.report.text_table import summary
from benchmarks.table import tables
from tests import encoders_page
from tests.parameters_page import page, parameters
from tests.support.imports import ROOT

READMES = ("README.md", "README.zh-CN.md")
DEMONSTRATION = "docs/results/demonstration.md"
PICTURE = "docs/img/arms.svg"
PARAMETERS = "docs/parameters.md"
ERRORS = "docs/errors.md"
ENCODERS = "docs/encoders.md"
BENCHMARKS = "docs/benchmarks.md"
LABELLED_SETS = ("docs/how-to/labelled-sets.md", "docs/how-to/labelled-sets.zh-CN.md")
METRICS = ("docs/metrics.md", "docs/metrics.zh-CN.md")
WRITTEN = (PARAMETERS, ERRORS, ENCODERS, BENCHMARKS, *LABELLED_SETS, *METRICS, *READMES, DEMONSTRATION, PICTURE)
CAPTION = "Demonstration corpus: docstrings of installed Python packages. A small BERT, on two CPU cores."


def written(name: str) -> str:
    """One of `WRITTEN` as it should be; run in the project's folder."""
    if name == PARAMETERS:
        return page(parameters())
    if name == ENCODERS:
        return encoders_page.page()
    if name == ERRORS:
        return filled(name, "codes", f"\n{codes()}\n")
    if name == BENCHMARKS:
        return filled(name, "results", f"\n{tables()}\n")
    if name in LABELLED_SETS:
        return filled(name, "types", types("columns", lambda spec: [*spec.rows.inputs, spec.output.column]))
    if name in METRICS:
        return filled(name, "types", types("metric", lambda spec: spec.output.metrics))
    comparison = Comparison.read(Path("metrics/comparison.json"))
    if name == PICTURE:
        return picture(comparison, CAPTION)
    if name == DEMONSTRATION:
        return filled(name, "comparisons", f"\n{comparisons(comparison)}\n\n")
    return filled(name, "table", f"```text\n{summary(comparison)}\n```\n")


def filled(name: str, mark: str, text: str) -> str:
    """A document with this between `<!-- mark -->` and `<!-- /mark -->`."""
    place = re.compile(rf"(?<=<!-- {mark} -->\n).*?(?=<!-- /{mark} -->)", re.DOTALL)
    document, count = place.subn(lambda _: text, Path(name).read_text(encoding="utf-8"))
    assert count == 1, f"{name}: {count} times <!-- {mark} -->"
    return document


def picture(comparison: Comparison, text: str) -> str:
    """The arms of all tasks side by side, as one SVG.

    Args:
        text: said above the bars, e.g. where the text comes from.
    """
    above, below, tasks, panels = 22, 24, comparison.tasks, []
    column = (WIDTH - MARGIN * (len(tasks) - 1)) // len(tasks)
    for index, task in enumerate(tasks):
        panel = Markup('<svg x="{}" width="{}"><text class="row-label" y="13">{}</text><svg y="{}">{}</svg></svg>')
        heading = f"{task.name}: {metric_name(task.metric).en} × 100"
        panels.append(panel.format(index * (column + MARGIN), column, heading, above, scores(task, comparison)))
    rows = max(len(task.arms) + len(task.baselines) for task in tasks)
    of_replicates = " of one replicate" if comparison.replicates > 1 else ""
    note = f"Bar: mean of the seeds on the test split. Whisker: its interval. Dot: one seed{of_replicates}. {text}"
    pictured = Picture(above + ROW * rows + below, panels)
    return standalone(Figure("arms", same("Scores by arm"), same(note), pictured), "en")


def comparisons(comparison: Comparison) -> str:
    """The first table of reports/index.md, in English, without its heading and what each verdict rests on."""
    _, table, *_ = in_markdown(comparison).split("\n## ")
    table = table[table.index("|") :].partition("\n\n")[0]
    return re.sub(r"\*\* \([^|]*\) \|", "** |", table)


def codes() -> str:
    """A row for every code."""
    rows = [f"| {code.shown} | {code.meaning} | {code.outcome} |" for code in sorted(Code)]
    return "\n".join(["| code | meaning | exit code, or the row is rejected |", "|---|---|---|", *rows, ""])


def types(title: str, names: Callable[[TaskSpec], Iterable[str]]) -> str:
    """A row for every task type with these names of it, in any language; one with the names of its type is none."""
    rows: dict[tuple[str, ...], str] = {}
    for spec in SPECS.values():
        kind, *more = (name if key == "type" else f"{key}: {name}".lower() for key, name in spec.written.items())
        shown = ", ".join(f"`{each}`" for each in names(spec))
        if rows.get((kind,)) != shown:
            rows[kind, *more] = shown
    lines = [f"| {' '.join(f'`{each}`' for each in written)} | {shown} |\n" for written, shown in rows.items()]
    return f"\n| `type` | `{title}` |\n|---|---|\n{''.join(lines)}\n"


if __name__ == "__main__":
    os.chdir(ROOT)
    for name in WRITTEN:
        Path(name).write_text(written(name), encoding="utf-8")
