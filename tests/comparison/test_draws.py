"""Several draws and starts: a seed has the mean of its draws, every run is kept, and no start is mixed with another."""

import csv
from pathlib import Path
from statistics import mean

import pytest

from adaptbert.comparison.records import Comparison, Cost
from adaptbert.report import overview
from adaptbert.report.plot_data import write_plots
from adaptbert.report.text_table import comparison_table
from adaptbert.tasks.metrics.cell_metrics import CellMetrics
from tests.support.known import known
from tests.support.simulated import Simulated, compared, edited, simulate
from tests.support.simulated_rungs import BITS, DRAWS_APART

STARTS, SEEDS = ("small", "base"), (1, 2, 3)


def test_a_seed_has_the_mean_of_its_draws_and_every_run_is_kept(several_recipe: Simulated, several: Comparison) -> None:
    for task in several.tasks:
        domain, general = known(task.arm("domain")), known(task.arm("general"))
        assert (domain.planned, general.planned) == ([1, 2], [0])
        for draw in (1, 2):
            cell = CellMetrics.read(
                several_recipe.root / f"metrics/finetune/{task.task}-domain-{task.base}-{draw}.json"
            )
            assert domain.by_replicate[draw] == {seed.seed: seed.test[task.metric] for seed in cell.seeds}
        assert domain.scores == {seed: mean(domain.by_replicate[draw][seed] for draw in (1, 2)) for seed in SEEDS}
        assert general.scores == general.by_replicate[0]
        assert (len(domain.runs), len(general.runs)) == (6, 3)
        assert known(domain.interval).n == 3
        assert set(known(domain.interval).sources) == {"replicates", "seeds", "rows"}
        assert set(known(general.interval).sources) == {"seeds", "rows"}, "it has no draws of its own"


def test_questions_are_asked_within_a_start(several: Comparison) -> None:
    assert [task.name for task in several.tasks] == ["section/small", "section/base", "mention/small", "mention/base"]
    for task in several.tasks:
        step = known(task.step("domain_transfer"))
        difference = known(step.difference)
        domain, general = known(task.arm("domain")), known(task.arm("general"))
        expected = mean(domain.scores[seed] - general.scores[seed] for seed in SEEDS)
        assert difference.mean == pytest.approx(expected)
        assert (step.replicates, difference.replicates) == (2, 2)
        assert set(known(difference.variance)) == {"replicates", "seeds", "rows"}


def test_an_arm_is_inspected_over_all_its_draws(several: Comparison) -> None:
    for task in several.tasks:
        arm = known(task.arm(str(task.chosen)))
        assert known(task.inspection).runs == len(arm.runs)
        scores = [score for draw in arm.by_replicate.values() for score in draw.values()]
        by_run = zip(*(each.f1 for each in known(task.inspection).classes), strict=True)
        if task.metric == "f1_macro":
            assert [sum(f1) / len(f1) for f1 in by_run] == pytest.approx(scores)


def test_the_draws_of_a_rung_stand_together(several: Comparison) -> None:
    groups = {each.name: each for each in several.checkpoints}
    assert len(groups) == 2 * len(BITS)
    domain = groups["domain_transfer/domain-base"]
    assert [(each.name, each.number) for each in domain.replicates] == [
        ("domain_transfer/domain-base-1", 1),
        ("domain_transfer/domain-base-2", 2),
    ]
    assert domain.path == "domain_transfer/domain"
    assert domain.below == "pretrain/base"
    bits = BITS["domain_transfer/domain"][0]
    assert domain.each("general") == pytest.approx([bits, bits + DRAWS_APART])
    assert domain.after["general"] == pytest.approx(bits + DRAWS_APART / 2)
    assert groups["task_transfer/section-domain-base"].below == "domain_transfer/domain-base"


def test_one_more_replicate_costs_what_the_first_did(several_recipe: Simulated, several: Comparison) -> None:
    rungs = [known(each.cost) for _, each in several.trained() if each.number == 1]
    cells = [key for key, cell in several_recipe.ladder.finetune.items() if cell.replicate == 1]
    assert (len(rungs), len(cells)) == (2 * 6, 2 * 2 * 4)
    fine_tuning = len(cells) * len(SEEDS)
    assert several.one_more_replicate == Cost(
        sum(rung.tokens for rung in rungs) + fine_tuning * 64_000,
        pytest.approx(sum(rung.tflop for rung in rungs) + fine_tuning * 0.4),
    )


def test_a_draw_without_metrics_is_missing_and_the_others_count(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], draws=2)
    whole = known(compared(made).tasks[0].arm("domain"))
    (made.root / "metrics/finetune/section-domain-small-2.json").unlink()
    comparison = compared(made)
    (task,) = comparison.tasks
    arm = known(task.arm("domain"))
    assert (arm.planned, list(arm.by_replicate)) == ([1, 2], [1])
    assert arm.scores == whole.by_replicate[1]
    verdicts = {step.name: (step.verdict, step.replicates) for step in task.steps}
    assert verdicts["domain_text"] == verdicts["task_transfer_after_domain"] == ("one_draw", 1)
    assert overview.heading(comparison).en == "No step is shown to help"


def test_plots_have_a_row_for_every_run(several: Comparison, tmp_path: Path) -> None:
    write_plots(several, tmp_path / "plots")
    with (tmp_path / "plots/scores/section.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    runs = {(row["start"], row["arm"], row["draw"], row["seed"]) for row in rows}
    assert len(runs) == len(rows) == 2 * (2 * 3 + 4 * 2 * 3)
    assert {row["draw"] for row in rows if row["arm"] == "general"} == {"0"}
    with (tmp_path / "plots/bits_per_char/domain.csv").open(encoding="utf-8") as file:
        ends = {(row["rung"], row["draw"]): [*row.values()][-2:] for row in csv.DictReader(file)}
    assert ends["task_transfer/section-domain-base", "1"] == ["3050000", "2.46"], "with the rungs below"
    assert ("domain_transfer/domain-base", "2") in ends
    names = {path.name for path in (tmp_path / "plots/confusion").iterdir()}
    assert names == {"section-small.csv", "section-base.csv", "mention-small.csv", "mention-base.csv"}


def test_the_text_table_separates_draws_and_compares_starts(several: Comparison) -> None:
    lines = comparison_table(several).splitlines()
    header = next(line for line in lines if line.startswith("section/small"))
    assert "draws separated by |" in header
    rows = [line for line in lines[lines.index(header) :] if line.startswith(("domain ", "general "))][:2]
    assert [row.count("|") for row in rows] == [0, 1]
    start = next(number for number, line in enumerate(lines) if line.startswith("section: starts in the order"))
    assert "one draw" not in lines[start], "there are two"
    assert lines[start + 3].split()[:2] == [several.rankings[0].arm, several.rankings[0].order[0]]
    assert lines[-1] == "(per character and not per token, so starts with different tokenizers can be compared)"
    assert max(map(len, lines)) <= 130


def test_one_draw_of_several_starts_says_so(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], starts=STARTS)
    comparison = compared(made)
    table = comparison_table(comparison)
    assert "one draw of each rung: nothing is said of another training" in table
    assert "|" not in table
    assert {arm.standings[1].verdict for arm in comparison.rankings[0].arms} == {"one_draw"}, "made here, and once"
    for start in STARTS:
        with edited(made.root / f"metrics/pretrain/{start}.json") as rung:
            rung |= {"from": f"models/init/{start}", "tokens": 0, "steps": 0, "curve": [], "before": rung["after"]}
    (ranking,) = compared(made).rankings
    verdicts = {arm.arm: arm.standings[1].verdict for arm in ranking.arms}
    assert verdicts.pop("general") not in ("one_draw", "untested"), "published checkpoints are what they are"
    assert set(verdicts.values()) == {"one_draw"}, "random weights, and what was trained once"
