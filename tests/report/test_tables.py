"""The tables: what a reader sees of arms, steps, bases and checkpoints, and that all views of them say the same."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adaptbert.comparison.records import Comparison, Cost, Search
from adaptbert.config.load import flatten
from adaptbert.core.files import read_json
from adaptbert.report import tables
from adaptbert.report.language import MINUS, Text, change, points
from adaptbert.report.markdown import in_markdown
from adaptbert.report.metrics_json import headlines
from adaptbert.report.page import render
from adaptbert.report.tables import Table
from adaptbert.report.terms import METRICS, VERDICTS, baseline_name, step_name
from adaptbert.report.text_table import aligned, comparison_table
from tests.support.known import known
from tests.support.page_reader import seen

KINDS = ["comparison", "repeated", "several"]
"""Of one replicate, of three, and of two bases."""


def cells(table: Table) -> dict[str, list[str]]:
    """First cell -> the others, in English."""
    return {row[0].text.en: [cell.text.en for cell in row[1:]] for _, row in table.rows}


def between(low: float | None, high: float | None) -> str:
    return f"{points(known(low))} to {points(known(high))}"


@pytest.mark.parametrize("kind", KINDS)
def test_page_markdown_and_text_show_the_same_tables(kind: str, request: pytest.FixtureRequest) -> None:
    comparison: Comparison = request.getfixturevalue(kind)
    page, text = seen(render(comparison)), comparison_table(comparison)
    english, _, chinese = in_markdown(comparison).partition("\n---\n")
    shown = [*map(tables.arms, comparison.tasks), *map(tables.bases, comparison.rankings)]
    for table in [*shown, tables.checkpoints(comparison), tables.steps(comparison.tasks)]:
        for _, row in table.rows:
            for cell in row:
                for each in (cell.text, *cell.notes):
                    assert all(plain(said) in plain(page) for said in (each.en, each.zh)), each
                    assert plain(each.en) in plain(english)
                    assert plain(each.zh) in plain(chinese)
    for table in [*shown, tables.checkpoints(comparison), *(tables.steps([task]) for task in comparison.tasks)]:
        for _, row in table.rows:
            said = [cell.text.en for cell, column in zip(row, table.columns, strict=True) if column.in_text]
            line = r"\s+".join(
                re.escape(re.sub("[`]", "", each).replace(MINUS, "-").replace("–", "-")) for each in said
            )
            assert re.search(f"^{line}$", text, re.MULTILINE), said
    assert MINUS not in text
    assert kind == "repeated" or max(map(len, text.splitlines())) <= 120, "of twelve runs an arm it is wider"


def plain(text: str) -> str:
    """Without what sets names as code, and what a table of Markdown escapes."""
    return re.sub(r"[`\\]|\s+", "", text)


def test_arms_have_score_interval_seeds_and_cost(repeated: Comparison) -> None:
    for task in repeated.tasks:
        shown = cells(tables.arms(task))
        assert len(shown) == len(task.arms) + len(task.baselines)
        for arm in task.arms:
            interval, cost = known(arm.interval), known(arm.cost)
            score, ends, seeds, tokens, _ = shown[f"`{arm.name}`"]
            assert (score, ends) == (points(interval.mean), between(interval.low, interval.high))
            assert re.findall(r"[\d.]+", seeds) == [points(run.score) for run in arm.runs]
            assert seeds.count(" | ") == len(arm.by_replicate) - 1
            assert float(tokens) == cost.tokens / 1e6
        for name, score in task.baselines.items():
            ends = between(score.low, score.high)
            assert shown[baseline_name(name, task.target).en] == [points(score.mean), ends, "–", "–", "–"]


def test_what_arms_lack_is_said(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    changes: dict[str, dict[str, Any]] = {
        "scratch": {"runs": [], "interval": None, "cost": None},
        "general": {"runs": task.arms[1].runs[:2]},
        "domain": {"has_own_values": True},
        "task": {"runs": [replace(run, degenerate=True) for run in task.arms[4].runs]},
    }
    arms = [replace(arm, **changes.get(arm.name, {})) for arm in task.arms]
    table = tables.arms(replace(task, arms=arms, baseline_rows=120))
    shown = cells(table)
    assert shown["`scratch`"] == ["missing", "–", "–", "–", "–"]
    assert shown["`task`"][2].endswith(" (3 of one answer only)")
    assert shown["most frequent label"][2] == "fitted on the first 120 rows"
    assert [note.en for note in table.notes] == [
        "An interval needs three seeds.",
        "Fine-tuned with values of its own: domain.",
    ]


def test_steps_have_difference_interval_p_verdict_and_price(repeated: Comparison) -> None:
    rows = {(row[0].text.en, row[1].text.en): row for _, row in tables.steps(repeated.tasks).rows}
    assert len(rows) == sum(len(task.steps) for task in repeated.tasks)
    for task in repeated.tasks:
        for step in task.steps:
            name = f"{step_name(step).en} (`{step.arm} − {step.other}`)"
            size, ends, p, verdict, price = rows[name, task.name][2:]
            difference = known(step.difference)
            assert (size.text.en, size.value) == (change(difference.mean), difference.mean)
            assert ends.text.en == f"{change(known(difference.low))} to {change(known(difference.high))}"
            assert (p.text.en != "–") == step.primary
            assert (verdict.text, verdict.chip) == (VERDICTS[step.verdict], f"verdict-{step.verdict}")
            assert re.search(r"\b[13] replicates?, 4 seeds, 300 test rows", verdict.notes[0].en)
            if step.question == "domain_text":
                assert (p.text.en, price.text.en) == ("< 0.001", "same number of tokens"), "and no p-value is 0.000"
    order = [row[0].value for row in rows.values()]
    assert order[:2] == ["pretrain"] * 2, "the tasks side by side, in the order of the questions"


def test_a_step_is_named_by_its_own_arms(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    step = replace(known(task.step("domain_transfer")), name="domain_transfer/news", variant="news", arm="news")
    task = replace(task, arms=[*task.arms, replace(task.arm("domain"), name="news")])
    own = replace(step, name="mine", question="mine", variant=None)
    names = [row[0].text.en for _, row in tables.steps([replace(task, steps=[own, step])]).rows]
    assert names == ["Domain transfer (news) (`news − general`)", "mine (`news − general`)"], "own questions come last"


def test_bases_have_every_arm_of_every_base(several: Comparison) -> None:
    for ranking in several.rankings:
        rows = [[cell.text.en for cell in row] for _, row in tables.bases(ranking).rows]
        standings = [(arm.arm, each) for arm in ranking.arms for each in arm.standings]
        assert len(rows) == len(standings) == 2 * 6
        for (arm, each), row in zip(standings, rows, strict=True):
            assert row[:3] == [f"`{arm}`", each.base, points(known(each.interval).mean)]
            beside = "–" if each.difference is None else change(each.difference.mean)
            verdict = "–" if each.verdict is None else "one replicate, no verdict"
            assert (row[4], row[-1]) == (beside, verdict), "both bases began with random weights"


def test_checkpoints_have_the_mean_the_change_and_the_ends_of_all_replicates(several: Comparison) -> None:
    table = tables.checkpoints(several)
    assert len(table.rows) == 2 * 8, "no row for each replicate"
    row = next(row for _, row in table.rows if row[0].value == "domain_transfer/domain-small")
    assert [note.en for note in row[0].notes] == ["from pretrain/small"]
    assert row[1].text.en == "3.130"
    assert [note.en for note in row[1].notes] == ["+0.080", "3.120–3.140"]
    assert [cell.text.en for cell in row[-3:]] == ["2.00", "2.80", "89.0"]


def test_random_weights_that_no_arm_has_are_measured_on_general_text_alone(comparison: Comparison) -> None:
    scratch, pretrain, *others = comparison.checkpoints
    general = {"general": scratch.before["general"]}
    scratch = replace(scratch, replicates=[replace(scratch.first, before=general, after=general)])
    pretrain = replace(pretrain, replicates=[replace(pretrain.first, before=general)])
    table = tables.checkpoints(replace(comparison, checkpoints=[scratch, pretrain, *others]))
    (_, first), (_, second), *_ = table.rows
    assert [cell.text.en != "–" for cell in first[1:5]] == [True, False, False, False]
    assert [bool(cell.notes) for cell in second[1:5]] == [True, False, False, False], "the change"
    unmeasured = replace(scratch, replicates=[replace(scratch.first, before={}, after={})])
    table = tables.checkpoints(replace(comparison, checkpoints=[unmeasured, pretrain, *others]))
    assert table.rows[0][1][0].value == "pretrain"


def test_the_masking_audit_is_reported(comparison: Comparison) -> None:
    table = tables.masks(comparison)
    assert len(table.rows) == len(comparison.checkpoints) - 1, "all but random weights"
    labels = [column.label.en for column in table.columns]
    assert "continuation (##)" in labels
    assert "Chinese" not in labels, "a class that does not occur has no column"
    _, row = table.rows[0]
    assert [cell.text.en for cell in row[1:6]] == ["15.0", "1.1", "0.0", "0", "14.8"]
    notes = [note.en for cell in row for note in cell.notes]
    assert notes == ["token, mean length 1.00 tokens", "configured 15.0", "expected 1.1", "expected <0.1", "6.0–26.2"]


def test_choice_and_cost_of_a_search_are_reported(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert tables.search(task).rows == []
    searches = [Search(replicate, 2, 2.5e-4, 16, 3.0, Cost(12_300_000, 456.78)) for replicate in (1, 2)]
    arms = [replace(arm, searches=searches) if arm.name == "domain" else arm for arm in task.arms]
    rows = tables.search(replace(task, arms=arms)).rows
    assert [note.en for _, row in rows for note in row[0].notes] == ["replicate 1", "replicate 2"]
    assert [cell.text.en for cell in rows[0][1][1:]] == ["0.00025", "16", "3", "2", "12.3", "457"]


def test_columns_are_aligned_with_chinese_names() -> None:
    lines = aligned([["任务", "f1"], ["a", "51.2"]], left=(0,)).splitlines()
    assert lines == ["任务    f1", "-" * 10, "a     51.2"]


def test_a_negative_score_has_one_kind_of_minus(comparison: Comparison) -> None:
    """A negative correlation and its interval, on the page and in the text."""
    task = comparison.tasks[0]
    below = replace(known(task.arms[0].interval), mean=-0.21, low=-0.4, high=-0.02)
    arms = [replace(arm, interval=below) for arm in task.arms]
    negative = replace(comparison, tasks=[replace(task, metric="pearson", arms=arms)])
    page = seen(render(negative))
    assert "−21.0" in page
    assert re.findall(r"(?<![\w-])-\s?\d[^\n]{0,20}|\de-\d", page) == []
    assert "-21.0  -40.0 to -2.0" in comparison_table(negative)
    assert METRICS["pearson"] == Text("Pearson's correlation", "皮尔逊相关系数")


def test_headlines_are_scores_and_differences_and_nothing_else(several: Comparison) -> None:
    first, second, *_ = several.tasks
    arms = [replace(arm, runs=[], interval=None) if arm.name == "scratch" else arm for arm in first.arms]
    steps = [replace(step, difference=None) for step in second.steps]
    tasks = [replace(first, arms=arms), replace(second, steps=steps)]
    written = headlines(replace(several, tasks=tasks))
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert list(written) == ["section"]
    small, base = written["section"]["small"], written["section"]["base"]
    assert set(small) == {*(arm.name for arm in arms), "steps", *first.baselines} - {"scratch"}
    assert small["domain"] == pytest.approx(100 * known(known(first.arm("domain")).interval).mean, abs=0.005)
    difference = known(known(first.step("domain_text")).difference)
    assert small["steps"]["domain_text"] == pytest.approx(100 * difference.mean, abs=0.005)
    assert "steps" not in base


def test_headlines_that_are_committed() -> None:
    """A few dozen columns in `dvc exp show`; and the only file that DVC takes for metrics."""
    committed = read_json(Path("metrics/metrics.json"))
    assert committed == headlines(Comparison.read(Path("metrics/comparison.json")))
    assert len(flatten(committed)) < 50
    dvc_yaml = Path("dvc.yaml").read_text("utf-8")
    assert (
        dvc_yaml.count("\n    metrics:\n      - metrics/metrics.json: {cache: false}\n")
        == dvc_yaml.count("    metrics:")
        == 1
    )
