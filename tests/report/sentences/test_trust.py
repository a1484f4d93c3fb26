"""Sentences on calibration, baselines and what went wrong carry what was measured, and no more."""

import dataclasses

import pytest

from adaptbert.comparison.records import Comparison, Task
from adaptbert.report.metrics_json import summary
from adaptbert.report.page import render
from adaptbert.report.sentences import trust
from adaptbert.report.terms import Words
from adaptbert.report.text_table import comparison_table
from adaptbert.statistics.intervals import Difference, Interval
from tests.support.judged_steps import difference
from tests.support.known import known
from tests.support.page_reader import same_numbers


def calibrated(task: Task, **changes: float) -> Words:
    inspection = known(task.inspection)
    calibration = dataclasses.replace(known(inspection.calibration), **changes)  # type: ignore[arg-type]
    inspection = dataclasses.replace(inspection, calibration=calibration)
    return known(trust.calibration(dataclasses.replace(task, inspection=inspection)))


def test_confidence_is_judged_by_more_than_chance(comparison: Comparison) -> None:
    section, mention = comparison.tasks
    assert "No miscalibration is detectable on these rows." in calibrated(section, ece=0.05, chance=0.04).en
    sure = calibrated(section, ece=0.12, chance=0.04, confidence=0.8, accuracy=0.7)
    assert "Mean confidence: 80.0 %; accuracy: 70.0 %. The model is overconfident." in sure.en
    assert "模型过于自信" in sure.zh
    assert "The model is underconfident." in calibrated(section, ece=0.12, chance=0.04, confidence=0.6, accuracy=0.7).en
    assert "least confident tag" in calibrated(mention).en
    assert "No miscalibration" in calibrated(section, ece=0.0, chance=0.0, confidence=1.0, accuracy=1.0).en
    unsure = calibrated(section, ece=0.12, chance=0.1, confidence=0.4, accuracy=0.3)
    assert "The model is overconfident." in unsure.en, "bins say little, and the means differ by three standard errors"
    near = calibrated(section, ece=0.05, chance=0.1, confidence=0.4, accuracy=0.35)
    assert "No miscalibration" in near.en


def beside(task: Task, score: float, gap: Difference, name: str = "tfidf_logistic") -> Task:
    """With one baseline, of this score.

    Args:
        gap: the chosen arm minus the baseline.
    """
    return dataclasses.replace(
        task, baselines={name: Interval(score, None, None, None, 3)}, beside_baselines={name: gap}
    )


def test_a_baseline_is_compared_by_the_interval_of_the_difference(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    above = beside(task, 0.95, difference(-0.35, 0.05))
    assert trust.against_baselines(above, 0.95).en == (
        f"The only baseline on the test split (TF-IDF + logistic regression) scores 95.0: {task.chosen} scores lower, "
        "−35.0 (95 % interval −40.0 to −30.0). At this budget that baseline is the better choice."
    )
    below = beside(task, 0.2, difference(0.4, 0.05))
    assert "scores higher, +40.0 (95 % interval +35.0 to +45.0)." in trust.against_baselines(below, 0.95).en
    tied = beside(task, 0.6, difference(0.01, 0.05))
    assert (
        "differs from it by +1.0 (95 % interval −4.0 to +6.0), so neither is clearly better."
        in trust.against_baselines(tied, 0.95).en
    )
    gap = difference(0.01, 0.05)
    without_rows = dataclasses.replace(gap, variance=dataclasses.replace(known(gap.variance), parts={"seeds": 1e-4}))
    sentence = trust.against_baselines(beside(task, 0.6, without_rows), 0.95)
    assert ", which leaves out the test rows), so" in sentence.en
    assert "未计入测试行" in sentence.zh
    for each, standing in ((above, "wins"), (below, "loses"), (tied, "ties")):
        best = known(trust.baseline(each))
        assert best.standing == standing
        texts = trust.against_baselines(each, 0.95)
        assert same_numbers(texts)


@pytest.mark.parametrize(("mean", "standing"), [(-0.35, "wins_once"), (0.01, "ties_once"), (0.4, "loses_once")])
@pytest.mark.parametrize("draws", [0, 1])
def test_with_one_draw_a_baseline_is_compared_with_these_weights(
    comparison: Comparison, mean: float, standing: str, draws: int
) -> None:
    """Training the rungs again may turn it round."""
    each = beside(comparison.tasks[0], 0.5, difference(mean, 0.05, draws=draws))
    best, text = known(trust.baseline(each)), trust.against_baselines(each, 0.95)
    assert best.standing == standing
    assert f": on these weights, {each.chosen} " in text.en
    assert f"在这些权重上，{each.chosen} " in text.zh
    assert "better choice" not in text.en
    assert "更好的选择" not in text.zh
    often = trust.against_baselines(beside(comparison.tasks[0], 0.5, difference(mean, 0.05, draws=2)), 0.95)
    assert "these weights" not in often.en


def test_the_best_of_several_baselines_is_the_one_that_counts(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    best = known(trust.baseline(task))
    assert best.name == "tfidf_logistic"
    assert best.beside == task.beside_baselines["tfidf_logistic"]
    assert trust.against_baselines(task, 0.95).en.startswith("The best baseline on the test split (TF-IDF")


def test_without_an_interval_a_baseline_is_no_tie(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    above = beside(task, 0.95, Difference(-0.75, 2, 1, None, 0.95))
    score = f"{100 * known(known(task.arm(known(task.chosen))).interval).mean:.1f}"
    assert trust.against_baselines(above, 0.95).en.endswith(
        f"scores 95.0: {task.chosen} scores {score}; the gap is not testable."
    )
    assert known(trust.baseline(above)).standing == "higher"


def test_a_baseline_that_learns_from_fewer_rows_is_described_so(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert "trained on" not in trust.against_baselines(task, 0.95).en
    fewer = dataclasses.replace(task, baseline_rows=120)
    assert "logistic regression, trained on the first 120 of the 250 rows)" in trust.against_baselines(fewer, 0.95).en
    assert "，只用 250 行中的前 120 行训练）" in trust.against_baselines(fewer, 0.95).zh
    metrics = summary(dataclasses.replace(comparison, tasks=[fewer, comparison.tasks[1]]))
    assert metrics["section"]["small"]["tfidf_logistic"]["rows"] == [120]
    assert "(fitted on the first 120 rows)" in comparison_table(metrics)
    assert "rows" not in metrics["mention"]["small"]["window_logistic"], "these are fitted on all"


def test_arms_that_scatter_are_named_on_the_first_screen(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert trust.scattered(task) is None
    text = known(trust.scattered(dataclasses.replace(task, scattered=["scratch"])))
    assert text.en.startswith("Runs of scratch lie clearly further apart than those of the other arms.")
    assert text.zh.startswith("scratch 的各次结果明显比其他组分散")
    both = dataclasses.replace(task, scattered=["scratch", "task"])
    assert known(trust.scattered(both)).en.startswith("Runs of scratch and task lie clearly further apart")
    page = render(dataclasses.replace(comparison, tasks=[both]))
    assert f"{task.name}: Runs of scratch and task lie clearly" in page[: page.index("</header>")]
