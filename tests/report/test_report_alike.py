"""What the page says where seeds or arms do not differ, or hardly: true of three seeds, and no false zero."""

import dataclasses
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from adaptbert.comparison.records import Comparison, Task
from adaptbert.report.page import render
from adaptbert.report.sentences import captions, trust
from adaptbert.report.sentences import steps as sentences
from adaptbert.report.sentences import tasks as task_sentences
from adaptbert.statistics.intervals import Difference, mean_interval
from adaptbert.statistics.multiplicity import ADJUSTMENT
from adaptbert.statistics.spread import Variance
from adaptbert.statistics.study import Study
from tests.support.known import known
from tests.support.simulated import Simulated, compared, edited, simulate

SCORE, WORTH = 0.078, 0.01


def scored(comparison: Comparison, **by_seed: Mapping[int, float]) -> Task:
    """The first task with other scores of some arms, and with the differences that follow; without test rows."""
    task = comparison.tasks[0]
    scores = {arm.name: dict(by_seed.get(arm.name, dict.fromkeys((1, 2, 3), SCORE))) for arm in task.arms}
    study = Study({arm: {1: own} for arm, own in scores.items()}, None, 0.95, (0.0, 1.0))
    arms = [
        dataclasses.replace(arm, scores=own, interval=mean_interval(list(own.values()), 0.95, (0.0, 1.0)))
        for arm, own in zip(task.arms, scores.values(), strict=True)
    ]
    steps = []
    for step in task.steps:
        difference = known(study.difference(step.arm, step.other))
        steps.append(dataclasses.replace(step, difference=difference, p_holm=difference.p, detectable=None))
    return dataclasses.replace(task, arms=arms, steps=steps)


def made_alike(made: Simulated) -> None:
    """Every run of every arm gets the answers of one run, and one score."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first, *others = sorted((made.root / "predictions").iterdir())
    table = pq.read_table(first)
    rows = table.to_pylist()
    one = {row["id"]: row["predicted"] for row in rows if row["seed"] == 1}
    pq.write_table(pa.Table.from_pylist([{**row, "predicted": one[row["id"]]} for row in rows]), first)
    for path in others:
        shutil.copy(first, path)
    for path in (made.root / "metrics/finetune").iterdir():
        with edited(path) as cell:
            for seed in cell["seeds"]:
                seed["dev/f1_macro"] = seed["test/f1_macro"] = SCORE


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Three seeds, and not one of them or of the arms differs from another."""
    made = simulate(tmp_path_factory.mktemp("recipe"), tasks=["section"])
    made_alike(made)
    return compared(made)


def test_arms_that_answer_alike_are_not_said_to_have_too_few_seeds(alike: Comparison) -> None:
    task = alike.tasks[0]
    assert captions.differences(task, WORTH).en == "Difference in points."
    step = known(task.step("domain_transfer"))
    assert known(step.difference).identical
    answer = sentences.step(step, task, 0.95, WORTH)
    assert answer.en.startswith(
        "The answers of both arms score alike: the difference is 0.0 points for each of 3 seeds and on all test rows."
    )
    assert answer.zh.startswith("两组的答案得分相同：3 个种子、所有测试行上的差值都是 0.0 分。")
    above_limits = render(alike).partition('id="limits"')[0]
    assert "needs three seeds" not in above_limits
    assert "至少需要三个种子" not in above_limits


def test_a_score_that_is_equal_for_all_seeds_has_an_interval_over_test_rows(alike: Comparison) -> None:
    task = alike.tasks[0]
    for arm in task.arms:
        assert arm.interval is not None
        assert arm.interval.sd == 0
        assert known(arm.interval.low) < SCORE
    assert "3 seeds, 300 test rows with 235 different texts)" in task_sentences.best(task, 0.95).en
    assert "domain scores lower" not in trust.against_baselines(task, 0.95).en
    assert f"on these weights, {task.chosen} scores lower" in trust.against_baselines(task, 0.95).en, "rows suffice"


def test_seeds_that_do_not_differ_and_unknown_answers_have_no_interval(made: Simulated) -> None:
    """Without predictions, nothing is known of test rows."""
    made_alike(made)
    shutil.rmtree(made.root / "predictions")
    (task,) = compared(made).tasks
    assert "interval" not in captions.arms(task, 0.95).en
    best = task_sentences.best(dataclasses.replace(task, chosen="domain"), 0.95)
    assert best.en.endswith("scores 7.8 (macro-F1, 1 draw, 3 seeds).")
    equal = Difference(-0.4, 3, 1, Variance({"seeds": 0.0}, []), 0.95)
    beside = trust.against_baselines(dataclasses.replace(task, beside_baselines={"tfidf_logistic": equal}), 0.95)
    assert beside.en.endswith(" scores 7.8; the gap is not testable.")


def test_draws_that_answer_alike_are_no_difference(tmp_path: Path) -> None:
    """No interval is needed where every answer scores alike."""
    made = simulate(tmp_path, tasks=["section"], draws=2)
    made_alike(made)
    task = compared(made).tasks[0]
    verdicts = {step.name: step.verdict for step in task.steps}
    assert verdicts["domain_text"] == verdicts["task_transfer_after_domain"] == "no_difference"
    assert task.scattered == []


@pytest.fixture
def hardly(comparison: Comparison) -> Task:
    """One seed of the arm with domain text, and others of the control, are by a hair above all the rest."""
    return scored(
        comparison, domain={1: SCORE, 2: SCORE, 3: SCORE + 1e-4}, general_long={1: SCORE, 2: SCORE + 5e-5, 3: SCORE}
    )


def test_an_effect_too_small_for_its_digits_is_not_called_zero(hardly: Task) -> None:
    step = known(hardly.step("domain_transfer"))
    texts = sentences.step(step, hardly, 0.95, WORTH)
    assert texts.en.startswith("between 0 and +0.1 points (95 % interval within 0.1 of 0; 1 draw, 3 seeds; ")
    assert texts.zh.startswith("0 至 +0.1 分（95% 区间距 0 不到 0.1；独立训练 1 次、3 个种子；")
    assert f"{ADJUSTMENT}-adjusted p = 0." in texts.en


def test_no_sentence_about_steps_has_a_false_zero(comparison: Comparison, hardly: Task) -> None:
    texts = [
        sentences.step(step, hardly, 0.95, WORTH) for step in hardly.steps if step.arm in ("domain", "general_long")
    ]
    moved = scored(comparison, domain=dict.fromkeys((1, 2), SCORE + 1e-4), general_long=dict.fromkeys((1, 2), SCORE))
    texts += [sentences.step(step, moved, 0.95, WORTH) for step in moved.steps if step.arm == "domain"]
    assert len(texts) > 6
    assert [each.en for each in texts if re.search(r"(?<![\d.])[+−]?0\.0(?!\d)", each.en + each.zh)] == []
