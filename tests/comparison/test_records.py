"""The comparison of a simulated recipe has the true verdicts, shows what is missing, and is equal in all its views."""

from pathlib import Path
from statistics import mean

import pytest

from adaptbert.comparison.checkpoints import published, read_checkpoints
from adaptbert.comparison.records import Comparison
from adaptbert.core.files import read_json
from adaptbert.data.labelled_set import split, subset
from adaptbert.data.task_description import TaskDescription
from adaptbert.report.page import render
from adaptbert.report.sentences import rungs
from adaptbert.report.text_table import comparison_table
from tests.support.known import known
from tests.support.page_reader import Reader
from tests.support.simulated import Simulated, compared, edited, simulate
from tests.support.simulated_rows import LABELS
from tests.support.simulated_rungs import BITS
from tests.support.tiny_tasks import baseline_scores


def test_scores_are_those_of_the_predictions(made: Simulated) -> None:
    """The confusion matrix, counted from the predictions alone, gives back the accuracy of the metrics file."""
    (task,) = compared(made).tasks
    cell = read_json(made.cell(str(task.chosen)))
    inspection = known(task.inspection)
    counts = known(inspection.confusion).counts
    total = sum(sum(row.values()) for row in counts.values())
    accuracy = sum(seed["test/accuracy"] for seed in cell["seeds"]) / len(cell["seeds"])
    assert sum(counts[label][label] for label in counts) / total == pytest.approx(accuracy)
    assert known(inspection.calibration).accuracy == pytest.approx(accuracy)
    by_seed = zip(*(scores.f1 for scores in inspection.classes), strict=True)
    macro = [sum(scores) / len(LABELS) for scores in by_seed]
    assert macro == pytest.approx([seed["test/f1_macro"] for seed in cell["seeds"]])


def test_the_dev_split_chooses(made: Simulated) -> None:
    with edited(made.cell("scratch")) as cell:
        for seed in cell["seeds"]:
            seed["dev/f1_macro"] = 0.99
    assert compared(made).tasks[0].chosen == "scratch"


def test_baselines_are_fitted_on_as_many_rows_as_the_arms(made: Simulated) -> None:
    folder = made.outputs.data / "section"
    (task,) = compared(made).tasks
    assert task.labels == 250
    described = TaskDescription(type="text-classification", labels=[])
    rows = {name: split(folder, name) for name in ("train", "dev", "test")}
    by_seed = [
        baseline_scores(described, subset(rows["train"], 250, seed), rows["dev"], rows["test"], 1) for seed in (1, 2, 3)
    ]
    assert {name: score.mean for name, score in task.baselines.items()} == {
        name: pytest.approx(mean(scores[name]["f1_macro"] for scores in by_seed)) for name in by_seed[0]
    }


def test_baselines_have_intervals_and_are_compared_with_the_chosen_arm_row_by_row(repeated: Comparison) -> None:
    for task in repeated.tasks:
        chosen = known(task.arm(str(task.chosen)))
        assert set(task.beside_baselines) == set(task.baselines)
        for name, score in task.baselines.items():
            assert set(score.sources) == {"rows", "seeds"}, "test rows, and the labels of each seed"
            assert 0 <= known(score.low) < score.mean < known(score.high) <= 1
            beside = task.beside_baselines[name]
            assert beside.mean == pytest.approx(known(chosen.interval).mean - score.mean)
            assert set(known(beside.variance)) == {"replicates", "seeds", "rows"}
            assert known(beside.low) > 0, "beyond doubt better than a linear model"


def test_without_predictions_no_interval_holds_test_rows(made: Simulated) -> None:
    (made.root / "predictions/section-domain-small-1.parquet").unlink()
    (task,) = compared(made).tasks
    step = known(task.step("domain_text"))
    assert set(known(known(step.difference).variance)) == {"seeds"}
    assert {arm.interval.sources for arm in task.arms if arm.interval is not None} == {("seeds",)}
    assert {score.low for score in task.baselines.values()} == {None}


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
    for _, each in comparison.trained():
        assert (each.after["general"], each.after["domain"]) == BITS[each.name][:2]
        assert each.curve[0][1] == each.before
        assert each.curve[-1] == (known(each.cost).tokens, pytest.approx(each.after))


def test_a_public_checkpoint_is_not_taken_for_random_weights(made: Simulated, comparison: Comparison) -> None:
    with edited(made.root / "metrics/pretrain/small.json") as rung:
        rung |= {"from": "models/init/small", "tokens": 0, "steps": 0, "curve": [], "before": rung["after"]}
    public = compared(made)
    assert public.began_from == {"small": "models/init/small"}
    rungs_of = {each.name: each for each in public.checkpoints}
    assert published(read_checkpoints(made.ladder, made.root / "metrics")) == rungs_of.keys() - {"scratch"}
    with edited(made.root / "metrics/pretrain/small.json") as rung:
        rung["tokens"] = 1
    assert published(read_checkpoints(made.ladder, made.root / "metrics")) == set(), "general pre-training went on here"
    assert rungs_of["scratch"].after == {}
    assert rungs_of["pretrain"].after["general"] == 3.05
    assert "General pre-training started from models/init/small" in rungs.reading(public)[0].en
    table = render(public).partition('aria-labelledby="table-bits"')[2].partition("</table>")[0]
    assert "models/init/small</small>" in table, "not from random weights"
    assert ">scratch<" not in table
    assert ">scratch<" in render(comparison)


def test_what_is_missing_is_shown_as_missing(made: Simulated) -> None:
    made.cell("domain").unlink()
    (made.root / "metrics/domain_transfer/general-small-1.json").unlink()
    comparison = compared(made)
    task = comparison.tasks[0]
    arm = known(task.arm("domain"))
    assert arm.missing
    assert {step.name: step.verdict for step in task.steps}["domain_transfer"] == "untested"
    missing = next(each for each in comparison.checkpoints if each.name == "domain_transfer/general")
    assert missing.missing
    assert missing.first.total is None
    assert [arm.cost for arm in task.arms if arm.name == "general_long"] == [None]
    assert comparison.one_more_replicate is None
    table = comparison_table(comparison).splitlines()
    assert [line.split() for line in table if line.startswith("domain  ")] == [["domain", "missing"]]
    assert any(line.startswith("domain_transfer/general ") and "missing" in line for line in table)
    assert "Not testable, without a result: section-domain." in render(comparison)


def test_without_any_result_there_are_still_baselines(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], accuracy={})
    for path in [*(made.root / "metrics").glob("*_transfer/*.json"), made.root / "metrics/pretrain/small.json"]:
        path.unlink()
    comparison = compared(made)
    (task,) = comparison.tasks
    assert (task.chosen, task.inspection, task.labels) == (None, None, 300)
    assert "tfidf_logistic" in task.baselines
    page = render(comparison)
    assert Reader(page).open == []
    assert "No arm of this task has a result yet." in page


def test_degenerate_seeds_are_counted_in_the_mean(made: Simulated) -> None:
    with edited(made.cell("task")) as cell:
        cell["seeds"][1] |= {"degenerate": True, "test/f1_macro": 0.07}
    comparison = compared(made)
    arm = known(comparison.tasks[0].arm("task"))
    assert [(run.replicate, run.seed) for run in arm.degenerate] == [(1, 2)]
    assert known(arm.interval).n == 3
    assert known(arm.interval).mean < 0.45
    assert "Runs that predict one class only, included in the mean: task (1 of 3)." in render(comparison)


def test_sources_are_those_that_were_validated(comparison: Comparison) -> None:
    assert [source.name for source in comparison.sources] == ["domain", "general", "section", "mention"]
    assert all(source.rows == source.kept + sum(source.rejected.values()) for source in comparison.sources)
    assert comparison.demonstration
