"""What the page begins with: a sentence over all tasks, the matrix, the cards."""

import dataclasses
import re
from collections.abc import Mapping

import pytest

from adaptbert.comparison.records import Comparison, OnSeveralTasks
from adaptbert.report import overview, terms
from adaptbert.report.metrics_json import summary
from adaptbert.report.page import render
from adaptbert.report.sentences import captions, repetition
from adaptbert.report.sentences import tasks as task_sentences
from adaptbert.report.text_table import comparison_table
from adaptbert.statistics.intervals import Difference, Interval
from adaptbert.statistics.verdicts import Verdict
from tests.support.judged_steps import answered, difference
from tests.support.known import known
from tests.support.page_reader import same_numbers, seen
from tests.support.simulated import ARMS, Simulated, compared, edited, rearmed


def judged(comparison: Comparison, *verdicts: Mapping[str, Verdict]) -> Comparison:
    """The comparison with one task for each mapping from primary questions to verdicts; every difference is 4.7."""
    first = comparison.tasks[0]
    tasks = [
        dataclasses.replace(
            first,
            name=f"task{place}",
            steps=[
                dataclasses.replace(answered(first, name, 0.047, 0.02, verdict), primary=True)
                for name, verdict in chosen.items()
            ],
        )
        for place, chosen in enumerate(verdicts)
    ]
    return dataclasses.replace(comparison, tasks=tasks)


def test_the_page_begins_with_an_answer_to_every_primary_question(comparison: Comparison) -> None:
    several = judged(
        comparison,
        {"domain_text": "worth_it", "task_transfer_after_domain": "undecided", "climb": "one_draw"},
        {"domain_text": "no_worse", "task_transfer_after_domain": "undecided", "climb": "one_draw"},
        {"domain_text": "worth_it", "climb": "untested"},
    )
    texts = overview.verdict(several)
    size = "+4.7 points, +2.7 to +6.7"
    assert [text.en for text in texts[:-1]] == [
        f"The domain text itself: worth it (task0 {size}; task2 {size}); no gain shown; a loss of 1.0 or more "
        f"excluded (task1 {size}).",
        f"Task transfer after domain: undecided (task0 {size}; task1 {size}).",
        f"Pre-training with domain transfer: one draw, no verdict (task0 {size}; task1 {size}); not testable (task2 "
        f"{size}).",
    ]
    size = "+4.7 分，+2.7 到 +6.7"
    excluded = "未证实提升；排除了 1.0 分及以上的下降"
    assert texts[0].zh == f"领域文本本身：值得（task0 {size}；task2 {size}）；{excluded}（task1 {size}）。"
    assert texts[-1] == repetition.once(several)
    assert all(map(same_numbers, texts))
    page = render(several)
    assert page.index('class="answer"') < page.index('class="notice"') < page.index('class="matrix"')
    assert page.index('class="matrix"') < page.index('class="card"')


def test_what_is_only_described_is_no_answer(comparison: Comparison) -> None:
    steps = [dataclasses.replace(step, primary=False, verdict="descriptive") for step in comparison.tasks[0].steps]
    described = dataclasses.replace(comparison, tasks=[dataclasses.replace(comparison.tasks[0], steps=steps)])
    texts = overview.verdict(described)
    assert [text.en for text in texts[:-1]] == [
        "No primary question was asked: the arms that it compares are not there. The differences below are described, "
        "without a verdict."
    ]
    assert task_sentences.uncompared(described.tasks[0]).en == "No primary question is asked on this task."


def test_an_effect_on_several_tasks_is_a_sentence_of_its_own(repeated: Comparison, comparison: Comparison) -> None:
    sentence = "On at least 2 of these 2 tasks, the domain text itself brings a gain."
    assert sentence in [text.en for text in overview.verdict(repeated)]
    assert "在这 2 个任务中的至少 2 个上，领域文本本身带来提升。" in [text.zh for text in overview.verdict(repeated)]
    assert sentence in seen(render(repeated))
    assert "On at least" not in seen(render(comparison)), "one draw"
    mixed = [
        OnSeveralTasks("domain_text/news", "small", 4, 2, 1),
        OnSeveralTasks("task_transfer_after_domain", "small", 4, 0, 0),
    ]
    texts = [text.en for text in overview.verdict(dataclasses.replace(repeated, on_several=mixed))]
    assert [text for text in texts if text.startswith("On at least")] == [
        "On at least 2 of these 4 tasks, the domain text itself (news) brings a gain.",
        "On at least 1 of these 4 tasks, the domain text itself (news) brings a loss.",
    ]


def test_the_matrix_holds_difference_verdict_and_cost_of_every_step_on_every_task(comparison: Comparison) -> None:
    fewer = dataclasses.replace(comparison.tasks[1], steps=comparison.tasks[1].steps[1:])
    page = render(dataclasses.replace(comparison, tasks=[comparison.tasks[0], fewer]))
    matrix = page[page.index('class="matrix"') :].partition("</table>")[0]
    assert matrix.count('role="rowheader"') == len(comparison.tasks[0].steps)
    cells = re.findall(r'<td role="cell"[^>]*>(.*?)</td>', matrix, re.DOTALL)
    assert len(cells) == 2 * len(comparison.tasks[0].steps)
    assert [cell for cell in cells if "not compared" in cell] == [cells[1]], "the step that one task lacks"
    step = known(comparison.tasks[0].step("domain_transfer"))
    place = [row.name.en for row in overview.matrix(comparison)].index("Domain transfer")
    assert f"{100 * known(step.difference).mean:+.1f}" in cells[2 * place]
    assert "2.00 M tokens" in cells[2 * place]
    assert "same number of tokens" in matrix, "the control costs as much as domain transfer"


def test_the_matrix_has_every_interval_and_verdicts_of_primary_questions_alone(repeated: Comparison) -> None:
    page = render(repeated)
    matrix = page[page.index('class="matrix"') :].partition("</table>")[0]
    cells = iter(re.findall(r'<td role="cell"[^>]*>(.*?)</td>', matrix, re.DOTALL))
    for row in overview.matrix(repeated):
        for _, answer in row.answers:
            cell, step = next(cells), known(answer)
            difference = known(step.difference)
            ends = terms.change(known(difference.low)), terms.change(known(difference.high))
            assert "{} to {}".format(*ends) in cell
            assert "{} 到 {}".format(*ends) in cell
            if step.primary:
                assert f"adjusted p {terms.p_value(known(step.p_holm))}".replace("<", "&lt;") in cell
            assert ("adjusted p" in cell) == ("校正 p" in cell) == step.primary
            assert re.findall(r"chip verdict-(\w+)", cell) == ([step.verdict] if step.primary else [])
    assert "verdict-descriptive" not in matrix
    assert "it may leave out 0 where the adjusted p shows neither a gain nor a loss" in page


def test_steps_are_named_by_the_arms_own_names(made: Simulated) -> None:
    """No arm of this task is called by its role."""
    roles = {"domain_task": "mine", "domain": "base", "general_long": "longer", "general": "plain"}
    comparison = compared(rearmed(made, {own: (role, ARMS[role]) for role, own in roles.items()}))
    assert comparison.tasks[0].advice == []
    rows = {row.name.en: row.arms for row in overview.matrix(comparison)}
    assert rows["Task transfer after domain (mine)"] == ["mine − base"]
    assert rows["Domain transfer (base)"] == ["base − plain"]
    words = set(re.findall(r"\w+", " ".join(re.findall(r"<code>([^<]*)</code>", render(comparison)))))
    assert not words & roles.keys() - {"general", "domain"}, "rungs are called so"
    assert "general_long" not in seen(render(comparison))
    other = dataclasses.replace(
        comparison.tasks[0],
        name="other",
        steps=[dataclasses.replace(step, other="ground") for step in comparison.tasks[0].steps],
    )
    both = overview.matrix(dataclasses.replace(comparison, tasks=[comparison.tasks[0], other]))
    assert {row.name.en: row.arms for row in both}["Domain transfer (base)"] == ["base − plain", "base − ground"]


@pytest.mark.parametrize(
    ("gap", "standing"),
    [
        (difference(-0.30, 0.05), ">baseline better<"),
        (difference(0.01, 0.05), ">no clear difference<"),
        (difference(0.30, 0.05), ">arm better<"),
        (difference(-0.30, 0.05, draws=1), ">on these weights, baseline higher<"),
        (difference(0.01, 0.05, draws=0), ">on these weights, no clear difference<"),
        (difference(0.30, 0.05, draws=1), ">on these weights, arm higher<"),
        (Difference(-0.30, 2, 1, None, 0.95), "baseline higher, not testable"),
        (Difference(0.30, 1, 1, None, 0.95), "arm higher, not testable"),
    ],
)
def test_the_best_baseline_is_on_the_card(comparison: Comparison, gap: Difference, standing: str) -> None:
    task = comparison.tasks[0]
    scores = {"majority": Interval(0.005, None, None, None, 3), "tfidf_logistic": Interval(0.437, 0.4, 0.47, 0.01, 3)}
    task = dataclasses.replace(task, baselines=scores, beside_baselines=dict.fromkeys(scores, gap))
    page = render(dataclasses.replace(comparison, tasks=[task]))
    card = page[page.index('class="card"') :].partition("</article>")[0]
    assert "<b>43.7</b>" in card
    assert "TF-IDF + logistic regression" in card
    assert standing in card


def test_a_page_has_one_kind_of_minus(comparison: Comparison) -> None:
    """A negative correlation, its interval, its axis and a learning rate of 1e-05 are written with the same minus."""
    task = comparison.tasks[0]
    below = Interval(-0.21, -0.4, -0.02, 0.1, 3)
    arms = [dataclasses.replace(arm, interval=below, scores={1: -0.2, 2: -0.22, 3: -0.21}) for arm in task.arms]
    steps = [dataclasses.replace(step, difference=difference(-0.21, 0.19)) for step in task.steps]
    task = dataclasses.replace(task, metric="pearson", target="number", arms=arms, steps=steps, inspection=None)
    page = seen(render(dataclasses.replace(comparison, tasks=[task])))
    assert "−21.0" in page
    assert "−40" in page, "on the axis"
    assert re.findall(r"(?<![\w-])-\s?\d[^\n]{0,20}", page) == []
    assert re.findall(r"\de-\d", page) == []
    table = comparison_table(summary(dataclasses.replace(comparison, tasks=[task])))
    assert "−" not in table
    assert "-21.0" in table


def test_intervals_end_where_scores_end(made: Simulated) -> None:
    """Two seeds of three fail: the t-interval of the mean would begin far below 0."""
    with edited(made.cell("domain")) as cell:
        for seed, score in zip(cell["seeds"], (0.01, 0.02, 0.6), strict=True):
            seed["test/f1_macro"] = score
    interval = known(known(compared(made).tasks[0].arm("domain")).interval)
    assert (interval.low, known(interval.high) > 0.6) == (0, True)


def test_the_caption_explains_what_the_chart_has(comparison: Comparison) -> None:
    several = comparison.tasks[0]
    assert "✓: best on dev; test scores are not considered." in captions.arms(several, 0.95).en
    assert "Dashed" not in captions.arms(dataclasses.replace(several, baselines={}), 0.95).en


def test_arms_that_are_equal_on_dev_are_reported_as_equal(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    arms = [dataclasses.replace(arm, dev={1: 0.3, 2: 0.3, 3: 0.3}) for arm in task.arms[:2]]
    sentence = task_sentences.best(dataclasses.replace(task, arms=arms, chosen="scratch"), 0.95)
    assert sentence.en.startswith(
        "scratch and general score equally on the dev split, and scratch is the first of them;"
    )
    assert sentence.zh.startswith("开发集上 scratch 和 general 得分相同，取其中第一个 scratch；")


def marked(comparison: Comparison, dev: list[float]) -> dict[str, list[str]]:
    """Arms of the first task by what is said beside their names, in the chart and in the table."""
    task = comparison.tasks[0]
    arms = [dataclasses.replace(arm, dev={1: score, 2: score}) for arm, score in zip(task.arms[:3], dev, strict=False)]
    task = dataclasses.replace(task, arms=arms, chosen=arms[dev.index(max(dev))].name)
    page = render(dataclasses.replace(comparison, tasks=[task]))
    names = [arm.name for arm in arms]
    return {
        mark: [name for name in names if pattern % name in page]
        for mark, pattern in {
            "chart": ">%s ✓<",
            "one": '<code>%s</code> <span class="chip"><span lang="en">best on dev<',
            "several": '<code>%s</code> <span class="chip"><span lang="en">equal best on dev<',
        }.items()
    }


def test_the_mark_beside_an_arm_means_best_on_dev_and_nothing_else(comparison: Comparison) -> None:
    """`scratch` once had it where all arms were equal, as if it had won."""
    one, two, none = ["general"], ["scratch", "general"], list[str]()
    assert marked(comparison, [0.3, 0.4, 0.2]) == {"chart": one, "one": one, "several": none}
    assert marked(comparison, [0.3, 0.3, 0.2]) == {"chart": two, "one": none, "several": two}
    assert marked(comparison, [0.3]) == {"chart": none, "one": none, "several": none}
