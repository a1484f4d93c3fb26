"""Compare: cells, rungs, predictions and labelled sets -> metrics/metrics.json, reports/index.html, reports/plots.

metrics/metrics.json has the few numbers of adaptbert.comparison.headlines, metrics/comparison.json all of
adaptbert.comparison.metrics_json. Prints the table as well; `python -m adaptbert.comparison.text_table
metrics/comparison.json` prints it again.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from adaptbert.base.config import Config
from adaptbert.base.files import atomic_write, write_json
from adaptbert.base.ladder import LadderConfig
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run


class CompareParams(Config):
    """How cells are compared."""

    confidence: Annotated[float, Field(gt=0, lt=1)]
    """Of every interval; 1 - confidence is the level at which a difference counts as shown."""
    baseline_seed: Annotated[int, Field(ge=0, lt=2**32)]
    """Of the logistic regression among the baselines."""


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
    """Compare all cells and rungs: one table, one report, one sentence per step."""
    from adaptbert.comparison.assemble import StageOutputs, compare_all
    from adaptbert.comparison.headlines import headlines
    from adaptbert.comparison.metrics_json import summary
    from adaptbert.comparison.plot_data import write_plots
    from adaptbert.comparison.report.page import render
    from adaptbert.comparison.text_table import comparison_table
    from adaptbert.runtime.params.params_file import flatten

    outputs = StageOutputs(data, manifests, cells, predictions)
    compared = compare_all(ladder, outputs, confidence=params.confidence, baseline_seed=params.baseline_seed)
    values, page = summary(compared), render(compared)
    write_plots(compared, plots)
    with atomic_write(report) as path:
        path.write_text(page, encoding="utf-8")
    write_json(comparison, values)
    write_json(metrics, headlines(values))

    print(comparison_table(values))
    numbers = {name.replace(".", "/"): value for name, value in flatten(headlines(values)).items()}
    run.log_metrics(numbers)
    run.conclude_recipe(numbers)
    for path in (report, plots, comparison, metrics):
        run.log_artifact(path)


STAGE = Stage(compare)

if __name__ == "__main__":
    STAGE.run()
