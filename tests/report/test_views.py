"""Views of one comparison: comparison.json, the text table, the plots, and the stage that writes them."""

import json
import re
from pathlib import Path

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.config.load import flatten
from adaptbert.config.schema.comparison import PRIMARY, Compare
from adaptbert.core.files import read_json
from adaptbert.report.metrics_json import headlines, summary
from adaptbert.report.text_table import NO_TASKS, aligned, comparison_table
from stages.compare import compare
from tests.support.known import known
from tests.support.simulated import ARMS, Simulated, simulate
from tests.support.simulated_rows import LABELS
from tests.support.simulated_rungs import BITS


def test_summary_has_numbers_for_dvc_and_is_plain_json(comparison: Comparison) -> None:
    metrics = summary(comparison)
    assert json.loads(json.dumps(metrics, allow_nan=False)) == metrics
    section = metrics["section"]["small"]
    arm, interval = section["domain"], known(comparison.tasks[0].arms[3].interval)
    assert (arm["f1_macro"], arm["low"], arm["high"]) == pytest.approx(
        (interval.mean, interval.low, interval.high), abs=1e-6
    )
    assert set(section) == {*ARMS, "majority", "tfidf_logistic", "steps"}
    assert metrics["worth"] == comparison.worth == 0.01
    assert metrics["replicated"] == [], "one draw"
    inspection = metrics["inspection"]["section"]["small"]
    assert [label for label, *_ in inspection["classes"]] == LABELS
    assert sum(support for *_, support in inspection["classes"]) == 300
    assert sum(count for count, _, _ in inspection["curve"]) == 3 * 300
    assert len(inspection["errors"]) == 10
    assert all(row_id.startswith("test-") for row_id, _, _ in inspection["errors"])
    assert metrics["bits_per_char"]["pretrain"]["domain"] == 3.3
    assert metrics["training"]["task_transfer/section-domain"]["tokens"] == 3_050_000


def test_table_shows_every_cell_step_and_rung(comparison: Comparison) -> None:
    table = comparison_table(summary(comparison))
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


def test_a_step_is_written_with_its_verdict_and_what_it_rests_on(repeated: Comparison) -> None:
    metrics = json.loads(json.dumps(summary(repeated), allow_nan=False))
    for task in repeated.tasks:
        for step in task.steps:
            written = metrics[task.task]["small"]["steps"][step.name]
            assert (written["of"], written["verdict"]) == ([step.arm, step.other], step.verdict)
            difference = known(step.difference)
            assert [written["difference"], *written["interval"]] == pytest.approx(
                [difference.mean, difference.low, difference.high], abs=1e-6
            )
            assert {source for source, _ in written["variance"]} == {"draws", "seeds", "rows"}
            assert ("p_holm" in written) == written["primary"] == step.primary
            least = known(step.detectable)
            assert written["detectable"] == pytest.approx([least.value, least.low, least.high], abs=1e-6)
            assert ("needed" in written) == (step.needed is not None)
    assert metrics["replicated"] == [
        ["domain_text", "small", 2, 2, 0],
        ["task_transfer_after_domain", "small", 2, 0, 0],
    ]


def test_the_table_has_verdicts_of_primary_questions_and_intervals_of_all(repeated: Comparison) -> None:
    table = comparison_table(summary(repeated))
    lines = {line.split(" (")[0]: line for line in table.splitlines() if " - " in line}
    assert lines["domain_text"].endswith("<0.001  worth it"), "and no p-value is 0.000"
    assert lines["more_training"].endswith("  described only")
    for line in lines.values():
        assert len(re.findall(r"[+-]\d+\.\d to [+-]?\d+\.\d", line)) == 1
        assert bool(re.search(r"\d\.\d{3}  ", line)) == ("described only" not in line)


def test_baselines_have_intervals_in_table_and_file(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    metrics = summary(comparison)
    for name, score in task.baselines.items():
        written = metrics["section"]["small"][name]
        assert (written["f1_macro"], written["low"], written["high"]) == pytest.approx(
            (score.mean, known(score.low), known(score.high)), abs=1e-6
        )
        beside = task.beside_baselines[name]
        assert written["chosen_arm_minus_it"] == pytest.approx([beside.mean, beside.low, beside.high], abs=1e-6)
        (line,) = [line for line in comparison_table(metrics).splitlines() if line.startswith(f"{name} ")]
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
        **vars(simulated.outputs),
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
    metrics = read_json(tmp_path / "first/metrics/comparison.json")
    assert metrics["worth"] == 0.01, "a point"
    steps = metrics["section"]["small"]["steps"]
    assert {name for name, step in steps.items() if step["primary"]} == set(PRIMARY)
    shown = comparison_table(metrics)
    assert capsys.readouterr().out == f"{shown}\n{shown}\n"


def test_the_stage_takes_what_is_worth_having_and_what_is_asked_from_its_params(tmp_path: Path) -> None:
    values = {"min_gain": 2.5, "primary": ["which_text", "pretrain"], "questions": {"which_text": ["task", "domain"]}}
    params = Compare.model_validate({"confidence": 0.9, "baseline_seed": 1, **values})
    run_stage(simulate(tmp_path / "recipe", tasks=["section"]), tmp_path / "out", params)
    metrics = read_json(tmp_path / "out/metrics/comparison.json")
    assert metrics["worth"] == 0.025
    steps = metrics["section"]["small"]["steps"]
    assert {name for name, step in steps.items() if step["primary"]} == {"which_text", "pretrain"}
    assert (steps["which_text"]["of"], steps["which_text"]["verdict"]) == (["task", "domain"], "one_draw")
    page = (tmp_path / "out/reports/index.html").read_text(encoding="utf-8")
    assert "The smallest gain worth having is 2.5 points (<code>compare.min_gain</code>)" in page
    assert "(90 % interval " in page
    assert "which_text: one draw, no verdict (section −" in page


def test_headlines_are_scores_and_differences_and_nothing_else() -> None:
    scratch = {"f1_macro": 0.123456, "low": 0.1, "high": 0.2, "seeds": [[1, 0.1]], "rung": ["scratch"]}
    steps = {
        "climb": {"of": ["domain", "scratch"], "verdict": "untested"},
        "pretrain": {"of": ["general", "scratch"], "verdict": "descriptive", "difference": -0.00001},
    }
    small = {"scratch": scratch, "domain": {}, "majority": {"f1_macro": 0.05}, "steps": steps}
    whole = {
        "section": {"small": small, "base": {"domain": {"f1_macro": 0.25}, "steps": {}}},
        "mention": {"small": {"domain": {"f1_span": 0.5}, "steps": {}}},
        **{key: {"section": {"small": {"ece": 0.1}}} for key in NO_TASKS},
    }
    assert headlines(whole) == {
        "section": {
            "small": {"scratch": 12.35, "majority": 5.0, "steps": {"pretrain": 0.0}},
            "base": {"domain": 25.0},
        },
        "mention": {"small": {"domain": 50.0}},
    }


def test_headlines_that_are_committed() -> None:
    """A few dozen columns in `dvc exp show`; and the only file that DVC takes for metrics."""
    committed = read_json(Path("metrics/metrics.json"))
    assert committed == headlines(read_json(Path("metrics/comparison.json")))
    assert len(flatten(committed)) < 50
    dvc_yaml = Path("dvc.yaml").read_text("utf-8")
    assert dvc_yaml.count("\n    metrics:\n      - metrics/metrics.json:\n") == dvc_yaml.count("    metrics:") == 1
