"""The page says what the figures carry, claims no more than was repeated, and is whole in one file."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adaptbert.comparison.records import Comparison, Confusion, Replicated, Task
from adaptbert.core.files import write_json
from adaptbert.report import overview, terms
from adaptbert.report.language import change, p_value
from adaptbert.report.markdown import in_markdown
from adaptbert.report.mlflow_runs import ADDRESS
from adaptbert.report.page import render
from adaptbert.report.sentences import captions, first_screen, rungs, starts, trust
from adaptbert.report.sentences import steps as sentences
from adaptbert.report.sentences import tasks as task_sentences
from adaptbert.report.sentences.steps import verdict_with
from adaptbert.report.terms import STANDS
from adaptbert.report.text_table import comparison_table
from adaptbert.statistics.intervals import Interval
from adaptbert.tasks.metrics.cell_metrics import CellMetrics, SearchMetrics, TrialMetrics
from tests.support.judged_steps import answered, difference, retrained
from tests.support.known import known
from tests.support.page_reader import CHINESE, Reader, seen
from tests.support.simulated import ACCURACY, ARMS, Simulated, compared, edited, rearmed, simulate

KINDS = ["comparison", "repeated", "several"]
"""Of one draw, of three, and of two starts."""


@pytest.fixture(scope="module", params=KINDS)
def any_page(request: pytest.FixtureRequest) -> str:
    return render(request.getfixturevalue(request.param))


def part(page: str, begins: str, ends: str) -> str:
    return page[page.index(begins) :].partition(ends)[0]


def test_the_page_is_well_formed_and_fetches_nothing(any_page: str) -> None:
    """Its links lead to parts of it and to the files of its figures, which are read when they are clicked."""
    read = Reader(any_page)
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    assert set(read.labelled_by) <= set(read.ids)
    assert read.addresses
    for address in read.addresses:
        file = re.fullmatch(r"figures/(.+?)(\.zh)?\.svg", address)
        anchor = file[1] if file is not None else address.removeprefix("#")
        assert address == "data:," or (anchor in read.ids and address != anchor), address
    for fetched in ("url(", "@import", "http://", "https://"):
        assert fetched not in any_page.replace(ADDRESS, "").replace("http-equiv", "")


def test_every_sentence_stands_in_both_languages(any_page: str) -> None:
    text = Reader(any_page).text
    assert len(text["en"]) == len(text["zh-Hans"]) > 100
    assert not [sentence for sentence in text["en"] if CHINESE.search(sentence) and sentence != "中文"]
    names = {"English", "TFLOP", "macro-F1"}
    words = [s for s in text["zh-Hans"] if re.search(r"\w", s) and s not in names and not s.startswith("0")]
    assert not [sentence for sentence in words if not CHINESE.search(sentence)]
    # What stands outside of both is names and numbers: no English sentence slips through untranslated.
    codes = ("domain", "tags.stage = ", ".venv/bin/mlflow ")
    assert not [t for t in text[""] if len(re.findall(r"[a-z]+", t)) > 4 and " " in t and not t.startswith(codes)]


def test_the_page_begins_with_the_answers_and_has_every_score(comparison: Comparison, page: str) -> None:
    places = [page.index(f'class="{name}"') for name in ("answer", "notice", "matrix", "card")]
    assert places == sorted(places)
    head = page[: page.index("</header>")]
    for text in (*overview.verdict(comparison), *first_screen.facts(comparison)):
        assert seen(f"<p>{text.__html__()}</p>").strip() in seen(head)
    heading = overview.heading(comparison)
    assert page.count(f'<h1><span lang="en">{heading.en}</span>') == 1
    assert f'<title data-zh="adaptbert：{heading.zh}">adaptbert: {heading.en[0].lower()}' in page
    assert "演示语料" in page
    for task in comparison.tasks:
        for arm in task.arms:
            assert f"<code>{arm.name}</code>" in page
            assert f"<b>{100 * known(arm.interval).mean:.1f}</b>" in page
            assert all(f">{100 * score:.1f}</span>" in page for score in arm.scores.values())


def test_how_often_a_verdict_errs_follows_from_the_confidence(comparison: Comparison) -> None:
    page = render(replace(comparison, confidence=0.98, worth=0.02))
    assert "one or more of them are wrong in at most 2 % of studies" in page
    assert "The smallest gain worth having is 2.0 points (<code>compare.min_gain</code>)" in page


def test_the_matrix_holds_difference_interval_verdict_and_cost_of_every_step(repeated: Comparison) -> None:
    fewer = replace(repeated.tasks[1], steps=repeated.tasks[1].steps[1:])
    comparison = replace(repeated, tasks=[repeated.tasks[0], fewer])
    matrix = part(render(comparison), 'class="matrix"', "</table>")
    cells = re.findall(r'<td role="cell"[^>]*>(.*?)</td>', matrix, re.DOTALL)
    answers = [answer for row in overview.matrix(comparison) for _, answer in row.answers]
    assert len(cells) == len(answers) == 2 * len(repeated.tasks[0].steps)
    for cell, step in zip(cells, answers, strict=True):
        assert ("not compared" in cell) == (step is None), "the step that one task lacks"
        if step is not None:
            ends = change(known(known(step.difference).low)), change(known(known(step.difference).high))
            assert f"<b>{change(known(step.difference).mean)}</b>" in cell
            assert "{} to {}".format(*ends) in cell
            assert ("adjusted p" in cell) == ("校正 p" in cell) == step.primary
            assert re.findall(r"chip verdict-(\w+)", cell) == ([step.verdict] if step.primary else [])
    assert "2.00 M tokens" in matrix
    assert "same number of tokens" in matrix, "the control costs as much as domain transfer"


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
    other = [replace(step, other="ground") for step in comparison.tasks[0].steps]
    tasks = [*comparison.tasks, replace(comparison.tasks[0], name="other", steps=other)]
    both = {row.name.en: row.arms for row in overview.matrix(replace(comparison, tasks=tasks))}
    assert both["Domain transfer (base)"] == ["base − plain", "base − ground"]


CLAIMS = {
    "en": (
        r"\bgains?\b(?! worth having)",
        r"\bloss\b",
        r"\bworth it\b",
        r"\b(brings?|brought|come with|belongs? to|due to) (a |the )?(gain|loss|domain|text)",
        r"(?<!No step is shown to )\bhelps?\b(?!; )|\bhelped\b",
        r"\bOn at least \d+ of these\b",
        r"\b(arm|baseline) better\b|better choice",
        r"no difference|no gain shown|undecided",
        r"adjusted p",
    ),
    "zh-Hans": (
        "有提升|带来|下降：|没有差别|未证实提升|未定",
        "(?<!不)值得(?!的最小提升)",
        "该组更好|基线更好|更好的选择",
        r"在这 \d+ 个任务中",
        "校正 p",
    ),
}
"""Of which a page with one draw has none. (Its caption names the smallest gain worth having.)"""


def claims(page: str) -> list[str]:
    """Sentences above the explanations that claim an effect."""
    text = Reader(page.partition('<section id="limits"')[0]).text
    return [
        sentence
        for language, patterns in CLAIMS.items()
        for sentence in text[language]
        if any(re.search(pattern, sentence) for pattern in patterns)
    ]


def test_where_each_rung_was_trained_once_nothing_says_that_a_step_helps(tmp_path: Path) -> None:
    """Domain text seems to help beyond all doubt, and five seeds and all test rows agree; each rung has one draw."""
    accuracy = ACCURACY | {"general_long": 0.50, "domain": 0.90, "domain_task": 0.60}
    sure = compared(simulate(tmp_path, seeds=range(1, 6), accuracy=accuracy))
    for task in sure.tasks:
        for step in task.steps:
            expected = ("one_draw" if step.primary else "descriptive", None, None)
            assert (step.verdict, step.p_holm, step.needed) == expected
        assert known(known(known(task.step("domain_text")).difference).low) > 0.1, "the weights differ without doubt"
    assert sure.replicated == []
    page = render(sure)
    assert claims(page) == []
    assert set(re.findall(r'class="(?:chip|whisker|mean) verdict-(\w+)"', page)) == {"one_draw", "descriptive"}


def test_what_counts_as_a_claim_is_found_where_draws_were_repeated(repeated: Comparison) -> None:
    found = " ".join(claims(render(repeated)))
    for claim in ("worth it", "On at least 2 of these 2 tasks", "Which steps helped?", "值得", "在这 2 个任务中"):
        assert claim in found


@pytest.mark.parametrize(("primary", "promised"), [(["domain_text"], True), (["climb"], False)])
def test_a_second_draw_is_advised_only_where_it_brings_a_verdict(
    tmp_path: Path, primary: list[str], promised: bool
) -> None:
    """General pre-training is done once, whatever `draws` says."""
    comparison = compared(simulate(tmp_path, tasks=["section"]), primary=primary)
    assert ("Verdicts need at least two draws" in render(comparison)) is promised


def test_an_effect_on_several_tasks_is_a_sentence_of_its_own(repeated: Comparison, several: Comparison) -> None:
    mixed = [
        Replicated("domain_text/news", "domain_text", "news", "small", 4, 2, 1),
        Replicated("task_transfer_after_domain", "task_transfer_after_domain", None, "small", 4, 0, 0),
    ]
    texts = [text.en for text in overview.verdict(replace(repeated, replicated=mixed))]
    assert [text for text in texts if text.startswith("On at least")] == [
        "On at least 2 of these 4 tasks, the domain text itself (news) brings a gain.",
        "On at least 1 of these 4 tasks, the domain text itself (news) brings a loss.",
    ]
    of_starts = [text.en for text in overview.verdict(several) if text.en.startswith("On at least")]
    assert of_starts
    assert all("(small)" in text or "(base)" in text for text in of_starts)


def test_a_page_has_one_kind_of_minus(comparison: Comparison) -> None:
    """A negative correlation, its interval, its axis and a learning rate of 1e-05 are written with the same minus."""
    task = comparison.tasks[0]
    below = Interval(-0.21, -0.4, -0.02, 0.1, 3)
    arms = [replace(arm, interval=below) for arm in task.arms]
    steps = [replace(step, difference=difference(-0.21, 0.19)) for step in task.steps]
    task = replace(task, metric="pearson", target="number", arms=arms, steps=steps, inspection=None)
    negative = replace(comparison, tasks=[task])
    page = seen(render(negative))
    assert "−21.0" in page
    assert "−40" in page, "on the axis"
    assert re.findall(r"(?<![\w-])-\s?\d[^\n]{0,20}|\de-\d", page) == []
    table = comparison_table(negative)
    assert "-21.0" in table
    assert "−" not in table


@pytest.mark.parametrize(
    ("dev", "marks"),
    [
        ([0.3, 0.4, 0.2], {"chart": ["general"], "one": ["general"], "several": []}),
        ([0.3, 0.3, 0.2], {"chart": ["scratch", "general"], "one": [], "several": ["scratch", "general"]}),
        ([0.3], {"chart": [], "one": [], "several": []}),
    ],
)
def test_the_mark_beside_an_arm_means_best_on_dev_and_nothing_else(
    comparison: Comparison, dev: list[float], marks: dict[str, list[str]]
) -> None:
    """`scratch` once had it where all arms were equal, as if it had won."""
    task = comparison.tasks[0]
    arms = [
        replace(arm, runs=[replace(run, dev=score) for run in arm.runs])
        for arm, score in zip(task.arms[:3], dev, strict=False)
    ]
    task = replace(task, arms=arms, chosen=arms[dev.index(max(dev))].name)
    page = render(replace(comparison, tasks=[task]))
    patterns = {
        "chart": ">%s ✓<",
        "one": '<code>%s</code> <span class="chip"><span lang="en">best on dev<',
        "several": '<code>%s</code> <span class="chip"><span lang="en">equal best on dev<',
    }
    shown = {mark: [arm.name for arm in arms if pattern % arm.name in page] for mark, pattern in patterns.items()}
    assert shown == marks


def test_the_chosen_arm_is_looked_at_closely(comparison: Comparison, page: str) -> None:
    for task in comparison.tasks:
        inspection = known(task.inspection)
        fold = part(page, f'id="closer-{task.name}"', "</details>")
        assert fold.count('<th scope="row"') == len(inspection.classes) + len(inspection.errors)
        values = [score for scores in inspection.classes for score in (*scores.means, scores.support)]
        assert all(f'data-value="{value}"' in fold for value in values)
        assert all(f"<code>{error.id}</code>" in fold for error in inspection.errors)
        assert fold.count("<circle") == 15
        assert ("→ Parameters" in fold) == (task.target == "class")
    assert "<details open" not in page


def inspected(comparison: Comparison, change: Callable[[Task], dict[str, Any]]) -> str:
    """The page of the first task with another inspection."""
    task = comparison.tasks[0]
    return render(
        replace(comparison, tasks=[replace(task, inspection=replace(known(task.inspection), **change(task)))])
    )


def test_many_classes_are_a_table_and_no_picture(comparison: Comparison) -> None:
    def many(task: Task) -> dict[str, Any]:
        classes = [replace(known(task.inspection).classes[0], label=f"class {n}") for n in range(60)]
        labels = [scores.label for scores in classes]
        return {
            "classes": classes,
            "confusion": Confusion(labels, {gold: dict.fromkeys(labels, 1.0) for gold in labels}),
        }

    page = inspected(comparison, many)
    assert "class 59</th>" in page
    assert 'class="confusion"' not in page
    assert 'id="classes-section"' not in page


def test_names_from_data_cannot_become_markup(comparison: Comparison) -> None:
    evil = "<script>alert(1)</script>{n}"

    def named(task: Task) -> dict[str, Any]:
        inspection = known(task.inspection)
        mixed = known(inspection.confusion)
        to = {label: evil if label == "Lead" else label for label in mixed.labels}
        counts = {to[gold]: {to[each]: n for each, n in row.items()} for gold, row in mixed.counts.items()}
        return {
            "confusion": Confusion(list(to.values()), counts),
            "classes": [replace(scores, label=to[scores.label]) for scores in inspection.classes],
            "errors": [replace(error, id=evil, gold=evil, predicted=evil) for error in inspection.errors],
        }

    page = inspected(comparison, named)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize(
    ("shape", "target", "metric"),
    [
        ("sentence_pair", "labels", "f1_macro"),
        ("sentence_pair", "number", "pearson"),
        ("sequence_labelling", "tags", "accuracy"),
        ("extractive_answer", "answer", "f1_answer"),
    ],
)
def test_every_kind_of_task_has_its_words(comparison: Comparison, shape: str, target: str, metric: str) -> None:
    task = comparison.tasks[0]
    nothing: dict[str, Any] = {"confusion": None}
    nothing |= {"calibration": None, "errors": [], "classes": []} if target == "number" else {}
    inspection = replace(known(task.inspection), **nothing)
    kind: dict[str, Any] = {"task_type": shape, "target": target, "metric": metric}
    baselines, beside = {"majority": task.baselines["majority"]}, {"majority": difference(0.3, 0.1)}
    other = replace(task, **kind, inspection=inspection, baselines=baselines, beside_baselines=beside)
    page = render(replace(comparison, tasks=[other]))
    assert Reader(page).open == []
    for words in (terms.KINDS[kind["task_type"], kind["target"]], terms.METRICS[metric]):
        assert words.zh in page
    majority = terms.baseline_name("majority", kind["target"])
    assert majority.zh in page
    assert (majority == terms.BASELINES["majority"]) == (target == "tags")
    assert ("closer-section" in page) == (target != "number")


@pytest.mark.parametrize(("seeds", "draws"), [((1,), 1), ((1, 2), 1), ((1,), 2)])
def test_a_page_of_few_seeds(tmp_path: Path, seeds: tuple[int, ...], draws: int) -> None:
    comparison = compared(simulate(tmp_path, seeds=seeds, draws=draws, tasks=["section"]))
    page, task = render(comparison), comparison.tasks[0]
    assert Reader(page).open == []
    count = f"{len(seeds)} seed{'s' * (len(seeds) > 1)}"
    assert f"points on {count}; an interval needs three seeds." in page
    assert "interval" not in captions.arms(task, 0.95).en
    assert f"{count})." in task_sentences.best(task, 0.95).en
    of_scores = page.partition('<section id="reading"')[0]
    assert not re.findall(r"[\d.]+ to [+−]?[\d.]+|[\d.]+ 到 ", of_scores), "neither in words"
    assert 'class="whisker' not in page, "nor drawn"
    assert {step.verdict for step in task.steps} == {"untested"}
    assert {known(arm.interval).low for arm in task.arms} == {None}
    assert "(an interval needs three seeds)" in comparison_table(comparison)


def made_alike(made: Simulated) -> None:
    """Every run of every arm gets the answers of one run, and one score."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first, *others = sorted((made.root / "predictions").iterdir())
    rows = pq.read_table(first).to_pylist()
    one = {row["id"]: row["predicted"] for row in rows if row["seed"] == 1}
    pq.write_table(pa.Table.from_pylist([{**row, "predicted": one[row["id"]]} for row in rows]), first)
    for path in others:
        path.write_bytes(first.read_bytes())
    for path in (made.root / "metrics/finetune").iterdir():
        with edited(path) as cell:
            for seed in cell["seeds"]:
                seed["dev/f1_macro"] = seed["test/f1_macro"] = 0.078


def test_where_no_answer_differs_there_is_no_difference_and_no_lack_of_seeds(tmp_path: Path) -> None:
    """Scores that are equal for all seeds have an interval over test rows, and none where these are not known."""
    made = simulate(tmp_path, tasks=["section"], draws=2)
    made_alike(made)
    comparison = compared(made)
    task = comparison.tasks[0]
    step = known(task.step("domain_text"))
    assert (step.verdict, known(step.difference).identical, task.scattered) == ("no_difference", True, [])
    assert sentences.step(step, task, 0.95, 0.01).en.startswith("The answers of both arms score alike: 0.0 points for")
    assert known(known(known(task.arm("domain")).interval).low) < 0.078
    assert " scores lower, " in trust.against_baselines(task, 0.95).en, "rows suffice"
    assert "needs three seeds" not in render(comparison)
    for path in (made.root / "predictions").iterdir():
        path.unlink()
    (task,) = compared(made).tasks
    assert "interval" not in captions.arms(task, 0.95).en
    assert task_sentences.best(replace(task, chosen="general"), 0.95).en.endswith("scores 7.8 (macro-F1, 3 seeds).")


def test_intervals_end_where_scores_end(made: Simulated) -> None:
    """Two seeds of three fail: the t-interval of the mean would begin far below 0."""
    with edited(made.cell("domain")) as cell:
        for seed, score in zip(cell["seeds"], (0.01, 0.02, 0.6), strict=True):
            seed["test/f1_macro"] = score
    interval = known(known(compared(made).tasks[0].arm("domain")).interval)
    assert (interval.low, known(interval.high) > 0.6) == (0, True)


def test_choice_and_cost_of_a_search_are_reported(made: Simulated) -> None:
    heading = "Hyper-parameter search on the dev split"
    assert heading not in render(compared(made))
    path = made.cell("domain")
    run = {"global_batch_size": 16, "epochs": 3.0, "dev": {"f1_macro": 0.5}, "seeds": [0.5], "tokens": 1, "tflop": 0.1}
    trials = [TrialMetrics(learning_rate=rate, **run) for rate in (1e-4, 2.5e-4)]
    search = SearchMetrics(trials=trials, chosen=2, seeds=[7], tokens=12_300_000, tflop=456.78)
    write_json(path, CellMetrics.read(path).model_copy(update={"search": search}).as_json())
    table = part(render(compared(made)), heading, "</table>")
    assert re.findall(r"<td[^>]*>([^<]*)<", table) == ["0.00025", "16", "3", "2", "12.3", "457"]


def test_the_masking_audit_is_reported(comparison: Comparison, page: str) -> None:
    table = part(page, 'id="table-masks"', "</table>")
    assert table.count('<th scope="row"') == len(comparison.checkpoints) - 1, "all but random weights"
    for shown in ("<b>15.0</b>", "6.0–26.2<", "mean length 1.00 tokens", "continuation (##)", "expected"):
        assert shown in table
    assert "Chinese</span>" not in table, "a class that does not occur has no column"
    none = {each.name: {"masks": None} for _, each in comparison.trained()}
    assert 'id="table-masks"' not in render(retrained(comparison, none))


def test_random_weights_that_no_arm_has_are_measured_on_general_text_alone(comparison: Comparison) -> None:
    general = {"general": comparison.checkpoints[0].before["general"]}
    changes: dict[str, dict[str, Any]] = {
        "scratch": {"before": general, "after": general},
        "pretrain": {"before": general},
    }
    row = part(render(retrained(comparison, changes)), "<code>pretrain</code><small>", "</tr>")
    assert len(re.findall("<b>", row)) == len(comparison.heldout)
    assert len(re.findall(r"<td[^>]*><b>[^<]*</b><small>", row)) == 1


def test_a_missing_draw_is_named(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], draws=3)
    for kind in ("metrics/finetune/section-domain-small-2.json", "metrics/domain_transfer/domain-small-2.json"):
        (made.root / kind).unlink()
    holed = compared(made)
    assert "Planned and without a result: section-domain (2)." in [text.en for text in first_screen.facts(holed)]
    assert "domain_transfer/domain-2 has no measurements." in [text.en for text in rungs.reading(holed)]
    assert Reader(render(holed)).open == []


def test_of_several_starts_every_run_is_a_dot_and_a_number(several: Comparison) -> None:
    page = render(several)
    for task in several.tasks:
        figure = part(page, f'id="arms-{task.anchor}"', "</figure>")
        assert figure.count('<circle class="dot"') == sum(len(arm.runs) for arm in task.arms)
        heights = set(re.findall(r'<circle class="dot" cx="[^"]*" cy="([^"]*)"', figure))
        assert len(heights) == sum(len(arm.by_replicate) for arm in task.arms), "a line of dots for each draw"
        table = part(page, f'id="table-{task.anchor}"', "</table>")
        for run in [run for arm in task.arms for run in arm.runs]:
            title = f"draw {run.replicate}, seed {run.seed}" if run.replicate else f"seed {run.seed}"
            assert f'title="{title}">{100 * run.score:.1f}</span>' in table
    table = part(page, 'id="table-bits"', "</table>")
    assert table.count('<th scope="row"') == 2 * 8, "no row for each draw"
    assert "3.12–3.14" in table, "the lowest and the highest draw of domain_transfer/domain on general text"
    legend = part(page[page.index('id="reading"') :], 'class="legend"', "</div>")
    assert legend.count("<code>") == 7, "one for each way of training"
    assert part(page, 'id="curve-base-domain"', "</figure>").count("<polyline") == 1 + 2 * 6, "a line for each draw"


def test_the_section_of_starts_has_every_arm_of_every_start(several: Comparison, comparison: Comparison) -> None:
    page = render(several)
    headlines = [starts.headline(each) for each in several.rankings]
    assert overview.verdict(several)[: len(headlines)] == headlines, "the page begins with them"
    for ranking in several.rankings:
        table = part(page, f'id="table-starts-{ranking.task}"', "</table>")
        assert table.count('role="rowheader"') == len(ranking.arms) == 6
        standings = [each for arm in ranking.arms for each in arm.standings]
        cells = re.findall(r'<td role="cell" data-task="(\w+)"><b>([\d.]+)</b>', table)
        assert cells == [(each.base, f"{100 * known(each.interval).mean:.1f}") for each in standings]
        chips = re.findall(r'class="chip verdict-(\w+)">([^<]*) <span lang="en">([^<]*)<', table)
        assert chips == [
            (each.verdict, change(known(each.difference).mean), STANDS[each.verdict].en)
            for each in standings
            if each.verdict is not None
        ]
        assert {verdict for verdict, *_ in chips} == {"one_draw"}, "both starts began with random weights"
    alone = render(comparison).partition("<body>")[2].partition("<script>")[0]
    for absent in ('id="starts"', "data-start", "data-choice", "different tokenizers"):
        assert absent not in alone


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its header."""
    below = text.partition(f"## {heading}\n\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in below.splitlines()[2:]]


def test_markdown_has_the_answers_the_arms_and_the_bits(repeated: Comparison) -> None:
    english, _, chinese = in_markdown(repeated).partition("\n---\n")
    steps = [(task, step) for task in repeated.tasks for step in task.steps if step.primary]
    for text, heading, language in ((english, "Primary questions", "en"), (chinese, "主要问题", "zh")):
        for (task, step), cells in zip(steps, rows(text, heading), strict=True):
            assert f"`{step.arm} − {step.other}`" in cells[0]
            assert cells[1:3] == [task.name, f"**{getattr(verdict_with(step.verdict, 0.01), language)}**"]
            assert cells[3] == change(known(step.difference).mean)
            assert change(known(step.difference).low or 0) in cells[4]
            assert cells[5] == p_value(known(step.p_holm)).removeprefix("= ")
            assert re.search(r"\b3\b", cells[6]), "three draws"
    assert len(rows(english, "Arms")) == sum(len(task.arms) + len(task.baselines) for task in repeated.tasks)
    bits = {cells[0]: cells[1:] for cells in rows(english, "Bits per character on held-out text")}
    assert bits == {
        f"`{each.name}`": [f"{each.after[text]:.3f}" for text in repeated.heldout] for _, each in repeated.trained()
    }


def test_markdown_of_a_verdict_that_excludes_a_loss_and_of_one_draw(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    steps = [answered(task, "domain_text", 0.047, 0.042, "no_worse", 0.06)]
    english = in_markdown(replace(comparison, worth=0.015, tasks=[replace(task, steps=steps)]))
    row = rows(english, "Primary questions")[0]
    assert row[2:6] == ["**no gain shown; a loss of 1.5 or more excluded**", "+4.7", "+0.5 to +8.9", "0.060"]
    assert {cells[5] for cells in rows(in_markdown(comparison), "Primary questions")} == {"–"}, "no verdict, no p"
