"""The page says in both languages what the figures carry, and is whole in one file."""

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import escape

from adaptbert.comparing import compare_all
from adaptbert.comparison import Comparison, Rung, Step, Task, Tempered
from adaptbert.comparison_table import comparison_table
from adaptbert.confusion import Confusion
from adaptbert.outputs import read_json, write_json
from adaptbert.report import charts, rungs, sentences, trust, words
from adaptbert.report.page import render, role
from adaptbert.report.words import Words
from adaptbert.statistics import Difference, Interval, mean_interval
from adaptbert.summary import summary
from tests.simulated import ACCURACY, ARMS, simulate

CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    made = simulate(tmp_path_factory.mktemp("recipe"), seeds=(1, 2, 3), draw=2)
    return compare_all(made.ladder, confidence=0.95, baseline_seed=1, **made.paths)


@pytest.fixture(scope="module")
def page(comparison: Comparison) -> str:
    return render(comparison)


class Reader(HTMLParser):
    """Tags in order, text by language, and every address that a browser would fetch."""

    VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str]] = []
        self.addresses: list[str] = []
        self.text: dict[str, list[str]] = {"en": [], "zh-Hans": [], "": []}
        self.ids: list[str] = []
        self.labelled_by: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.addresses += [found[name] for name in ("src", "href", "action", "data") if name in found]
        self.ids += [found["id"]] if "id" in found else []
        self.labelled_by += [found["aria-labelledby"]] if "aria-labelledby" in found else []
        language = found.get("lang", "") if tag in ("span", "tspan") else ""
        if tag not in self.VOID:
            self.open.append((tag, language))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        language = next((language for _, language in reversed(self.open) if language), "")
        if data.strip() and not {"style", "script", "title"} & {tag for tag, _ in self.open}:
            self.text[language].append(data.strip())


def test_the_page_is_well_formed_and_fetches_nothing(page: str) -> None:
    read = Reader(page)
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    assert set(read.labelled_by) <= set(read.ids)
    assert read.addresses
    for address in read.addresses:
        assert address == "data:," or (address.startswith("#") and address[1:] in read.ids), address
    assert "url(" not in page
    assert "@import" not in page
    assert "http://" not in page.replace("http-equiv", "")
    assert "https://" not in page


def test_every_sentence_stands_in_both_languages(page: str) -> None:
    text = Reader(page).text
    assert len(text["en"]) == len(text["zh-Hans"]) > 100
    assert not [sentence for sentence in text["en"] if CHINESE.search(sentence) and sentence != "中文"]
    names = {"English", "TFLOP", "macro-F1"}
    assert not [s for s in text["zh-Hans"] if not CHINESE.search(s) and s not in names and not s.startswith("0")]
    # What stands outside of both is names and numbers: no English sentence slips through untranslated.
    assert not [t for t in text[""] if len(re.findall(r"[a-z]+", t)) > 4 and " " in t and not t.startswith("domain")]


def test_no_number_of_a_sentence_differs_between_the_languages(comparison: Comparison) -> None:
    for task in comparison.tasks:
        told = [sentences.step(step, task, 0.95) for step in task.steps]
        told += [sentences.best(task, 0.95), sentences.lift(task, 0.95), trust.against_controls(task, 0.95)]  # type: ignore[list-item]
        told += [trust.calibration(task)]  # type: ignore[list-item]
        for sentence in [*told, *rungs.reading(comparison)]:
            decimals = r"[+−]?\d+\.\d+"
            assert sorted(re.findall(decimals, sentence.en)) == sorted(re.findall(decimals, sentence.zh))


def test_the_page_says_what_it_must(comparison: Comparison, page: str) -> None:
    assert "Demonstration corpus" in page
    assert "演示语料" in page
    assert "Intervals cover fine-tuning seeds only" in page
    assert "one pre-training run is one draw" in page
    for arm in ARMS:
        assert f"<code>{arm}</code>" in page
    for task in comparison.tasks:
        for arm in task.arms:
            assert arm.interval is not None
            assert f"<b>{100 * arm.interval.mean:.1f}</b>" in page
            for score in arm.scores.values():
                assert f">{100 * score:.1f}</span>" in page


def test_the_masking_audit_is_told(comparison: Comparison, page: str) -> None:
    table = page[page.index('id="table-masks"') : page.index('id="forgetting"')]
    assert table.count('<th scope="row"') == len(comparison.rungs) - 1, "all but random weights"
    for shown in (
        "<b>15.0</b>",
        "6.0–26.2<",
        "mean length 1.00 tokens",
        "inside a word",
        "词内续片",
        "expected",
        "应为",
    ):
        assert shown in table
    assert "Chinese</span>" not in table, "a class that does not occur has no column"
    assert [told.en for told in rungs.masking(comparison)] == [
        "On every rung the masks are what was asked for, and no special token was masked."
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"specials": 3}, "pretrain: 3 special tokens were masked; not one should be."),
        ({"rate": 0.171}, "pretrain: 17.1 % of the tokens were masked, not 15.0 %."),
        ({"documents_without": 0.84}, "pretrain: 84.0 % of the documents have no mask at all; by their lengths 1.1 %"),
        ({"documents_whole": 0.009}, "pretrain: 0.9 % of the documents are masked from end to end; by their lengths 0"),
        (
            {"documents_whole": 0.16, "documents_whole_expected": 0.16},
            "pretrain: 16.0 % of the documents are masked from end to end and leave nothing to guess from",
        ),
    ],
)
def test_masks_that_are_not_what_was_asked_for_are_named(
    comparison: Comparison, changes: dict[str, float], sentence: str
) -> None:
    def changed(rung: Rung) -> Rung:
        if rung.masks is None or rung.name != "pretrain":
            return rung
        return dataclasses.replace(rung, masks=dataclasses.replace(rung.masks, audit={**rung.masks.audit, **changes}))

    found = dataclasses.replace(comparison, rungs=[changed(rung) for rung in comparison.rungs])
    told = rungs.masking(found)
    assert len(told) == 1
    assert told[0].en.startswith(sentence)
    decimals = r"\d+\.\d+"
    assert re.findall(decimals, told[0].en) == re.findall(decimals, told[0].zh)


def test_the_chosen_arm_is_looked_at_closely(comparison: Comparison, page: str) -> None:
    for task in comparison.tasks:
        assert task.inspection is not None
        fold = page[page.index(f'id="closer-{task.name}"') :]
        fold = fold[: fold.index("</details>")]
        assert fold.count('<th scope="row"') == len(task.inspection.classes) + len(task.inspection.errors)
        for scores in task.inspection.classes:
            for score in (*scores.means, scores.support):
                assert f'data-value="{score}"' in fold
        for error in task.inspection.errors:
            assert f"<code>{error.id}</code>" in fold
        assert fold.count("<circle") == 15
        assert ("→ Parameters" in fold) == (task.target == "class")
    assert "<details open" not in page


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
    assert "As far as these rows can tell, that is true." in calibrated(section, ece=0.05, chance=0.04).en
    sure = calibrated(section, ece=0.12, chance=0.04, claimed=0.8, came_true=0.7)
    assert "The mean confidence is 80.0 %, and 70.0 % are right. It is surer than it should be." in sure.en
    assert "模型过于自信" in sure.zh
    assert "less sure than it could be" in calibrated(section, ece=0.12, chance=0.04, claimed=0.6, came_true=0.7).en
    assert "least sure tag" in calibrated(mention).en
    assert "that is true" in calibrated(section, ece=0.0, chance=0.0, claimed=1.0, came_true=1.0).en


def test_what_a_temperature_would_change_is_told(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert "temperature" not in trust.calibration(task).en  # type: ignore[union-attr]
    found = dataclasses.replace(task, tempered=Tempered({1: 1.306, 2: 1.204}, 0.0312))
    told = calibrated(found, ece=0.12)
    assert "(1.20 to 1.31; above 1 is too sure) takes it from 12.0 to 3.1 in bins" in told.en
    assert re.findall(r"\d+\.\d+", told.en) == re.findall(r"\d+\.\d+", told.zh)
    told_once = calibrated(dataclasses.replace(found, tempered=Tempered({1: 1.5}, 0.0312)))
    assert "(1.50; above" in told_once.en
    table = summary(dataclasses.replace(comparison, tasks=[found, comparison.tasks[1]]))["inspection"]
    assert table["section"]["ece_tempered"] == 0.0312
    assert table["section"]["temperatures"] == [[1, 1.306], [2, 1.204]]
    assert "ece_tempered" not in table["mention"]


def test_tasks_together_are_named_as_a_mean_of_unlike_things(comparison: Comparison, page: str) -> None:
    table = page[page.index('id="suite"') : page.index('id="reading"')]
    assert "The plain mean of macro-F1 of section and strict span F1 of mention" in table
    assert "share of nothing" in table
    for average in comparison.suite:
        assert f"<b>{100 * average.interval.mean:.1f}</b>" in table
    fewer = dataclasses.replace(comparison, suite=comparison.suite[1:])
    assert sentences.suite(fewer)[1].en.endswith("so without a mean: scratch.")
    assert 'id="suite"' not in render(dataclasses.replace(comparison, suite=[]))


def test_many_classes_are_a_table_and_no_picture(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert task.inspection is not None
    many = [dataclasses.replace(task.inspection.classes[0], label=f"class {n}") for n in range(60)]
    labels = [scores.label for scores in many]
    mixed = Confusion(labels, {gold: dict.fromkeys(labels, 1.0) for gold in labels})
    inspection = dataclasses.replace(task.inspection, classes=many, confusion=mixed)
    page = render(dataclasses.replace(comparison, tasks=[dataclasses.replace(task, inspection=inspection)], suite=[]))
    assert "class 59</th>" in page
    assert 'class="confusion"' not in page
    assert 'id="classes-section"' not in page


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
    assert task.inspection is not None
    nothing = {"confusion": None} | ({"calibration": None, "errors": [], "classes": []} if target == "number" else {})
    inspection = dataclasses.replace(task.inspection, **nothing)  # type: ignore[arg-type]
    other = dataclasses.replace(task, shape=shape, target=target, metric=metric, inspection=inspection)
    other = dataclasses.replace(other, controls={"majority": 0.1})
    page = render(dataclasses.replace(comparison, tasks=[other], suite=[]))
    read = Reader(page)
    assert read.open == []
    assert len(read.text["en"]) == len(read.text["zh-Hans"])
    assert words.KINDS[shape, target].en in page
    assert words.METRICS[metric].zh in page
    assert words.control("majority", target).zh in page
    assert (words.control("majority", target) == words.CONTROLS["majority"]) == (target == "tags")
    assert ("closer-section" in page) == (target != "number")


def test_own_text_is_not_called_a_demonstration(comparison: Comparison) -> None:
    own = [dataclasses.replace(source, demonstration=False) for source in comparison.sources]
    assert "Demonstration corpus" not in render(dataclasses.replace(comparison, sources=own))


def test_names_from_data_cannot_become_markup(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert task.inspection is not None
    assert task.inspection.confusion is not None
    evil = "<script>alert(1)</script>"
    mixed = task.inspection.confusion
    rename = {label: evil if label == "Lead" else label for label in mixed.labels}
    inspection = dataclasses.replace(
        task.inspection,
        confusion=Confusion(
            labels=list(rename.values()),
            counts={rename[g]: {rename[p]: n for p, n in row.items()} for g, row in mixed.counts.items()},
        ),
        classes=[dataclasses.replace(scores, label=rename[scores.label]) for scores in task.inspection.classes],
        errors=[dataclasses.replace(error, id=evil, gold=evil, predicted=evil) for error in task.inspection.errors],
    )
    page = render(dataclasses.replace(comparison, tasks=[dataclasses.replace(task, inspection=inspection)], suite=[]))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_a_page_of_few_seeds(tmp_path: Path, seeds: tuple[int, ...]) -> None:
    made = simulate(tmp_path, seeds=seeds, tasks=["section"])
    found = compare_all(made.ladder, confidence=0.95, baseline_seed=1, **made.paths)
    page = render(found)
    assert Reader(page).open == []
    assert ("an interval needs two or more" in page) == (len(seeds) == 1)


def test_holes_are_told(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    (made.root / "metrics/finetune/section-domain.json").unlink()
    (made.root / "metrics/domain_transfer/domain.json").unlink()
    path = made.root / "metrics/finetune/section-task.json"
    cell = read_json(path)
    cell["seeds"][0]["degenerate"] = True
    write_json(path, cell)
    page = render(compare_all(made.ladder, confidence=0.95, baseline_seed=1, **made.paths))
    assert "section-domain was planned and has no result." in page
    assert "Cannot be said: section-domain has no result." in page
    assert "domain_transfer/domain has no measurements." in page
    assert "task: 1 of 3 seeds predict one class only. They are counted in the mean." in page


def test_what_a_search_chose_and_cost_is_told(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    told = escape("What each arm's search chose on dev")
    assert told not in render(compare_all(made.ladder, confidence=0.95, baseline_seed=1, **made.paths))
    path = made.root / "metrics/finetune/section-domain.json"
    trials = [{"learning_rate": rate, "global_batch_size": 16, "epochs": 3.0} for rate in (1e-4, 2.5e-4)]
    search = {"trials": trials, "chosen": 2, "seeds": [7], "tokens": 12_300_000, "tflop": 456.78}
    write_json(path, {**read_json(path), "search": search})
    page = render(compare_all(made.ladder, confidence=0.95, baseline_seed=1, **made.paths))
    table = page[page.index(told) :].partition("</table>")[0]
    assert re.findall(r"<td[^>]*>([^<]*)<", table) == ["0.00025", "16", "3", "2", "12", "456.8"]
    assert Reader(page).open == []


def test_a_rung_with_a_random_head_is_told(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    told = "The masked-LM head of pretrain was never trained"
    assert told not in render(compare_all(made.ladder, confidence=0.95, baseline_seed=1, **made.paths))
    path = made.root / "metrics/pretrain.json"
    write_json(path, {**read_json(path), "random_head": True})
    assert told in render(compare_all(made.ladder, confidence=0.95, baseline_seed=1, **made.paths))


def test_a_page_without_any_result(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], accuracy={})
    for path in [*(made.root / "metrics").glob("*_transfer/*.json"), made.root / "metrics/pretrain.json"]:
        path.unlink()
    page = render(compare_all(made.ladder, confidence=0.95, baseline_seed=1, **made.paths))
    assert Reader(page).open == []
    assert "No arm of this task has a result yet." in page


def answered(task: Task, name: str, mean: float, half: float, p_holm: float, verdict: str) -> Step:
    step = task.step(name)
    assert step is not None
    difference = Difference(Interval(mean, mean - half, mean + half, half / 2, 3), p_holm / 6, 1.5 * half)
    return dataclasses.replace(step, difference=difference, p_holm=p_holm, verdict=verdict)


def test_sentences_do_not_claim_more_than_the_verdict(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    gain = sentences.step(answered(task, "domain_transfer", 0.06, 0.01, 0.01, "gain"), task, 0.95).en
    assert gain.startswith("Shown: +6.0 points (95 % interval +5.0 to +7.0, 3 seeds; Holm-adjusted p = 0.010).")
    assert "2.00 M more tokens" in gain
    likely = sentences.step(answered(task, "domain_text", 0.03, 0.02, 0.12, "likely_gain"), task, 0.95).en
    assert likely.startswith("Likely, not shown: +3.0 points")
    assert "equally many tokens" in likely
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
    assert told.en == "Made it worse: task transfer. Brought nothing that could be shown: general pre-training."
    assert told.zh == "使结果变差：任务迁移。没有可证实的收获：通用预训练。"


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
    told = sentences.lift(split, 0.95)
    assert told is not None
    assert "by +6.0 points" in told.en
    assert "+3.5 of them are there with as much further training on general text" in told.en
    assert "+2.5 are left for the domain text itself" in told.en
    assert told.en.endswith("That the text itself helps is not shown.")
    assert sentences.lift(dataclasses.replace(task, steps=[]), 0.95) is None


def test_a_linear_model_that_is_better_is_called_better(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    above = dataclasses.replace(task, controls={"majority": 0.1, "tfidf_logistic": 0.95})
    assert trust.against_controls(above, 0.95).en == (
        "The control that does best on the test split (TF-IDF + logistic regression, trained on the same 250 rows) "
        f"scores 95.0: {task.chosen} lies below it. At this budget that control is the better choice."
    )
    below = dataclasses.replace(task, controls={"majority": 0.1, "tfidf_logistic": 0.2})
    assert trust.against_controls(below, 0.95).en.endswith("lies above it.")
    alike = [
        dataclasses.replace(arm, interval=mean_interval([0.2, 0.2], 0.95)) if arm.name == task.chosen else arm
        for arm in task.arms
    ]
    found = trust.against_controls(dataclasses.replace(above, arms=alike), 0.95)
    assert found.en.endswith(
        f"scores 95.0: {task.chosen} scores 20.0 and has no interval from 2 seeds: the gap cannot be judged."
    ), "no interval is no tie"


def test_a_control_that_learns_from_no_row_or_from_fewer_is_not_said_to_learn_from_all(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    for name, told in (("question_overlap", "sentence nearest to the question"), ("majority", "no answer at all")):
        other = dataclasses.replace(task, target="answer", metric="f1_answer", controls={name: 0.95})
        found = trust.against_controls(other, 0.95)
        assert f"({told}, trained on nothing) scores 95.0:" in found.en
        assert "不经训练" in found.zh
        assert "linear" not in found.en
    fewer = dataclasses.replace(task, control_rows=120)
    assert "trained on the first 120 of the same 250 rows" in trust.against_controls(fewer, 0.95).en
    assert "前 120 行" in trust.against_controls(fewer, 0.95).zh
    found = summary(dataclasses.replace(comparison, tasks=[fewer, comparison.tasks[1]]))
    assert found["section"]["tfidf_logistic"]["rows"] == [120]
    assert "(fitted on the first 120 rows)" in comparison_table(found)
    assert "rows" not in found["mention"]["window_logistic"], "these are fitted on all"


def test_colours_follow_the_ladder(comparison: Comparison) -> None:
    roles = {arm: role(comparison.rung(rung.format(task="section"))) for arm, rung in ARMS.items()}
    assert roles == {arm: arm for arm in ACCURACY}


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 0.62, [0.0, 0.2, 0.4, 0.6, 0.8]),
        (2.42, 4.45, [2.0, 2.5, 3.0, 3.5, 4.0, 4.5]),
        (1.0, 1.0, [1.0, 1.2]),
        (-0.03, 0.11, [-0.05, 0.0, 0.05, 0.1, 0.15]),
    ],
)
def test_axes_have_round_numbers(low: float, high: float, ticks: list[float]) -> None:
    assert charts.nice_ticks(low, high) == pytest.approx(ticks)


def test_bars_are_as_long_as_their_values() -> None:
    chart = charts.bars([charts.Bar("a", "domain", 0.3, 0.2, 0.4, [0.3])], [charts.Mark(words.same("c"), 0.1)], "id")
    assert 'width="75.00%"' in chart
    assert 'x1="25.00%"' in chart


def test_a_negative_correlation_points_to_the_left() -> None:
    rows = [charts.Bar(str(mean), "domain", mean, None, None, [mean]) for mean in (-0.2, 0.2)]
    chart = charts.bars(rows, [], "id")
    assert 'x="0%" y="22" width="50.00%"' in chart
    assert 'x="50%" y="68" width="50.00%"' in chart


def test_numbers_are_written_alike_everywhere() -> None:
    assert words.change(-0.0004) == words.change(0.0004) == "0.0"
    assert (words.change(0.012), words.change(-0.012)) == ("+1.2", "−1.2")
    assert (words.p_value(0.0004), words.p_value(0.0123)) == ("< 0.001", "= 0.012")
    assert (words.millions(250_000), words.millions(36_000_000)) == ("0.25", "36")
