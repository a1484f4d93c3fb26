"""What the page says where seeds or arms do not differ, or hardly: true of three seeds, and no false zero."""

import dataclasses
import re
from pathlib import Path

import pytest

from adaptbert.base.files import read_json, write_json
from adaptbert.comparison.assemble import compare_all
from adaptbert.comparison.records import Comparison, Task
from adaptbert.comparison.report import captions
from adaptbert.comparison.report import step_sentences as sentences
from adaptbert.comparison.report import trust_sentences as trust
from adaptbert.comparison.report.page import render
from adaptbert.comparison.statistics import ADJUSTMENT, mean_interval, paired_difference
from tests.support.simulated import simulate

SCORE = 0.078


def scored(comparison: Comparison, **by_seed: dict[int, float]) -> Task:
    """The first task with other scores of some arms, and with the differences that follow."""
    task = comparison.tasks[0]
    arms = [
        dataclasses.replace(arm, scores=scores, interval=mean_interval(list(scores.values()), 0.95, (0.0, 1.0)))
        for arm in task.arms
        for scores in [by_seed.get(arm.name, {1: SCORE, 2: SCORE, 3: SCORE})]
    ]
    scores = {arm.name: arm.scores for arm in arms}
    steps = []
    for step in task.steps:
        difference = paired_difference(scores[step.arm], scores[step.other], 0.95)
        assert difference is not None
        p_holm = difference.p
        verdict = "untested" if p_holm is None else "not_shown"
        steps.append(dataclasses.replace(step, difference=difference, p_holm=p_holm, verdict=verdict))
    return dataclasses.replace(task, arms=arms, steps=steps)


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Three seeds, and not one of them or of the arms differs from another."""
    made = simulate(tmp_path_factory.mktemp("recipe"), tasks=["section"])
    for path in (made.root / "metrics/finetune").iterdir():
        cell = read_json(path)
        for seed in cell["seeds"]:
            seed["dev/f1_macro"] = seed["test/f1_macro"] = SCORE
        write_json(path, cell)
    return compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1)


def test_three_seeds_that_do_not_differ_are_not_said_to_be_too_few(alike: Comparison) -> None:
    task = alike.tasks[0]
    texts = captions.differences(task)
    assert texts.en.endswith("paired by seed. A difference that is equal for all seeds has no interval.")
    assert texts.zh.endswith("各种子差值相同时，没有区间。")
    assert "no interval, because all seeds give the same result." in captions.arms(task, 0.95).en
    beside = trust.against_baselines(task, 0.95)
    assert beside.en.endswith("scores 7.8 with each of its 3 seeds, so there is no variance to test the gap with.")
    assert beside.zh.endswith("的 3 个种子都是 7.8 分，没有波动可供检验差距是否可靠。")
    above_limits = render(alike).partition('id="limits"')[0]
    assert "needs three seeds" not in above_limits
    assert "至少需要三个种子" not in above_limits


def test_too_few_seeds_are_still_said_to_be_too_few(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], seeds=(1, 2))
    task = compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1).tasks[0]
    assert captions.differences(task).en.endswith("An interval needs three seeds.")
    assert "an interval needs three seeds." in captions.arms(task, 0.95).en
    assert trust.against_baselines(task, 0.95).en.endswith("has no interval with 2 seeds: the gap is not testable.")


@pytest.fixture
def hardly(comparison: Comparison) -> Task:
    """One seed of the arm with domain text, and others of the control, are by a hair above all the rest."""
    return scored(
        comparison, domain={1: SCORE, 2: SCORE, 3: SCORE + 1e-4}, general_long={1: SCORE, 2: SCORE + 5e-5, 3: SCORE}
    )


def test_an_effect_too_small_for_its_digits_is_not_called_zero(hardly: Task) -> None:
    step = hardly.step("domain_transfer")
    assert step is not None
    texts = sentences.step(step, hardly, 0.95)
    assert texts.en.startswith(
        "Not shown: between 0 and +0.1 points (95 % interval within 0.1 of 0, 3 seeds; "
        f"{ADJUSTMENT}-adjusted p = 0.423). "
        "With 3 seeds and a spread this small, the test detects an effect below 0.1 points with 80 % power."
    )
    assert texts.zh.startswith(
        f"未证实：0 至 +0.1 分（95% 区间距 0 不到 0.1，3 个种子；{ADJUSTMENT} 校正 p = 0.423）。"
        "种子间的波动很小，3 个种子对不到 0.1 分的效应也有 80% 的检验功效。"
    )


def test_no_sentence_about_steps_has_a_false_zero(comparison: Comparison, hardly: Task) -> None:
    texts = [sentences.step(step, hardly, 0.95) for step in hardly.steps if step.arm in ("domain", "general_long")]
    texts += sentences.lift(hardly, 0.95)
    moved = scored(comparison, domain=dict.fromkeys((1, 2), SCORE + 1e-4), general_long=dict.fromkeys((1, 2), SCORE))
    texts += [sentences.step(step, moved, 0.95) for step in moved.steps if step.arm == "domain"]
    assert len(texts) > 6
    assert [each.en for each in texts if re.search(r"(?<![\d.])[+−]?0\.0(?!\d)", each.en + each.zh)] == []


def test_a_lift_of_nothing_is_one_plain_sentence(alike: Comparison, comparison: Comparison) -> None:
    (texts,) = sentences.lift(alike.tasks[0], 0.95)
    assert texts.en == (
        "Domain transfer does not change the mean score, and neither does as much further training on general text."
    )
    assert texts.zh == "领域迁移没有改变平均得分，用同样多的通用文本继续训练也没有。"
    assert "are due to more training" in sentences.lift(comparison.tasks[0], 0.95)[0].en
