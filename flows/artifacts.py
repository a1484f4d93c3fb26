"""The name of a flow run, and its artifact in Prefect: the answers, and the path of the report."""

from pathlib import Path

from prefect.artifacts import create_markdown_artifact
from prefect.runtime import flow_run

from adaptbert.runtime.origin import OWN, commit, preset_name

REPORT = Path("reports/index.html")
MARKDOWN = Path("reports/index.md")
PARAMS = Path("params.yaml")


def run_name() -> str:
    """Preset, commit and last stage: `weibo 3f9a2c1 until compare`."""
    preset = preset_name(PARAMS) if PARAMS.is_file() else OWN
    return " ".join([preset, *filter(None, [commit()[:7]]), "until", flow_run.parameters["until"]])


def leave_artifact() -> None:
    """The answers of the report as text, with a link to it."""
    path = REPORT.resolve()
    text = MARKDOWN.read_text(encoding="utf-8").replace("](index.html)", f"]({path.as_uri()})")
    text += f"\nThe report lies at `{path}`.\n"
    create_markdown_artifact(markdown=text, key="report", description="The answers, and where the report lies")
