"""The tokens below a cell, by the budgets in force."""

from pathlib import Path

from adaptbert.config import load as params_file
from adaptbert.config import plan as planning
from tests.support.imports import ROOT

PLAN = planning.read(ROOT / "plan.json")


def test_the_budgets_of_all_rungs_below_are_added() -> None:
    document = params_file.read(Path(ROOT / "params.yaml"))
    assert planned_tokens(document, PLAN, "scratch/small") == 0
    assert planned_tokens(document, PLAN, "pretrain/small") == 600_000
    assert planned_tokens(document, PLAN, "task_transfer/section-domain-small-1") == 600_000 + 600_000 + 75_000


def test_the_block_of_a_task_counts_and_passes_are_not_known() -> None:
    document = params_file.read(Path(ROOT / "params.yaml"))
    document["task_transfer"]["section"] = {"budget": {"tokens": 50_000}}
    assert planned_tokens(document, PLAN, "task_transfer/section-small-1") == 650_000
    assert planned_tokens(document, PLAN, "task_transfer/mention-small-1") == 675_000
    document["task_transfer"]["section"] = {"budget": {"passes": 3}}
    assert planned_tokens(document, PLAN, "task_transfer/section-small-1") is None
