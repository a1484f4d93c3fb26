"""The name of a flow run, and its artifacts in Prefect: scores, steps, the path of the report."""

from pathlib import Path
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.runtime import flow_run

from adaptbert.base.files import read_json
from adaptbert.comparison.tables.text_table import (
    STANDINGS,
    STARTS,
    STEPS,
    TRAINING,
    VERDICTS,
    tasks_of,
)
from adaptbert.runtime.tracking.origin import commit
from adaptbert.runtime.tracking.preset_name import OWN, preset_name

COMPARISON = Path("metrics/comparison.json")
REPORT = Path("reports/index.html")
MARKDOWN = Path("reports/index.md")
PARAMS = Path("params.yaml")


def run_name() -> str:
    """Preset, commit and last stage: `weibo 3f9a2c1 until compare`."""
    preset = preset_name(PARAMS) if PARAMS.is_file() else OWN
    return " ".join([preset, *filter(None, [commit()[:7]]), "until", flow_run.parameters["until"]])


def leave_artifacts() -> None:
    """Scores and steps as tables; the answers of the report as text, with a link to it."""
    summary = read_json(COMPARISON)
    create_table_artifact(table=score_rows(summary), key="arm-scores", description="Scores times 100, by task and arm")
    create_table_artifact(table=step_rows(summary), key="steps", description="Difference and cost of each step")
    if STARTS in summary:
        about = "Starts by arm, and their difference to the first"
        create_table_artifact(table=start_rows(summary), key="starts", description=about)
    path = REPORT.resolve()
    text = MARKDOWN.read_text(encoding="utf-8").replace("](index.html)", f"]({path.as_uri()})")
    text += f"\nThe report lies at `{path}`.\n"
    create_markdown_artifact(markdown=text, key="report", description="The answers, and where the report lies")


def score_rows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each task and arm of metrics/comparison.json; an arm without metrics keeps its row, empty.

    With several starts, for each start; its column is there only then.
    """
    rows = []
    for key, cells in tasks_of(summary).items():
        for arm, cell in cells.items():
            if arm != STEPS:
                metric = next(iter(cell), "")
                mean = {"metric": metric, "mean": _points(cell.get(metric))}
                bounds = {name: _points(cell.get(name)) for name in ("low", "high")}
                rows.append({**_names(key, summary), "arm": arm, **mean, **bounds})
    return rows


def step_rows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each task and step; the cost is that of the first arm's rung minus that of the second's."""
    rows = []
    for key, cells in tasks_of(summary).items():
        for name, step in cells[STEPS].items():
            arm, other = step["of"]
            row = {**_names(key, summary), "step": name, "of": f"{arm} - {other}", **_answer(step)}
            tflop = _cost(summary, cells[arm], cells[other])
            rows.append({**row, "verdict": VERDICTS[step["verdict"]], "tflop": tflop})
    return rows


def start_rows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each task, arm and start, in the order of the ranking; the first start has no difference."""
    cells, rows = tasks_of(summary), []
    for task, ranking in summary[STARTS].items():
        for arm, standings in ranking["arms"].items():
            for start, standing in standings.items():
                cell = cells[task, start][arm]
                mean = _points(cell.get(next(iter(cell), "")))
                row = {"task": task, "arm": arm, "start": start, "mean": mean, **_answer(standing)}
                rows.append({**row, "verdict": STANDINGS.get(standing.get("verdict", ""))})
    return rows


def _names(key: tuple[str, str], summary: dict[str, Any]) -> dict[str, str]:
    task, start = key
    several = len({start for _, start in tasks_of(summary)}) > 1
    return {"task": task, **({"start": start} if several else {})}


def _answer(answer: dict[str, Any]) -> dict[str, float | None]:
    low, high = answer.get("interval", (None, None))
    return {"difference": _points(answer.get("difference")), "low": _points(low), "high": _points(high)}


def _cost(summary: dict[str, Any], arm: dict[str, Any], other: dict[str, Any]) -> float | None:
    spent: list[Any] = [
        summary[TRAINING].get(rung, {}).get("tflop") for cell in (arm, other) for rung in cell.get("rung", [])
    ]
    if len(spent) < 2 or None in spent:
        return None
    return float(round(spent[0] - spent[1], 3)) + 0.0  # + 0.0 turns -0.0 into 0.0


def _points(score: float | None) -> float | None:
    return None if score is None else round(100 * score, 1) + 0.0
