"""Compare: cells, rungs, predictions and labelled sets -> metrics/metrics.json, reports/index.html, reports/plots.

metrics/metrics.json has the few numbers of adaptbert.headlines, metrics/comparison.json all of adaptbert.summary.
Prints the table as well; `python -m adaptbert.comparison_table metrics/comparison.json` prints it again.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from adaptbert.entry import Stage
from adaptbert.ladder import LadderConfig
from adaptbert.outputs import whole, write_json
from adaptbert.params import Config
from adaptbert.tracking import Run


class CompareParams(Config):
    """How cells are compared."""

    confidence: Annotated[float, Field(gt=0, lt=1)]
    """Of every interval; 1 - confidence is the level at which a difference counts as shown."""
    baseline_seed: Annotated[int, Field(ge=0, lt=2**32)]
    """Of the logistic regression among the controls."""


def compare(
    params: CompareParams,
    *,
    ladder: LadderConfig,
    data: Path,
    manifests: Path,
    cells: Path,
    predictions: Path,
    report: Path,
    plots: Path,
    comparison: Path,
    metrics: Path,
    run: Run,
) -> None:
    """All cells and rungs to one table, one report and one sentence a step."""
    from adaptbert.comparing import compare_all
    from adaptbert.comparison_plots import write_plots
    from adaptbert.comparison_table import comparison_table
    from adaptbert.headlines import headlines
    from adaptbert.params import flatten
    from adaptbert.report.page import render
    from adaptbert.summary import summary

    compared = compare_all(
        ladder,
        confidence=params.confidence,
        baseline_seed=params.baseline_seed,
        data=data,
        manifests=manifests,
        cells=cells,
        predictions=predictions,
    )
    found, page = summary(compared), render(compared)
    write_plots(compared, plots)
    with whole(report) as path:
        path.write_text(page, encoding="utf-8")
    write_json(comparison, found)
    write_json(metrics, headlines(found))

    print(comparison_table(found))
    numbers = {name.replace(".", "/"): value for name, value in flatten(headlines(found)).items()}
    run.log_metrics(numbers)
    run.conclude_recipe(numbers)
    for path in (report, plots, comparison, metrics):
        run.log_artifact(path)


STAGE = Stage(compare)

if __name__ == "__main__":
    STAGE.run()
