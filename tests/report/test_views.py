"""Views of one comparison: the text table, metrics.json, the plots, and the stage that writes them."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.config.load import flatten
from adaptbert.config.schema.comparison import PRIMARY, Compare
from adaptbert.core.files import read_json
from adaptbert.report.metrics_json import headlines
from adaptbert.report.text_table import aligned, comparison_table
from stages.compare import compare
from tests.support.known import known
from tests.support.simulated import ARMS, Simulated, simulate
from tests.support.simulated_rungs import BITS


def test_table_shows_every_cell_step_and_rung(comparison: Comparison) -> None:
    table = comparison_table(comparison)
    for name in [
        *ARMS,
        "tfidf_logistic",
        "window_logistic",
        "domain_text (domain - general_long)",
        *BITS,
        "one draw, no verdict",
        "described only",
    ]:
        assert name in table, name
    assert max(map(len, table.splitlines())) <= 120


def test_the_table_has_verdicts_of_primary_questions_and_intervals_of_all(repeated: Comparison) -> None:
    table = comparison_table(repeated)
    lines = {line.split(" (")[0]: line for line in table.splitlines() if " - " in line}
    assert lines["domain_text"].endswith("<0.001  worth it"), "and no p-value is 0.000"
    assert lines["more_training"].endswith("  described only")
    for line in lines.values():
        assert len(re.findall(r"[+-]\d+\.\d to [+-]?\d+\.\d", line)) == 1
        assert bool(re.search(r"\d\.\d{3}  ", line)) == ("described only" not in line)


def test_baselines_have_intervals_in_the_table(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    for name, score in task.baselines.items():
        (line,) = [line for line in comparison_table(comparison).splitlines() if line.startswith(f"{name} ")]
        assert line.split()[1:] == [f"{100 * each:.1f}" for each in (score.mean, known(score.low))] + [
            "to",
            f"{100 * known(score.high):.1f}",
        ]


def test_columns_are_aligned_with_chinese_names() -> None:
    lines = aligned([["任务", "f1"], ["a", "51.2"]], left=(0,)).splitlines()
    assert lines == ["任务    f1", "-" * 10, "a     51.2"]


def run_stage(simulated: Simulated, folder: Path, params: Compare) -> None:
    from adaptbert.runtime.mlflow import Run

    folder.mkdir()
    ladder = folder / "plan.json"
    ladder.write_text(json.dumps({"plan": simulated.ladder.model_dump(by_alias=True)}))
    compare(
        params,
        plan=ladder,
        **{"cells" if name == "metrics" else name: path for name, path in vars(simulated.outputs).items()},
        report=folder / "reports/index.html",
        markdown=folder / "reports/index.md",
        figures=folder / "reports/figures",
        plots=folder / "reports/plots",
        comparison=folder / "metrics/comparison.json",
        metrics=folder / "metrics/metrics.json",
        run=Run(),
    )


def test_the_stage_writes_all_its_outputs_and_equal_bytes_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulated = simulate(tmp_path / "recipe", tasks=["section"])
    written = []
    for name in ("first", "second"):
        folder = tmp_path / name
        run_stage(simulated, folder, Compare(confidence=0.95, baseline_seed=1))
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        written.append({str(path.relative_to(folder)): path.read_bytes() for path in files})
    assert written[0] == written[1]
    assert {"metrics/metrics.json", "reports/index.html", "reports/plots/scores/section.csv"} <= set(written[0])
    assert {"reports/index.md", "reports/figures/arms-section.svg"} <= set(written[0])
    comparison = Comparison.read(tmp_path / "first/metrics/comparison.json")
    assert comparison.worth == 0.01, "a point"
    assert {step.name for step in comparison.tasks[0].steps if step.primary} == set(PRIMARY)
    shown = comparison_table(comparison)
    assert capsys.readouterr().out == f"{shown}\n{shown}\n"


def test_the_stage_takes_what_is_worth_having_and_what_is_asked_from_its_params(tmp_path: Path) -> None:
    values = {"min_gain": 2.5, "primary": ["which_text", "pretrain"], "questions": {"which_text": ["task", "domain"]}}
    params = Compare.model_validate({"confidence": 0.9, "baseline_seed": 1, **values})
    run_stage(simulate(tmp_path / "recipe", tasks=["section"]), tmp_path / "out", params)
    comparison = Comparison.read(tmp_path / "out/metrics/comparison.json")
    assert (comparison.worth, comparison.confidence) == (0.025, 0.9)
    (task,) = comparison.tasks
    assert {step.name for step in task.steps if step.primary} == {"which_text", "pretrain"}
    named = known(task.step("which_text"))
    assert (named.arm, named.other, named.verdict) == ("task", "domain", "one_draw")
    page = (tmp_path / "out/reports/index.html").read_text(encoding="utf-8")
    assert "The smallest gain worth having is 2.5 points (<code>compare.min_gain</code>)" in page
    assert "(90 % interval " in page
    assert "which_text: one draw, no verdict (section −" in page


def test_headlines_are_scores_and_differences_and_nothing_else(several: Comparison) -> None:
    task = several.tasks[0]
    bare = [replace(arm, runs=[], interval=None) if arm.name == "domain" else arm for arm in task.arms]
    untested = [replace(step, difference=None) for step in task.steps[1:]]
    small = replace(task, arms=bare, steps=[task.steps[0], *untested])
    written = headlines(replace(several, tasks=[small, *several.tasks[1:]]))
    assert [(name, list(bases)) for name, bases in written.items()] == [
        (name, ["small", "base"]) for name in ("section", "mention")
    ]
    scores = {arm.name: known(arm.interval).mean for arm in task.arms if arm.name != "domain"}
    scores |= {name: interval.mean for name, interval in task.baselines.items()}
    expected: dict[str, Any] = {name: round(100 * score, 2) for name, score in scores.items()}
    expected["steps"] = {"pretrain": round(100 * known(task.steps[0].difference).mean, 2)}
    assert written["section"]["small"] == expected
    assert "steps" not in headlines(replace(several, tasks=[replace(task, steps=untested)]))["section"]["small"]


def test_headlines_that_are_committed() -> None:
    """A few dozen columns in `dvc exp show`; and the only file that DVC takes for metrics."""
    committed = read_json(Path("metrics/metrics.json"))
    assert committed == headlines(Comparison.read(Path("metrics/comparison.json")))
    assert len(flatten(committed)) < 50
    dvc_yaml = Path("dvc.yaml").read_text("utf-8")
    assert dvc_yaml.count("\n    metrics:\n      - metrics/metrics.json:\n") == dvc_yaml.count("    metrics:") == 1
