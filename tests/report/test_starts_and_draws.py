"""What the page says of several starts and draws, and that it does not claim what was not repeated."""

import dataclasses
import re
from pathlib import Path

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.comparison.rungs import Cost
from adaptbert.comparison.starts import Ranking
from adaptbert.report import overview
from adaptbert.report.page import render
from adaptbert.report.sentences import captions, first_screen, repetition, rungs, starts, trust
from adaptbert.report.sentences import tasks as task_sentences
from adaptbert.report.terms import STANDS, change
from tests.support.known import known
from tests.support.page_reader import Reader, same_numbers
from tests.support.simulated import compared, edited, simulate


@pytest.fixture(scope="module")
def page(several: Comparison) -> str:
    return render(several)


def test_every_run_is_a_dot_and_a_number(several: Comparison, page: str) -> None:
    for task in several.tasks:
        figure = page[page.index(f'id="arms-{task.anchor}"') :].partition("</figure>")[0]
        assert figure.count('<circle class="dot"') == sum(arm.runs for arm in task.arms)
        heights = set(re.findall(r'<circle class="dot" cx="[^"]*" cy="([^"]*)"', figure))
        assert len(heights) == sum(len(arm.by_draw) for arm in task.arms), "a line of dots for each draw"
        table = page[page.index(f'id="table-{task.anchor}"') :].partition("</table>")[0]
        for arm in task.arms:
            for draw, scores in arm.by_draw.items():
                for seed, score in scores.items():
                    title = f"draw {draw}, seed {seed}" if draw else f"seed {seed}"
                    assert f'title="{title}">{100 * score:.1f}</span>' in table


def test_words_follow_what_was_repeated(several: Comparison, page: str) -> None:
    task = several.tasks[0]
    assert "3 seeds, 300 test rows" in task_sentences.best(dataclasses.replace(task, chosen="general"), 0.95).en
    assert "2 draws, 3 seeds, 300 test rows" in task_sentences.best(dataclasses.replace(task, chosen="domain"), 0.95).en
    assert overview.verdict(several)[-1] == repetition.once(several)
    assert repetition.once(several).en.startswith("Each rung above general pre-training was trained 2 times (draws)")
    assert "a line of dots for each draw" in captions.arms(task, 0.95).en


def test_answers_name_the_start_of_every_task(several: Comparison) -> None:
    texts = [text for text in overview.verdict(several) if text.en.startswith("The domain text itself: ")]
    assert len(texts) == 1
    for task in several.tasks:
        step = known(task.step("domain_text"))
        answer = f"{task.name} {change(known(step.difference).mean)}"
        assert answer in texts[0].en
        assert answer in texts[0].zh
    on_several = [text.en for text in overview.verdict(several) if text.en.startswith("On at least")]
    assert on_several
    assert all("(small)" in text or "(base)" in text for text in on_several)


def test_a_second_draw_has_a_price(comparison: Comparison) -> None:
    second = repetition.once(dataclasses.replace(comparison, one_more_draw=Cost(4_500_000, 143.0)))
    price = "4.50 M tokens and 143 TFLOP more."
    assert second.en.endswith(f"Verdicts need at least two draws (`ladder.draws: 2` in params.yaml): {price}")
    assert same_numbers(second)
    assert "second draw" not in repetition.once(dataclasses.replace(comparison, one_more_draw=None)).en


def test_rungs_are_shown_without_a_row_or_sentence_for_each_draw(several: Comparison, page: str) -> None:
    table = page[page.index('id="table-bits"') :].partition("</table>")[0]
    assert table.count('<th scope="row"') == 2 * 8
    assert "3.12–3.14" in table, "the lowest and the highest draw of domain_transfer/domain on general text"
    legend = page[page.index('id="reading"') :].partition('class="legend"')[2].partition("</div>")[0]
    assert legend.count("<code>") == 7, "one for each way of training"
    figure = page[page.index('id="curve-base-domain"') :].partition("</figure>")[0]
    assert figure.count("<polyline") == 1 + 2 * 6, "a line for each draw"


def test_a_missing_draw_is_named(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], draws=3)
    for kind in ("metrics/finetune/section-domain-small-{}.json", "metrics/domain_transfer/domain-small-{}.json"):
        (made.root / kind.format(2)).unlink()
    holed = compared(made)
    assert "Planned and without a result: section-domain (2)." in [text.en for text in first_screen.facts(holed)]
    assert "domain_transfer/domain-2 has no measurements." in [text.en for text in rungs.reading(holed)]
    assert Reader(render(holed)).open == []


def test_runs_that_fail_are_counted_among_all_runs(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], draws=2)
    with edited(made.root / "metrics/finetune/section-task-small-2.json") as cell:
        cell["seeds"][0]["degenerate"] = True
    task = compared(made).tasks[0]
    words = [trust.degenerate(each) for each in (task, dataclasses.replace(task, target="number"))]
    assert [each.en for each in words if each is not None] == [
        "Runs that predict one class only, included in the mean: task (1 of 6).",
        "Runs that give every row the same answer, included in the mean: task (1 of 6).",
    ]


def ranked(several: Comparison, **changes: object) -> Ranking:
    """The ranking of the first task; the costs of its second start in the arm that orders are others."""
    ranking = several.rankings[0]
    first, second = ranking.arms[0].standings
    standings = [first, dataclasses.replace(second, **changes)]  # type: ignore[arg-type]
    return dataclasses.replace(ranking, arms=[dataclasses.replace(ranking.arms[0], standings=standings)])


def test_budgets_of_starts_are_said_to_differ(several: Comparison) -> None:
    assert starts.budgets(several.rankings[0]) is None
    assert starts.budgets(ranked(several, cost=Cost(2_800_000, 560.0))) is None
    ranking = ranked(several, cost=Cost(3_000_000, 90.0))
    first, second = ranking.order
    differing = known(starts.budgets(ranking))
    assert "a difference may be due to the amount of training" in differing.en
    assert f"{ranking.arm} ({first} 2.80 M and {second} 3.00 M tokens)" in differing.en
    assert same_numbers(differing)


def test_the_order_of_starts_is_that_of_dev_with_the_difference_on_test(several: Comparison) -> None:
    ranking = several.rankings[0]
    difference = known(ranking.arms[0].standings[1].difference)
    text = starts.order(ranking, 0.95)
    dev = [f"{start} {100 * ranking.dev[start]:.1f}" for start in ranking.order]
    assert f"on the dev split, in the arm {ranking.arm}: {dev[0]} and {dev[1]}." in text.en
    assert f"differs from {ranking.order[0]} by {100 * difference.mean:+.1f}".replace("-", "−") in text.en
    assert same_numbers(text)
    alone = starts.order(ranked(several, difference=None), 0.95)
    assert "share no seed" in alone.en


def test_starts_that_are_equal_on_dev_have_no_order(several: Comparison) -> None:
    ranking = several.rankings[0]
    tied = dataclasses.replace(ranking, dev=dict.fromkeys(ranking.order, 0.5))
    assert starts.headline(tied).en == f"On {tied.task}, base and small are equal on the dev split (arm domain)."
    second = known(ranking.arms[0].standings[1].verdict)
    assert starts.headline(ranking).en == (
        f"On {ranking.task}, base is ahead of small on the dev split (arm domain); on the test split, small: "
        f"{STANDS[second].en}."
    )
    headlines = [starts.headline(each) for each in several.rankings]
    assert overview.verdict(several)[: len(headlines)] == headlines, "the page begins with them"
    alone = dataclasses.replace(several, tasks=[dataclasses.replace(task, steps=[]) for task in several.tasks])
    assert overview.verdict(alone) == headlines


def test_starts_that_were_made_here_are_named(several: Comparison, page: str) -> None:
    ranking = several.rankings[0]
    text = known(starts.made_here(ranking))
    assert text.en.startswith("The weights that base and small began with were made here and once")
    assert text.zh.endswith("无论其上各级训练多少次，与它们的差别都不下结论。")
    assert text.en in page
    assert starts.made_here(dataclasses.replace(ranking, made_here=[])) is None


def test_the_section_has_every_arm_of_every_start(several: Comparison, page: str) -> None:
    for ranking in several.rankings:
        table = page[page.index(f'id="table-starts-{ranking.task}"') :].partition("</table>")[0]
        assert table.count('role="rowheader"') == len(ranking.arms) == 6
        cells = re.findall(r'<td role="cell" data-task="(\w+)"><b>([\d.]+)</b>', table)
        assert cells == [
            (each.start, f"{100 * each.interval.mean:.1f}")
            for arm in ranking.arms
            for each in arm.standings
            if each.interval is not None
        ]
        chips = re.findall(r'class="chip verdict-(\w+)">([^<]*) <span lang="en">([^<]*)<', table)
        assert chips == [
            (each.verdict, change(each.difference.mean), STANDS[each.verdict].en)
            for arm in ranking.arms
            for each in arm.standings
            if each.verdict is not None and each.difference is not None
        ]
        assert len(chips) == 6
    assert "The questions between the starts of a task are a family of their own" in page
    assert {each.verdict for ranking in several.rankings for arm in ranking.arms for each in arm.standings[1:]} == {
        "one_draw"
    }, "both starts began with random weights"


def test_one_start_has_no_section_and_no_choice(comparison: Comparison) -> None:
    page = render(comparison).partition("<body>")[2].partition("<script>")[0]
    for absent in ('id="starts"', "data-start", "data-choice", "different tokenizers"):
        assert absent not in page
