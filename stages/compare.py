"""Compare: cells, rungs, predictions, labelled sets -> metrics/metrics.json, the report and its data.

reports/index.html is the report, reports/index.md its answers as text, reports/figures has its figures as files and
reports/plots the data of `dvc plots`. metrics/comparison.json has all results, metrics/metrics.json the few that
compare two recipes (adaptbert.report.metrics_json). Prints the table as well; `python -m
adaptbert.report.text_table metrics/comparison.json` prints it again.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from adaptbert.base.config import Config
from adaptbert.base.ladder import LadderConfig, Name
from adaptbert.comparison.questions import PRIMARY
from adaptbert.core.files import atomic_write, write_json
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run


class CompareParams(Config):
    """How cells are compared."""

    confidence: Annotated[float, Field(gt=0, lt=1)]
    """Of every interval; 1 - confidence is the level of every verdict."""
    worth: Annotated[float, Field(gt=0, le=100)] = 1.0
    """The smallest gain worth having, in points (scores times 100)."""
    primary: Annotated[list[str], Field(default_factory=lambda: list(PRIMARY))]
    """Questions for which verdicts are given, in all tasks; others are described. `domain_text/news` is the one of an
    arm that is called `news`."""
    questions: Annotated[
        dict[Name, Annotated[list[Name], Field(min_length=2, max_length=2)]], Field(default_factory=dict)
    ]
    """Further questions by name: an arm and the arm that it is compared with."""
    baseline_seed: Annotated[int, Field(ge=0, lt=2**32)]
    """Of the logistic regression among the baselines."""


def compare(
    params: CompareParams,
    *,
    ladder: LadderConfig,
    plan: Path,
    data: Path,
    manifests: Path,
    cells: Path,
    predictions: Path,
    bases: Path,
    report: Path,
    markdown: Path,
    figures: Path,
    plots: Path,
    comparison: Path,
    metrics: Path,
    run: Run,
) -> None:
    """Compare all cells and rungs: one table, one report, one sentence per step."""
    from adaptbert.base import plan as planning
    from adaptbert.comparison.assemble import Options, StageOutputs, compare_all
    from adaptbert.report.charts.figure import write_figures
    from adaptbert.report.markdown import in_markdown
    from adaptbert.report.metrics_json import headlines, summary
    from adaptbert.report.page import figures_of, render
    from adaptbert.report.plot_data import write_plots
    from adaptbert.report.text_table import comparison_table
    from adaptbert.runtime.params.params_file import flatten

    outputs = StageOutputs(data, manifests, cells, predictions, bases)
    options = Options(
        params.confidence, params.worth / 100, params.primary, params.questions, params.baseline_seed, ladder.again
    )
    compared = compare_all(planning.read(plan), outputs, options)
    values, page = summary(compared), render(compared)
    write_plots(compared, plots)
    write_figures(figures_of(compared), figures)
    for target, text in ((report, page), (markdown, in_markdown(compared))):
        with atomic_write(target) as path:
            path.write_text(text, encoding="utf-8")
    write_json(comparison, values)
    write_json(metrics, headlines(values))

    print(comparison_table(values))
    numbers = {name.replace(".", "/"): value for name, value in flatten(headlines(values)).items()}
    run.log_metrics(numbers)
    run.conclude_recipe(numbers)
    for path in (report, markdown, figures, plots, comparison, metrics):
        run.log_artifact(path)


STAGE = Stage(compare)

if __name__ == "__main__":
    STAGE.run()
