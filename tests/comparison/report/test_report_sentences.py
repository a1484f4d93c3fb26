"""The sentences of the report say what the figures carry, and no more."""

import dataclasses
import re

from adaptbert.comparison.metrics_json import summary
from adaptbert.comparison.records import Comparison, Step, Task, Tempered
from adaptbert.comparison.report import step_sentences as sentences
from adaptbert.comparison.report import terms as words
from adaptbert.comparison.report import trust_sentences as trust
from adaptbert.comparison.report.terms import Words
from adaptbert.comparison.statistics import ADJUSTMENT, Difference, Interval, mean_interval
from adaptbert.comparison.text_table import comparison_table


def calibrated(task: Task, **changes: float) -> Words:
    assert task.inspection is not None
    assert task.inspection.calibration is not None
    calibration = dataclasses.replace(task.inspection.calibration, **changes)  # type: ignore[arg-type]
    inspection = dataclasses.replace(task.inspection, calibration=calibration)
    sentence = trust.calibration(dataclasses.replace(task, inspection=inspection))
    assert sentence is not None
    return sentence


def test_confidence_is_judged_by_more_than_chance(comparison: Comparison) -> None:
    section, mention = comparison.tasks
    assert "No miscalibration is detectable on these rows." in calibrated(section, ece=0.05, chance=0.04).en
    sure = calibrated(section, ece=0.12, chance=0.04, confidence=0.8, accuracy=0.7)
    assert "Mean confidence: 80.0 %; accuracy: 70.0 %. The model is overconfident." in sure.en
    assert "模型过于自信" in sure.zh
    assert "The model is underconfident." in calibrated(section, ece=0.12, chance=0.04, confidence=0.6, accuracy=0.7).en
    assert "least confident tag" in calibrated(mention).en
    assert "No miscalibration" in calibrated(section, ece=0.0, chance=0.0, confidence=1.0, accuracy=1.0).en


def test_the_effect_of_a_temperature_is_reported(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert "emperature" not in trust.calibration(task).en  # type: ignore[union-attr]
    with_temperature = dataclasses.replace(task, tempered=Tempered({1: 1.306, 2: 1.204}, 0.0312))
    text = calibrated(with_temperature, ece=0.12)
    assert "(1.20 to 1.31; above 1 means overconfident), changes the error from 12.0 to 3.1 with" in text.en
    assert re.findall(r"\d+\.\d+", text.en) == re.findall(r"\d+\.\d+", text.zh)
    once = calibrated(dataclasses.replace(with_temperature, tempered=Tempered({1: 1.5}, 0.0312)))
    assert "(1.50; above" in once.en
    table = summary(dataclasses.replace(comparison, tasks=[with_temperature, comparison.tasks[1]]))["inspection"]
    assert table["section"]["ece_tempered"] == 0.0312
    assert table["section"]["temperatures"] == [[1, 1.306], [2, 1.204]]
    assert "ece_tempered" not in table["mention"]


def answered(task: Task, name: str, mean: float, half: float, p_holm: float, verdict: str) -> Step:
    step = task.step(name)
    assert step is not None
    difference = Difference(Interval(mean, mean - half, mean + half, half / 2, 3), p_holm / 6, 1.5 * half)
    return dataclasses.replace(step, difference=difference, p_holm=p_holm, verdict=verdict)


def test_sentences_do_not_claim_more_than_the_verdict(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    gain = sentences.step(answered(task, "domain_transfer", 0.06, 0.01, 0.01, "gain"), task, 0.95).en
    assert gain.startswith(
        f"Shown: +6.0 points (95 % interval +5.0 to +7.0, 3 seeds; {ADJUSTMENT}-adjusted p = 0.010)."
    )
    assert "2.00 M more training tokens" in gain
    likely = sentences.step(answered(task, "domain_text", 0.03, 0.02, 0.12, "likely_gain"), task, 0.95).en
    assert likely.startswith("Likely, not shown: +3.0 points")
    assert "the same number of tokens" in likely
    none = sentences.step(answered(task, "task_transfer", -0.004, 0.02, 1.0, "not_shown"), task, 0.95).en
    assert none.startswith("Not shown: −0.4 points")
    assert "an effect of 3.0 points or more" in none
    loss = sentences.step(answered(task, "task_transfer", -0.05, 0.01, 0.01, "loss"), task, 0.95).en
    assert loss.startswith("Shown: −5.0 points")


def test_steps_without_gain_are_named(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    sentence = sentences.without_gain(
        dataclasses.replace(
            task,
            steps=[
                answered(task, "pretrain", 0.001, 0.02, 1.0, "not_shown"),
                answered(task, "task_transfer", -0.05, 0.01, 0.01, "loss"),
                answered(task, "domain_transfer", 0.05, 0.01, 0.01, "gain"),
            ],
        )
    )
    assert sentence.en == "Loss shown: task transfer. No gain shown: general pre-training."
    assert sentence.zh == "已证实下降：任务迁移。未证实有提升：通用预训练。"


def test_the_lift_is_split_into_training_and_text(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    split = dataclasses.replace(
        task,
        steps=[
            answered(task, "domain_transfer", 0.06, 0.01, 0.01, "gain"),
            answered(task, "more_training", 0.035, 0.01, 0.01, "gain"),
            answered(task, "domain_text", 0.025, 0.03, 0.8, "not_shown"),
        ],
    )
    (sentence,) = sentences.lift(split, 0.95)
    assert "by +6.0 points" in sentence.en
    assert "+3.5 are also obtained with as much further training on general text" in sentence.en
    assert "+2.5 are due to the domain text itself" in sentence.en
    assert sentence.en.endswith("A gain from the domain text itself is not shown.")
    assert sentences.lift(dataclasses.replace(task, steps=[]), 0.95) == []


def test_a_linear_model_that_is_better_is_called_better(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    above = dataclasses.replace(task, baselines={"majority": 0.1, "tfidf_logistic": 0.95})
    assert trust.against_baselines(above, 0.95).en == (
        "The best baseline on the test split (TF-IDF + logistic regression, trained on the same 250 rows) "
        f"scores 95.0: {task.chosen} scores lower. At this budget that baseline is the better choice."
    )
    below = dataclasses.replace(task, baselines={"majority": 0.1, "tfidf_logistic": 0.2})
    assert trust.against_baselines(below, 0.95).en.endswith("scores higher.")
    alike = [
        dataclasses.replace(arm, interval=mean_interval([0.2, 0.2], 0.95)) if arm.name == task.chosen else arm
        for arm in task.arms
    ]
    sentence = trust.against_baselines(dataclasses.replace(above, arms=alike), 0.95)
    assert sentence.en.endswith(
        f"scores 95.0: {task.chosen} scores 20.0 and has no interval with 2 seeds: the gap is not testable."
    ), "no interval is no tie"


def test_a_baseline_that_learns_from_no_row_or_from_fewer_is_described_so(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    names = {"question_overlap": "sentence most similar to the question", "majority": "always “no answer”"}
    for name, description in names.items():
        other = dataclasses.replace(task, target="answer", metric="f1_answer", baselines={name: 0.95})
        sentence = trust.against_baselines(other, 0.95)
        assert f"({description}, not trained) scores 95.0:" in sentence.en
        assert "不经训练" in sentence.zh
        assert "linear" not in sentence.en
    fewer = dataclasses.replace(task, baseline_rows=120)
    assert "trained on the first 120 of the same 250 rows" in trust.against_baselines(fewer, 0.95).en
    assert "前 120 行" in trust.against_baselines(fewer, 0.95).zh
    metrics = summary(dataclasses.replace(comparison, tasks=[fewer, comparison.tasks[1]]))
    assert metrics["section"]["tfidf_logistic"]["rows"] == [120]
    assert "(fitted on the first 120 rows)" in comparison_table(metrics)
    assert "rows" not in metrics["mention"]["window_logistic"], "these are fitted on all"


def test_numbers_are_written_alike_everywhere() -> None:
    assert words.change(-0.0004) == words.change(0.0004) == "0.0"
    assert (words.change(0.012), words.change(-0.012)) == ("+1.2", "−1.2")
    assert (words.p_value(0.0004), words.p_value(0.0123)) == ("< 0.001", "= 0.012")
    assert (words.millions(250_000), words.millions(36_000_000)) == ("0.250", "36.0")
    assert (words.millions(-2_048), words.millions(0)) == ("−0.00205", "0")
