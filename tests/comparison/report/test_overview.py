"""What the page begins with: a sentence over all tasks, the matrix, the cards. An empty comparison reports no gain."""

import dataclasses
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path

import pytest

from adaptbert.base.files import read_json, write_json
from adaptbert.base.ladder import LadderConfig
from adaptbert.comparison.assemble import compare_all
from adaptbert.comparison.metrics_json import summary
from adaptbert.comparison.records import Comparison, Step, Task
from adaptbert.comparison.report import captions, overview
from adaptbert.comparison.report import rung_sentences as rungs
from adaptbert.comparison.report import step_sentences as sentences
from adaptbert.comparison.report import trust_sentences as trust
from adaptbert.comparison.report.page import render
from adaptbert.comparison.statistics import Difference, Interval, Verdict
from adaptbert.comparison.text_table import comparison_table
from tests.support.simulated import ARMS, Simulated, rearmed, simulate


@pytest.fixture(scope="module")
def one_arm(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    made = simulate(tmp_path_factory.mktemp("recipe"), tasks=["section"], seeds=(1, 2))
    return compared(rearmed(made, {"domain": ("domain", "domain_transfer/domain")}))


def compared(made: Simulated) -> Comparison:
    return compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1)


def judged(comparison: Comparison, *verdicts: Mapping[str, Verdict]) -> Comparison:
    """The comparison with one task for each mapping from questions to verdicts."""
    steps = {step.question: step for step in comparison.tasks[0].steps}
    tasks = [
        dataclasses.replace(
            comparison.tasks[0],
            name=f"task{place}",
            steps=[dataclasses.replace(steps[name], verdict=verdict) for name, verdict in chosen.items()],
        )
        for place, chosen in enumerate(verdicts)
    ]
    return dataclasses.replace(comparison, tasks=tasks, suite=[])


def seen(page: str) -> str:
    """What a reader sees, without style and script."""
    body = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", body))


def test_gains_are_counted_over_the_tasks_on_which_a_step_could_be_judged(comparison: Comparison) -> None:
    several = judged(
        comparison,
        {"domain_transfer": "gain", "domain_text": "likely_gain", "task_transfer": "loss", "climb": "untested"},
        {"domain_transfer": "not_shown", "domain_text": "not_shown", "climb": "untested"},
        {"domain_transfer": "untested", "task_transfer": "not_shown"},
    )
    sentences = overview.verdict(several)
    assert [sentence.en for sentence in sentences] == [
        "A gain was shown for domain transfer on 1 of 2 tasks.",
        "A loss was shown for task transfer on 1 of 2 tasks.",
        "Neither gain nor loss was shown for the domain text itself (2 tasks).",
        "Not testable on any task: pre-training with domain transfer.",
        "Only fine-tuning was repeated, over seeds. Each rung was trained once; training it again may give "
        "another result.",
    ]
    assert all(sorted(re.findall(r"\d", each.en)) == sorted(re.findall(r"\d", each.zh)) for each in sentences)
    page = render(several)
    assert page.index('class="answer"') < page.index('class="notice"') < page.index('class="matrix"')
    assert page.index('class="matrix"') < page.index('class="card"')


def test_where_nothing_was_compared_no_gain_is_reported(one_arm: Comparison) -> None:
    assert [sentence.en for sentence in overview.verdict(one_arm)] == ["No step was compared on any task."]
    page = render(one_arm)
    for absent in ('class="matrix"', 'id="differences-section"', "What was shown, and what was not", "“Shown” means"):
        assert absent not in page
    assert "No step was compared." in page
    assert "no step was compared" in comparison_table(summary(one_arm))


def test_a_page_without_tasks(comparison: Comparison) -> None:
    bare = dataclasses.replace(comparison, tasks=[], suite=[])
    page = render(bare)
    assert "No task was fine-tuned, so no step was compared." in page
    assert 'class="card"' not in page


def test_the_matrix_holds_difference_verdict_and_cost_of_every_step_on_every_task(comparison: Comparison) -> None:
    fewer = dataclasses.replace(comparison.tasks[1], steps=comparison.tasks[1].steps[1:])
    page = render(dataclasses.replace(comparison, tasks=[comparison.tasks[0], fewer]))
    matrix = page[page.index('class="matrix"') :].partition("</table>")[0]
    assert matrix.count('role="rowheader"') == len(comparison.tasks[0].steps)
    cells = re.findall(r'<td role="cell"[^>]*>(.*?)</td>', matrix, re.DOTALL)
    assert len(cells) == 2 * len(comparison.tasks[0].steps)
    assert [cell for cell in cells if "not compared" in cell] == [cells[1]], "the step that one task lacks"
    step = comparison.tasks[0].step("domain_transfer")
    assert step is not None
    assert step.difference is not None
    place = [row.name.en for row in overview.matrix(comparison)].index("Domain transfer")
    assert f"{100 * step.difference.interval.mean:+.1f}" in cells[2 * place]
    assert "2.00 M tokens" in cells[2 * place]
    assert f"verdict-{step.verdict}" in cells[2 * place]
    assert "same number of tokens" in matrix, "the control costs as much as domain transfer"


def test_steps_are_named_by_the_arms_own_names(tmp_path: Path) -> None:
    """No arm of this task is called by its role."""
    roles = {"domain_task": "mine", "domain": "base", "general_long": "longer", "general": "plain"}
    made = rearmed(
        simulate(tmp_path, tasks=["section"]),
        {own: (role, ARMS[role].format(task="section")) for role, own in roles.items()},
    )
    comparison = compared(made)
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
    ("control", "seeds", "standing"),
    [
        (0.99, (1, 2, 3), "baseline better"),
        (None, (1, 2, 3), "no clear difference"),
        (0.01, (1, 2, 3), "arm better"),
        (0.99, (1, 2), "baseline higher, not testable"),
        (0.01, (1,), "arm higher, not testable"),
    ],
)
def test_the_best_baseline_is_on_the_card(
    tmp_path: Path, control: float | None, seeds: tuple[int, ...], standing: str
) -> None:
    comparison = compared(simulate(tmp_path, tasks=["section"], seeds=seeds))
    task = comparison.tasks[0]
    assert task.chosen is not None
    arm = task.arm(task.chosen)
    assert arm is not None
    assert arm.interval is not None
    score = arm.interval.mean if control is None else control
    task = dataclasses.replace(task, baselines={"majority": 0.005, "tfidf_logistic": score})
    page = render(dataclasses.replace(comparison, tasks=[task]))
    card = page[page.index('class="card"') :].partition("</article>")[0]
    assert f"<b>{100 * score:.1f}</b>" in card
    assert "TF-IDF + logistic regression" in card
    assert standing in card
    alone = trust.against_baselines(dataclasses.replace(task, baselines={"majority": score}), 0.95).en
    assert alone.startswith("The only baseline on the test split (most frequent label")


def test_seeds_that_give_one_answer_are_on_the_card(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    assert "Seeds that" not in render(compared(made))
    path = made.root / "metrics/finetune/section-task.json"
    cell = read_json(path)
    cell["seeds"][1]["degenerate"] = True
    write_json(path, cell)
    comparison = compared(made)
    page = render(comparison)
    card = page[page.index('class="card"') :].partition("</article>")[0]
    assert "Seeds that predict one class only: task (1 of 3)." in card
    assert "只预测一个类别的种子：task（3 个中的 1 个）。" in card
    number = dataclasses.replace(comparison.tasks[0], target="number")
    sentence = trust.degenerate(number)
    assert sentence is not None
    assert sentence.en == "Seeds that give every row the same answer: task (1 of 3)."


def test_a_page_has_one_kind_of_minus(comparison: Comparison) -> None:
    """A negative correlation, its interval, its axis and a learning rate of 1e-05 are written with the same minus."""
    task = comparison.tasks[0]
    below = Interval(-0.21, -0.4, -0.02, 0.1, 3)
    arms = [dataclasses.replace(arm, interval=below, scores={1: -0.2, 2: -0.22, 3: -0.21}) for arm in task.arms]
    steps = [dataclasses.replace(step, difference=Difference(below, 0.5, 0.3)) for step in task.steps]
    task = dataclasses.replace(task, metric="pearson", target="number", arms=arms, steps=steps, inspection=None)
    page = seen(render(dataclasses.replace(comparison, tasks=[task], suite=[])))
    assert "−21.0" in page
    assert "−40" in page, "on the axis"
    assert re.findall(r"(?<![\w-])-\s?\d[^\n]{0,20}", page) == []
    assert re.findall(r"\de-\d", page) == []
    table = comparison_table(summary(dataclasses.replace(comparison, tasks=[task], suite=[])))
    assert "−" not in table
    assert "-21.0" in table


def test_intervals_end_where_scores_end(tmp_path: Path) -> None:
    """Two seeds of three fail: the t-interval of the mean would begin far below 0."""
    made = simulate(tmp_path, tasks=["section", "mention"])
    for task, metric in (("section", "f1_macro"), ("mention", "f1_span")):
        path = made.root / f"metrics/finetune/{task}-domain.json"
        cell = read_json(path)
        for seed, score in zip(cell["seeds"], (0.01, 0.02, 0.6), strict=True):
            seed[f"test/{metric}"] = score
        write_json(path, cell)
    comparison = compared(made)
    for task in comparison.tasks:
        for arm in task.arms:
            assert arm.interval is not None
            assert arm.interval.low is not None
            assert arm.interval.high is not None
            assert 0 <= arm.interval.low < arm.interval.high <= 1
    assert min(average.interval.low or 0 for average in comparison.suite) == 0


def test_a_single_result_was_not_chosen(one_arm: Comparison, tmp_path: Path) -> None:
    assert sentences.best(one_arm.tasks[0], 0.95).en.startswith("The only arm with a result is domain;")
    assert "✓" not in captions.arms(one_arm.tasks[0], 0.95).en
    several = compared(simulate(tmp_path, tasks=["section"]))
    assert "✓: best on dev; test scores are not considered." in captions.arms(several.tasks[0], 0.95).en
    assert "Dashed" not in captions.arms(dataclasses.replace(several.tasks[0], baselines={}), 0.95).en


def test_arms_that_are_equal_on_dev_are_reported_as_equal(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    arms = [dataclasses.replace(arm, dev={1: 0.3, 2: 0.3, 3: 0.3}) for arm in task.arms[:2]]
    sentence = sentences.best(dataclasses.replace(task, arms=arms, chosen="scratch"), 0.95)
    assert sentence.en.startswith(
        "scratch and general score equally on the dev split, and scratch is the first of them;"
    )
    assert sentence.zh.startswith("开发集上 scratch 和 general 得分相同，取其中第一个 scratch；")


def marked(comparison: Comparison, dev: list[float]) -> dict[str, list[str]]:
    """Arms of the first task by what is said beside their names, in the chart and in the table."""
    task = comparison.tasks[0]
    arms = [dataclasses.replace(arm, dev={1: score, 2: score}) for arm, score in zip(task.arms[:3], dev, strict=False)]
    task = dataclasses.replace(task, arms=arms, chosen=arms[dev.index(max(dev))].name)
    page = render(dataclasses.replace(comparison, tasks=[task], suite=[]))
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


def test_the_sentence_on_masks_names_the_rungs_that_have_an_audit(comparison: Comparison) -> None:
    some = [
        rung if rung.name in ("scratch", "pretrain") else dataclasses.replace(rung, masks=None)
        for rung in comparison.rungs[:3]
    ]
    texts = [sentence.en for sentence in rungs.masking(dataclasses.replace(comparison, rungs=some))]
    assert texts == [
        "The masks of pretrain match the configuration, and no special token was masked.",
        f"No masking audit: {some[2].name}.",
    ]
    none = [dataclasses.replace(rung, masks=None) for rung in comparison.rungs]
    assert rungs.masking(dataclasses.replace(comparison, rungs=none)) == []


def test_text_that_did_not_change_became_no_better(comparison: Comparison) -> None:
    still = [dataclasses.replace(rung, before=rung.after) for rung in comparison.rungs]
    text = " ".join(sentence.en for sentence in rungs.reading(dataclasses.replace(comparison, rungs=still)))
    assert "(0.00, unchanged)" in text
    assert "better" not in text
    assert "worse" not in text


def test_a_ladder_without_rungs_above_pre_training_learned_and_forgot_nothing(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    cells = {key: cell.model_dump(by_alias=True) for key, cell in made.ladder.finetune.items()}
    two_cells = {key: cells[key] for key in ("section-scratch", "section-general")}
    ladder = LadderConfig.model_validate({"domain_transfer": [], "task_transfer": {}, "finetune": two_cells})
    comparison = compared(Simulated(tmp_path, ladder))
    assert [sentence.en for sentence in rungs.reading(comparison)] == [
        "The ladder has no rung above general pre-training."
    ]
    page = render(comparison)
    assert 'id="forgetting"' not in page
    assert "general_long" not in seen(page)


def test_weights_that_were_not_trained_here_cost_nothing(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    free = [
        dataclasses.replace(arm, cost=dataclasses.replace(arm.cost, tokens=0, tflop=0.0))
        for arm in task.arms
        if arm.cost
    ]
    step = task.step("pretrain")
    assert step is not None
    text = sentences.step(step, dataclasses.replace(task, arms=free), 0.95).en
    assert text.endswith("Neither arm was pre-trained in this project.")


def split(task: Task, **verdicts: Verdict) -> Task:
    steps = [dataclasses.replace(step, verdict=verdicts.get(step.question, step.verdict)) for step in task.steps]
    return dataclasses.replace(task, steps=steps)


def test_parts_of_a_lift_are_reported_only_where_they_add_up(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert len(sentences.lift(task, 0.95)) == 1
    assert sentences.lift(split(task, domain_text="untested"), 0.95)[0].en.endswith(
        "A gain from the domain text itself is not testable."
    )

    def moved(step: Step) -> Step:
        assert step.difference is not None
        mean = step.difference.interval.mean + 0.01 * (step.question == "more_training")
        interval = dataclasses.replace(step.difference.interval, mean=mean)
        return dataclasses.replace(step, difference=dataclasses.replace(step.difference, interval=interval))

    assert sentences.lift(dataclasses.replace(task, steps=[moved(step) for step in task.steps]), 0.95) == []


def test_a_control_with_another_number_of_tokens_is_not_as_much_training(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert "as much further training on general text" in sentences.lift(task, 0.95)[0].en
    arms = [
        dataclasses.replace(arm, cost=dataclasses.replace(arm.cost, tokens=1_800_000))
        if arm.name == "general_long" and arm.cost
        else arm
        for arm in task.arms
    ]
    text = sentences.lift(dataclasses.replace(task, arms=arms), 0.95)[0].en
    assert "as much" not in text
    assert "(1.80 M tokens in all, not 2.80 M)" in text


def test_text_that_is_partly_a_demonstration_is_said_to_be_so(comparison: Comparison) -> None:
    own = [dataclasses.replace(source, demonstration=source.name == "general") for source in comparison.sources]
    caption = captions.demonstration(dataclasses.replace(comparison, sources=own))
    assert caption is not None
    assert caption.en.startswith("A part of the text (general) is text that is available on any machine.")
