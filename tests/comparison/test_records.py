"""The comparison of a simulated recipe has the true verdicts, shows what is missing, and is equal in all its views."""

import csv
import dataclasses
import json
from pathlib import Path

import pytest

from adaptbert.base.files import read_json, write_json
from adaptbert.comparison.assemble import compare_all
from adaptbert.comparison.baselines import baseline_scores
from adaptbert.comparison.metrics_json import summary
from adaptbert.comparison.plot_data import write_plots
from adaptbert.comparison.records import Comparison
from adaptbert.comparison.report import rung_sentences as rungs
from adaptbert.comparison.text_table import aligned, comparison_table
from adaptbert.rows.labelled_set import split, subset
from adaptbert.rows.task_description import TaskDescription
from stages.compare import CompareParams, compare
from tests.support.simulated import ACCURACY, ARMS, BITS, LABELS, TYPES, Simulated, simulate

LIFTED = dict(ACCURACY) | {"general_long": 0.60, "domain": 0.72, "domain_task": 0.72}
"""A domain text that helps beyond doubt, a task step after it that brings nothing."""


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    return simulate(tmp_path_factory.mktemp("recipe"), seeds=range(1, 9), accuracy=LIFTED, draw=1)


@pytest.fixture(scope="module")
def comparison(simulated: Simulated) -> Comparison:
    return compared(simulated)


def compared(simulated: Simulated) -> Comparison:
    return compare_all(simulated.ladder, simulated.outputs, confidence=0.95, baseline_seed=1)


def test_a_real_lift_is_shown_and_no_other(comparison: Comparison) -> None:
    for task in comparison.tasks:
        verdicts = {step.name: step.verdict for step in task.steps}
        assert verdicts["domain_transfer"] == verdicts["domain_text"] == verdicts["climb"] == "gain"
        assert verdicts["task_transfer_after_domain"] == "not_shown"


def test_a_step_that_harms_is_called_a_loss(tmp_path: Path) -> None:
    harmed = simulate(tmp_path, seeds=range(1, 9), accuracy=dict(ACCURACY) | {"task": 0.40}, tasks=["section"])
    step = compared(harmed).tasks[0].step("task_transfer")
    assert step is not None
    assert step.verdict == "loss"


def test_equal_arms_are_never_shown_to_differ(tmp_path: Path) -> None:
    shown = 0
    for draw in range(6):
        equal = simulate(
            tmp_path / str(draw), accuracy=dict.fromkeys(ACCURACY, 0.6), draw=draw, test_rows=80, tasks=["section"]
        )
        shown += any(step.verdict in ("gain", "loss") for step in compared(equal).tasks[0].steps)
    assert shown <= 1


def test_domain_transfer_is_more_training_and_text(comparison: Comparison) -> None:
    for task in comparison.tasks:
        means = {step.name: step.difference.interval.mean for step in task.steps if step.difference is not None}
        assert means["domain_transfer"] == pytest.approx(means["more_training"] + means["domain_text"])


def test_scores_are_those_of_the_predictions(simulated: Simulated, comparison: Comparison) -> None:
    """The confusion matrix, counted from the predictions alone, gives back the accuracy of the metrics file."""
    task = comparison.tasks[0]
    assert task.inspection is not None
    assert task.inspection.confusion is not None
    assert task.inspection.calibration is not None
    cell = read_json(simulated.root / f"metrics/finetune/section-{task.chosen}.json")
    counts = task.inspection.confusion.counts
    total = sum(sum(row.values()) for row in counts.values())
    accuracy = sum(seed["test/accuracy"] for seed in cell["seeds"]) / len(cell["seeds"])
    assert sum(counts[label][label] for label in counts) / total == pytest.approx(accuracy)
    assert task.inspection.calibration.accuracy == pytest.approx(accuracy)
    by_seed = zip(*(scores.f1 for scores in task.inspection.classes), strict=True)
    macro = [sum(scores) / len(LABELS) for scores in by_seed]
    assert macro == pytest.approx([seed["test/f1_macro"] for seed in cell["seeds"]])


def test_spans_are_counted_by_type(comparison: Comparison) -> None:
    inspection = comparison.tasks[1].inspection
    assert inspection is not None
    assert inspection.confusion is not None
    assert inspection.confusion.labels == ["O", *TYPES]
    assert [scores.label for scores in inspection.classes] == TYPES


def test_the_suite_average_is_the_mean_of_its_parts(comparison: Comparison) -> None:
    assert [average.arm for average in comparison.suite] == list(ARMS)
    for average in comparison.suite:
        for seed, score in average.scores.items():
            own = [arm.scores[seed] for task in comparison.tasks for arm in task.arms if arm.name == average.arm]
            assert score == pytest.approx(sum(own) / 2)
        assert average.interval.n == 8
        assert average.interval.mean == pytest.approx(sum(average.parts.values()) / 2)


def test_the_dev_split_chooses(simulated: Simulated, tmp_path: Path) -> None:
    again = simulate(tmp_path, tasks=["section"])
    path = again.root / "metrics/finetune/section-scratch.json"
    cell = read_json(path)
    for seed in cell["seeds"]:
        seed["dev/f1_macro"] = 0.99
    write_json(path, cell)
    assert compared(again).tasks[0].chosen == "scratch"


def test_baselines_are_fitted_on_as_many_rows_as_the_arms(simulated: Simulated, comparison: Comparison) -> None:
    folder = simulated.outputs.data / "section"
    assert [task.labels for task in comparison.tasks] == [250, 250]
    expected = baseline_scores(
        TaskDescription(task_type="single_sentence", target="class", labels=[]),
        subset(split(folder, "train"), 250),
        split(folder, "dev"),
        split(folder, "test"),
        1,
    )
    assert comparison.tasks[0].baselines == {name: scores["f1_macro"] for name, scores in expected.items()}
    assert set(comparison.tasks[1].baselines) == {"word_majority", "window_logistic"}


def test_costs_are_summed_along_the_ladder(comparison: Comparison) -> None:
    tokens = {arm.name: arm.cost.tokens for arm in comparison.tasks[0].arms if arm.cost is not None}
    assert tokens == {
        "scratch": 0,
        "general": 800_000,
        "general_long": 2_800_000,
        "domain": 2_800_000,
        "task": 1_050_000,
        "domain_task": 3_050_000,
    }


def test_every_rung_is_measured_on_every_text(comparison: Comparison) -> None:
    assert comparison.heldout == ["general", "domain", "mention", "section"]
    for rung in comparison.rungs:
        assert (rung.after["general"], rung.after["domain"]) == BITS[rung.name][:2]
        assert rung.curve[0][1] == rung.before
        assert rung.curve[-1] == (rung.tokens, pytest.approx(rung.after))


def test_a_public_checkpoint_is_not_taken_for_random_weights(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    path = made.root / "metrics/pretrain.json"
    metrics = read_json(path)
    write_json(
        path, metrics | {"from": "models/init", "tokens": 0, "steps": 0, "curve": [], "before": metrics["after"]}
    )
    public = compared(made)
    assert public.began_from == "models/init"
    assert public.rung("scratch").after == {}
    assert public.rung("pretrain").after["general"] == 3.05
    assert "started from models/init" in rungs.reading(public)[0].en


def test_what_is_missing_is_shown_as_missing(tmp_path: Path) -> None:
    holed = simulate(tmp_path, tasks=["section"])
    (holed.root / "metrics/finetune/section-domain.json").unlink()
    (holed.root / "metrics/domain_transfer/general.json").unlink()
    comparison = compared(holed)
    task = comparison.tasks[0]
    arm = task.arm("domain")
    assert arm is not None
    assert arm.missing
    assert {step.name: step.verdict for step in task.steps}["domain_transfer"] == "untested"
    assert comparison.rung("domain_transfer/general").missing
    assert comparison.rung("domain_transfer/general").total is None
    assert [arm.cost for arm in task.arms if arm.name == "general_long"] == [None]
    assert summary(comparison)["section"]["domain"] == {}
    table = comparison_table(summary(comparison)).splitlines()
    assert [line.split() for line in table if line.startswith("domain  ")] == [["domain", "missing"]]
    assert any(line.startswith("domain_transfer/general ") and "missing" in line for line in table)


def test_without_any_cell_there_are_still_baselines(tmp_path: Path) -> None:
    bare = simulate(tmp_path, tasks=["section"])
    for path in (bare.root / "metrics/finetune").iterdir():
        path.unlink()
    task = compared(bare).tasks[0]
    assert (task.chosen, task.inspection) == (None, None)
    assert task.labels == 300
    assert "tfidf_logistic" in task.baselines


def test_only_questions_whose_arms_are_planned_are_answered(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    cells = {key: cell for key, cell in made.ladder.finetune.items() if cell.arm in ("general", "domain")}
    fewer = dataclasses.replace(made, ladder=made.ladder.model_copy(update={"finetune": cells}))
    steps = compared(fewer).tasks[0].steps
    assert [step.name for step in steps] == ["domain_transfer"]
    assert steps[0].difference is not None
    assert steps[0].p_holm == steps[0].difference.p


def test_degenerate_seeds_are_counted_in_the_mean(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    path = made.root / "metrics/finetune/section-task.json"
    cell = read_json(path)
    cell["seeds"][1] |= {"degenerate": True, "test/f1_macro": 0.07}
    write_json(path, cell)
    arm = compared(made).tasks[0].arm("task")
    assert arm is not None
    assert arm.interval is not None
    assert arm.degenerate == [2]
    assert arm.interval.n == 3
    assert arm.interval.mean < 0.45


def test_left_over_folders_are_not_sources(simulated: Simulated, comparison: Comparison) -> None:
    assert [source.name for source in comparison.sources] == ["domain", "general", "section", "mention"]
    assert all(source.rows == source.kept + sum(source.rejected.values()) for source in comparison.sources)
    assert comparison.demonstration


def test_summary_has_numbers_for_dvc_and_is_plain_json(comparison: Comparison) -> None:
    metrics = summary(comparison)
    assert json.loads(json.dumps(metrics, allow_nan=False)) == metrics
    arm, interval = metrics["section"]["domain"], comparison.tasks[0].arms[3].interval
    assert interval is not None
    assert (arm["f1_macro"], arm["low"], arm["high"]) == pytest.approx(
        (interval.mean, interval.low, interval.high), abs=1e-6
    )
    assert set(metrics["section"]) == {*ARMS, "majority", "tfidf_logistic", "steps"}
    average = comparison.suite[3]
    assert metrics["suite"]["domain"]["average"] == pytest.approx(average.interval.mean, abs=1e-6)
    assert metrics["suite"]["domain"]["parts"] == [[name, round(score, 6)] for name, score in average.parts.items()]
    inspection = metrics["inspection"]["section"]
    assert [label for label, *_ in inspection["classes"]] == LABELS
    assert sum(support for *_, support in inspection["classes"]) == 300
    assert sum(count for count, _, _ in inspection["curve"]) == 8 * 300
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
        "gain shown",
        "mean over tasks, of unlike metrics",
        "mention f1_span",
    ]:
        assert name in table, name
    assert max(map(len, table.splitlines())) <= 120


def test_one_task_has_no_suite_average(tmp_path: Path) -> None:
    comparison = compared(simulate(tmp_path, tasks=["section"]))
    assert comparison.suite == []
    assert "suite" not in summary(comparison)
    assert "mean over tasks" not in comparison_table(summary(comparison))


def test_columns_are_aligned_with_chinese_names() -> None:
    lines = aligned([["任务", "f1"], ["a", "51.2"]], left=(0,)).splitlines()
    assert lines == ["任务    f1", "-" * 10, "a     51.2"]


def test_plots_hold_every_seed_and_every_point(comparison: Comparison, tmp_path: Path) -> None:
    write_plots(comparison, tmp_path / "plots")
    with (tmp_path / "plots/scores/section.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 * 8
    assert {row["arm"] for row in rows} == set(ARMS)
    with (tmp_path / "plots/bits_per_char/domain.csv").open(encoding="utf-8") as file:
        ends = {row["rung"]: (int(row["tokens"]), float(row["bits_per_char"])) for row in csv.DictReader(file)}
    assert ends["task_transfer/section-domain"] == (3_050_000, pytest.approx(2.46))
    assert (tmp_path / "plots/confusion/mention.csv").is_file()


def test_the_stage_writes_all_its_outputs_and_equal_bytes_again(
    simulated: Simulated, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from adaptbert.runtime.tracking.run import Run

    written = []
    for name in ("first", "second"):
        folder = tmp_path / name
        compare(
            CompareParams(confidence=0.95, baseline_seed=1),
            ladder=simulated.ladder,
            **vars(simulated.outputs),
            report=folder / "reports/index.html",
            plots=folder / "reports/plots",
            comparison=folder / "metrics/comparison.json",
            metrics=folder / "metrics/metrics.json",
            run=Run(),
        )
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        written.append({str(path.relative_to(folder)): path.read_bytes() for path in files})
    assert written[0] == written[1]
    assert {"metrics/metrics.json", "reports/index.html", "reports/plots/scores/section.csv"} <= set(written[0])
    shown = comparison_table(read_json(tmp_path / "first/metrics/comparison.json"))
    assert capsys.readouterr().out == f"{shown}\n{shown}\n"
