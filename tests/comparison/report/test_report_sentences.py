"""The sentences of the report say what the figures carry, and no more."""

import dataclasses
import re

from adaptbert.comparison.metrics_json import summary
from adaptbert.comparison.records import Comparison, Step, Task, Tempered
from adaptbert.comparison.report import step_sentences as sentences
from adaptbert.comparison.report import terms as words
from adaptbert.comparison.report import trust_sentences as trust
from adaptbert.comparison.report.terms import Words
from adaptbert.comparison.statistics import Difference, Interval, mean_interval
from adaptbert.comparison.text_table import comparison_table


def calibrated(task: Task, **changes: float) -> Words:
    assert task.inspection is not None
    assert task.inspection.calibration is not None
    found = dataclasses.replace(task.inspection.calibration, **changes)  # type: ignore[arg-type]
    inspection = dataclasses.replace(task.inspection, calibration=found)
    told = trust.calibration(dataclasses.replace(task, inspection=inspection))
    assert told is not None
    return told


def test_confidence_is_judged_by_more_than_chance(comparison: Comparison) -> None:
    section, mention = comparison.tasks
    assert "No miscalibration is detectable on these rows." in calibrated(section, ece=0.05, chance=0.04).en
    sure = calibrated(section, ece=0.12, chance=0.04, claimed=0.8, came_true=0.7)
    assert "Mean confidence: 80.0 %; accuracy: 70.0 %. The model is overconfident." in sure.en
    assert "模型过于自信" in sure.zh
    assert "The model is underconfident." in calibrated(section, ece=0.12, chance=0.04, claimed=0.6, came_true=0.7).en
    assert "least confident tag" in calibrated(mention).en
    assert "No miscalibration" in calibrated(section, ece=0.0, chance=0.0, claimed=1.0, came_true=1.0).en


def test_what_a_temperature_would_change_is_told(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert "emperature" not in trust.calibration(task).en  # type: ignore[union-attr]
    found = dataclasses.replace(task, tempered=Tempered({1: 1.306, 2: 1.204}, 0.0312))
    told = calibrated(found, ece=0.12)
    assert "(1.20 to 1.31; above 1 means overconfident), changes the error from 12.0 to 3.1 with" in told.en
    assert re.findall(r"\d+\.\d+", told.en) == re.findall(r"\d+\.\d+", told.zh)
    told_once = calibrated(dataclasses.replace(found, tempered=Tempered({1: 1.5}, 0.0312)))
    assert "(1.50; above" in told_once.en
    table = summary(dataclasses.replace(comparison, tasks=[found, comparison.tasks[1]]))["inspection"]
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
    assert gain.startswith("Shown: +6.0 points (95 % interval +5.0 to +7.0, 3 seeds; Holm-adjusted p = 0.010).")
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
    told = sentences.without_gain(
        dataclasses.replace(
            task,
            steps=[
                answered(task, "pretrain", 0.001, 0.02, 1.0, "not_shown"),
                answered(task, "task_transfer", -0.05, 0.01, 0.01, "loss"),
                answered(task, "domain_transfer", 0.05, 0.01, 0.01, "gain"),
            ],
        )
    )
    assert told.en == "Loss shown: task transfer. No gain shown: general pre-training."
    assert told.zh == "已证实下降：任务迁移。未证实有提升：通用预训练。"


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
    (told,) = sentences.lift(split, 0.95)
    assert "by +6.0 points" in told.en
    assert "+3.5 are also obtained with as much further training on general text" in told.en
    assert "+2.5 are due to the domain text itself" in told.en
    assert told.en.endswith("A gain from the domain text itself is not shown.")
    assert sentences.lift(dataclasses.replace(task, steps=[]), 0.95) == []


def test_a_linear_model_that_is_better_is_called_better(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    above = dataclasses.replace(task, controls={"majority": 0.1, "tfidf_logistic": 0.95})
    assert trust.against_controls(above, 0.95).en == (
        "The best baseline on the test split (TF-IDF + logistic regression, trained on the same 250 rows) "
        f"scores 95.0: {task.chosen} scores lower. At this budget that baseline is the better choice."
    )
    below = dataclasses.replace(task, controls={"majority": 0.1, "tfidf_logistic": 0.2})
    assert trust.against_controls(below, 0.95).en.endswith("scores higher.")
    alike = [
        dataclasses.replace(arm, interval=mean_interval([0.2, 0.2], 0.95)) if arm.name == task.chosen else arm
        for arm in task.arms
    ]
    found = trust.against_controls(dataclasses.replace(above, arms=alike), 0.95)
    assert found.en.endswith(
        f"scores 95.0: {task.chosen} scores 20.0 and has no interval with 2 seeds: the gap is not testable."
    ), "no interval is no tie"


def test_a_control_that_learns_from_no_row_or_from_fewer_is_not_said_to_learn_from_all(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    names = {"question_overlap": "sentence most similar to the question", "majority": "always “no answer”"}
    for name, told in names.items():
        other = dataclasses.replace(task, target="answer", metric="f1_answer", controls={name: 0.95})
        found = trust.against_controls(other, 0.95)
        assert f"({told}, not trained) scores 95.0:" in found.en
        assert "不经训练" in found.zh
        assert "linear" not in found.en
    fewer = dataclasses.replace(task, control_rows=120)
    assert "trained on the first 120 of the same 250 rows" in trust.against_controls(fewer, 0.95).en
    assert "前 120 行" in trust.against_controls(fewer, 0.95).zh
    found = summary(dataclasses.replace(comparison, tasks=[fewer, comparison.tasks[1]]))
    assert found["section"]["tfidf_logistic"]["rows"] == [120]
    assert "(fitted on the first 120 rows)" in comparison_table(found)
    assert "rows" not in found["mention"]["window_logistic"], "these are fitted on all"


def test_numbers_are_written_alike_everywhere() -> None:
    assert words.change(-0.0004) == words.change(0.0004) == "0.0"
    assert (words.change(0.012), words.change(-0.012)) == ("+1.2", "−1.2")
    assert (words.p_value(0.0004), words.p_value(0.0123)) == ("< 0.001", "= 0.012")
    assert (words.millions(250_000), words.millions(36_000_000)) == ("0.250", "36.0")
    assert (words.millions(-2_048), words.millions(0)) == ("−0.00205", "0")
