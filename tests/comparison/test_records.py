"""The comparison of a simulated recipe has the true verdicts, shows what is missing, and is equal in all its views."""

import dataclasses
from pathlib import Path
from statistics import mean

import pytest

from adaptbert.base.files import read_json, write_json
from adaptbert.comparison.read_rungs import on_checkpoints
from adaptbert.comparison.records import Comparison
from adaptbert.comparison.report.page import render
from adaptbert.comparison.report.sentences import rungs
from adaptbert.comparison.statistics.verdicts import GAINS, Verdict
from adaptbert.comparison.tables.metrics_json import summary
from adaptbert.comparison.tables.text_table import comparison_table
from adaptbert.rows.labelled_set import split, subset
from adaptbert.rows.task_description import TaskDescription
from tests.support.known import known
from tests.support.simulated import LIFTED, Simulated, compared, simulate
from tests.support.simulated_rows import LABELS
from tests.support.simulated_rungs import BITS
from tests.support.tiny_tasks import baseline_scores

EFFECTS = {*GAINS, "loss"}
PRIMARY_OF_ALL = {"domain_text", "task_transfer_after_domain"}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    return simulate(tmp_path_factory.mktemp("recipe"), seeds=range(1, 9), accuracy=LIFTED, dice_seed=1)


@pytest.fixture(scope="module")
def comparison(simulated: Simulated) -> Comparison:
    return compared(simulated)


def verdicts(comparison: Comparison, name: str) -> set[Verdict]:
    """Of one step on all tasks."""
    steps = [task.step(name) for task in comparison.tasks]
    return {step.verdict for step in steps if step is not None}


def test_a_real_lift_is_worth_it_and_no_other(repeated: Comparison) -> None:
    assert verdicts(repeated, "domain_text") == {"worth_it"}
    assert not verdicts(repeated, "task_transfer_after_domain") & EFFECTS
    for task in repeated.tasks:
        for step in task.steps:
            assert step.primary == (step.name in PRIMARY_OF_ALL)
            assert (step.verdict == "descriptive") == (step.p_holm is None) == (not step.primary)
            assert step.difference is not None
            assert step.difference.low is not None, "what is only described has an interval as well"


def test_scores_are_those_of_the_predictions(simulated: Simulated, comparison: Comparison) -> None:
    """The confusion matrix, counted from the predictions alone, gives back the accuracy of the metrics file."""
    task = comparison.tasks[0]
    assert task.inspection is not None
    cell = read_json(simulated.cell(str(task.chosen)))
    counts = known(task.inspection.confusion).counts
    total = sum(sum(row.values()) for row in counts.values())
    accuracy = sum(seed["test/accuracy"] for seed in cell["seeds"]) / len(cell["seeds"])
    assert sum(counts[label][label] for label in counts) / total == pytest.approx(accuracy)
    assert known(task.inspection.calibration).accuracy == pytest.approx(accuracy)
    by_seed = zip(*(scores.f1 for scores in task.inspection.classes), strict=True)
    macro = [sum(scores) / len(LABELS) for scores in by_seed]
    assert macro == pytest.approx([seed["test/f1_macro"] for seed in cell["seeds"]])


def test_the_dev_split_chooses(simulated: Simulated, tmp_path: Path) -> None:
    again = simulate(tmp_path, tasks=["section"])
    path = again.cell("scratch")
    cell = read_json(path)
    for seed in cell["seeds"]:
        seed["dev/f1_macro"] = 0.99
    write_json(path, cell)
    assert compared(again).tasks[0].chosen == "scratch"


def test_baselines_are_fitted_on_as_many_rows_as_the_arms(simulated: Simulated, comparison: Comparison) -> None:
    folder = simulated.outputs.data / "section"
    assert [task.labels for task in comparison.tasks] == [250, 250]
    described = TaskDescription(task_type="single_sentence", target="class", labels=[])
    rows = {name: split(folder, name) for name in ("train", "dev", "test")}
    by_seed = [
        baseline_scores(described, subset(rows["train"], 250, seed), rows["dev"], rows["test"], 1)
        for seed in range(1, 9)
    ]
    assert {name: score.mean for name, score in comparison.tasks[0].baselines.items()} == {
        name: pytest.approx(mean(scores[name]["f1_macro"] for scores in by_seed)) for name in by_seed[0]
    }
    assert set(comparison.tasks[1].baselines) == {"word_majority", "window_logistic"}


def test_baselines_have_intervals_and_are_compared_with_the_chosen_arm_row_by_row(comparison: Comparison) -> None:
    for task in comparison.tasks:
        chosen = known(task.arm(str(task.chosen)))
        assert set(task.beside_baselines) == set(task.baselines)
        for name, score in task.baselines.items():
            assert set(score.sources) == {"rows", "seeds"}, "test rows, and the labels of each seed"
            assert 0 <= known(score.low) < score.mean < known(score.high) <= 1
            beside = task.beside_baselines[name]
            assert beside.mean == pytest.approx(known(chosen.interval).mean - score.mean)
            assert set(known(beside.variance).parts) == {"seeds", "rows"}
            assert known(beside.low) > 0, "beyond doubt better than a linear model"


def test_without_predictions_no_interval_holds_test_rows(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    (made.root / "predictions/section-domain-small-1.parquet").unlink()
    (task,) = compared(made).tasks
    step = known(task.step("domain_text"))
    assert step.difference is not None
    assert set(known(step.difference.variance).parts) == {"seeds"}
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
    for rung in comparison.rungs:
        assert (rung.after["general"], rung.after["domain"]) == BITS[rung.name][:2]
        assert rung.curve[0][1] == rung.before
        assert rung.curve[-1] == (rung.tokens, pytest.approx(rung.after))


def test_a_public_checkpoint_is_not_taken_for_random_weights(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    path = made.root / "metrics/pretrain/small.json"
    metrics = read_json(path)
    write_json(
        path, metrics | {"from": "models/init/small", "tokens": 0, "steps": 0, "curve": [], "before": metrics["after"]}
    )
    public = compared(made)
    assert public.began_from == {"small": "models/init/small"}
    published = {rung.group for rung in public.rungs if not rung.climb.is_random}
    rungs_of = {rung.name: rung for rung in public.rungs}
    assert on_checkpoints(made.ladder, rungs_of, made.root / "metrics") == published
    trained = {name: dataclasses.replace(rung, tokens=rung.tokens or 1) for name, rung in rungs_of.items()}
    assert on_checkpoints(made.ladder, trained, made.root / "metrics") == set(), "general pre-training went on here"
    assert public.rung("scratch").after == {}
    assert public.rung("pretrain").after["general"] == 3.05
    assert "General pre-training started from models/init/small" in rungs.reading(public)[0].en
    table = render(public).partition('aria-labelledby="table-bits"')[2].partition("</table>")[0]
    assert "models/init/small</small>" in table, "not from random weights"
    assert ">scratch<" not in table
    assert ">scratch<" in render(compared(simulate(tmp_path / "random", tasks=["section"])))


def test_what_is_missing_is_shown_as_missing(tmp_path: Path) -> None:
    holed = simulate(tmp_path, tasks=["section"])
    holed.cell("domain").unlink()
    (holed.root / "metrics/domain_transfer/general-small-1.json").unlink()
    comparison = compared(holed)
    task = comparison.tasks[0]
    arm = known(task.arm("domain"))
    assert arm.missing
    assert {step.name: step.verdict for step in task.steps}["domain_transfer"] == "untested"
    assert comparison.rung("domain_transfer/general").missing
    assert comparison.rung("domain_transfer/general").total is None
    assert [arm.cost for arm in task.arms if arm.name == "general_long"] == [None]
    assert summary(comparison)["section"]["small"]["domain"] == {}
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


def test_degenerate_seeds_are_counted_in_the_mean(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    path = made.cell("task")
    cell = read_json(path)
    cell["seeds"][1] |= {"degenerate": True, "test/f1_macro": 0.07}
    write_json(path, cell)
    arm = known(compared(made).tasks[0].arm("task"))
    assert arm.degenerate == [(1, 2)]
    assert known(arm.interval).n == 3
    assert known(arm.interval).mean < 0.45


def test_left_over_folders_are_not_sources(simulated: Simulated, comparison: Comparison) -> None:
    assert [source.name for source in comparison.sources] == ["domain", "general", "section", "mention"]
    assert all(source.rows == source.kept + sum(source.rejected.values()) for source in comparison.sources)
    assert comparison.demonstration
