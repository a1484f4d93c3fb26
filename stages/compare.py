"""Compare: metrics, predictions, labelled sets -> metrics/comparison.json, metrics/metrics.json and the report.

reports/index.html is the report, reports/index.md its answers as text, reports/figures has its figures as files and
reports/plots the data of `dvc plots`. metrics/comparison.json has all results (adaptbert.comparison.records),
metrics/metrics.json the few that compare two recipes; models/linear the linear model of each task, fitted on all its
labels. Prints the table as well; `python -m adaptbert.report.text_table metrics/comparison.json` prints it again.
"""

from pathlib import Path

from adaptbert.config.schema.comparison import Compare
from adaptbert.core.files import atomic_write, write_json
from adaptbert.runtime.mlflow import Run
from adaptbert.stage import run_stage


def compare(
    params: Compare,
    *,
    plan: Path,
    data: Path,
    manifests: Path,
    cells: Path,
    predictions: Path,
    report: Path,
    markdown: Path,
    figures: Path,
    plots: Path,
    comparison: Path,
    metrics: Path,
    linear: Path,
    run: Run,
) -> None:
    from adaptbert.comparison.arms import StageOutputs
    from adaptbert.comparison.assemble import compare_all
    from adaptbert.comparison.baselines import keep_linear_models
    from adaptbert.config import plan as planning
    from adaptbert.config.load import flatten
    from adaptbert.report.drawing import write_figures
    from adaptbert.report.figures import all_figures, write_plots
    from adaptbert.report.markdown import in_markdown
    from adaptbert.report.page import render
    from adaptbert.report.tables import headlines
    from adaptbert.report.text_table import summary

    compared = compare_all(planning.read(plan), StageOutputs(data, manifests, cells, predictions), params)
    tasks = dict.fromkeys(task.task for task in compared.tasks)
    keep_linear_models(linear, [data / task for task in tasks], params.baseline_seed)
    page = render(compared)
    write_plots(compared, plots)
    write_figures(all_figures(compared), figures)
    for target, text in ((report, page), (markdown, in_markdown(compared))):
        with atomic_write(target) as path:
            path.write_text(text, encoding="utf-8")
    write_json(comparison, compared.as_json())
    write_json(metrics, headlines(compared))

    print(summary(compared))
    numbers = {name.replace(".", "/"): value for name, value in flatten(headlines(compared)).items()}
    run.log_metrics(numbers)
    run.conclude_recipe(numbers)
    for path in (report, markdown, figures, plots, comparison, metrics):
        run.log_artifact(path)


if __name__ == "__main__":
    run_stage(compare)
