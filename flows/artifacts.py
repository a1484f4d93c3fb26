"""The name of a flow run, and its artifacts in Prefect: scores, steps, the path of the report."""

from pathlib import Path
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.runtime import flow_run

from adaptbert.base.files import read_json
from adaptbert.comparison.text_table import STEPS, TRAINING, VERDICTS, comparison_table, tasks_of
from adaptbert.runtime.tracking.origin import commit
from adaptbert.runtime.tracking.preset_name import OWN, preset_name

COMPARISON = Path("metrics/comparison.json")
REPORT = Path("reports/index.html")
PARAMS = Path("params.yaml")


def run_name() -> str:
    """Preset, commit and last stage: `weibo 3f9a2c1 until compare`."""
    preset = preset_name(PARAMS) if PARAMS.is_file() else OWN
    return " ".join([preset, *filter(None, [commit()[:7]]), "until", flow_run.parameters["until"]])


def leave_artifacts() -> None:
    """Scores and steps as tables; the comparison as text with a link to the report."""
    summary = read_json(COMPARISON)
    create_table_artifact(table=score_rows(summary), key="arm-scores", description="Scores times 100, by task and arm")
    create_table_artifact(table=step_rows(summary), key="steps", description="Difference and cost of each step")
    path = REPORT.resolve()
    text = f"[{REPORT}]({path.as_uri()}) at `{path}`\n\n```\n{comparison_table(summary)}\n```"
    create_markdown_artifact(markdown=text, key="report", description="The comparison, and where the report lies")


def score_rows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each task and arm of metrics/comparison.json; an arm without metrics keeps its row, empty."""
    rows = []
    for task, cells in tasks_of(summary).items():
        for arm, cell in cells.items():
            if arm != STEPS:
                metric = next(iter(cell), "")
                bounds = {name: _points(cell.get(name)) for name in ("low", "high")}
                rows.append({"task": task, "arm": arm, "metric": metric, "mean": _points(cell.get(metric)), **bounds})
    return rows


def step_rows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each task and step; the cost is that of the first arm's rung minus that of the second's."""
    rows = []
    for task, cells in tasks_of(summary).items():
        for name, step in cells[STEPS].items():
            arm, other = step["of"]
            low, high = step.get("interval", (None, None))
            row = {"task": task, "step": name, "of": f"{arm} - {other}", "difference": _points(step.get("difference"))}
            verdict = VERDICTS[step["verdict"]]
            tflop = _cost(summary, cells[arm], cells[other])
            rows.append({**row, "low": _points(low), "high": _points(high), "verdict": verdict, "tflop": tflop})
    return rows


def _cost(summary: dict[str, Any], arm: dict[str, Any], other: dict[str, Any]) -> float | None:
    spent: list[Any] = [
        summary[TRAINING].get(rung, {}).get("tflop") for cell in (arm, other) for rung in cell.get("rung", [])
    ]
    if len(spent) < 2 or None in spent:
        return None
    return float(round(spent[0] - spent[1], 3)) + 0.0  # + 0.0 turns -0.0 into 0.0


def _points(score: float | None) -> float | None:
    return None if score is None else round(100 * score, 1) + 0.0
