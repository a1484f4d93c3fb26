"""The page says in both languages what the figures carry, and is whole in one file."""

import dataclasses
import re
from pathlib import Path

import pytest

from adaptbert.comparison.evaluation.class_scores import Confusion
from adaptbert.comparison.records import Comparison
from adaptbert.core.files import write_json
from adaptbert.report import terms as words
from adaptbert.report.metrics_json import summary
from adaptbert.report.mlflow_runs import ADDRESS
from adaptbert.report.page import render
from adaptbert.report.sentences import captions, trust
from adaptbert.report.sentences import steps as sentences
from adaptbert.report.sentences import tasks as task_sentences
from adaptbert.report.text_table import comparison_table
from adaptbert.tasks.metrics.cell_metrics import CellMetrics, SearchMetrics, TrialMetrics
from tests.support.judged_steps import difference
from tests.support.known import known
from tests.support.page_reader import CHINESE, Reader, same_numbers
from tests.support.simulated import ARMS, Simulated, compared, simulate


@pytest.fixture(scope="module", params=["comparison", "repeated", "several"])
def any_page(request: pytest.FixtureRequest) -> str:
    """Of one draw, of three, and of two starts."""
    return render(request.getfixturevalue(request.param))


def test_the_page_is_well_formed_and_fetches_nothing(any_page: str) -> None:
    """Its links lead to parts of it and to the files of its figures, which are read when they are clicked."""
    page = any_page
    read = Reader(page)
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    assert set(read.labelled_by) <= set(read.ids)
    assert read.addresses
    for address in read.addresses:
        file = re.fullmatch(r"figures/(.+?)(\.zh)?\.(svg|csv)", address)
        anchor = file[1] if file is not None else address.removeprefix("#")
        assert address == "data:," or (anchor in read.ids and address != anchor), address
    assert "url(" not in page
    assert "@import" not in page
    assert "http://" not in page.replace(ADDRESS, "").replace("http-equiv", "")
    assert "https://" not in page


def test_every_sentence_stands_in_both_languages(any_page: str) -> None:
    text = Reader(any_page).text
    assert len(text["en"]) == len(text["zh-Hans"]) > 100
    assert not [sentence for sentence in text["en"] if CHINESE.search(sentence) and sentence != "中文"]
    names = {"English", "TFLOP", "macro-F1"}
    assert not [s for s in text["zh-Hans"] if not CHINESE.search(s) and s not in names and not s.startswith("0")]
    # What stands outside of both is names and numbers: no English sentence slips through untranslated.
    codes = ("domain", "tags.stage = ", ".venv/bin/mlflow ")
    assert not [t for t in text[""] if len(re.findall(r"[a-z]+", t)) > 4 and " " in t and not t.startswith(codes)]


def test_no_number_of_a_sentence_differs_between_the_languages(comparison: Comparison, repeated: Comparison) -> None:
    for task in [*comparison.tasks, *repeated.tasks]:
        texts = [sentences.step(step, task, 0.95, comparison.worth) for step in task.steps]
        texts += [task_sentences.best(task, 0.95), trust.against_baselines(task, 0.95)]
        texts += [trust.calibration(task)]  # type: ignore[list-item]
        for sentence in texts:
            assert same_numbers(sentence)


def test_how_often_a_verdict_errs_follows_from_the_confidence(comparison: Comparison) -> None:
    page = render(dataclasses.replace(comparison, confidence=0.98, worth=0.02))
    for part in (
        "over the primary questions of all tasks: one or more of these are wrong in at most 2 % of studies",
        "“no difference” (two one-sided tests) is wrong in at most 2 % of studies",
        "(the lower end of the two-sided 98 % interval lies above −2.0) in at most 1 %",
        "至多在 1% 的研究中出错",
    ):
        assert part in page


def test_the_page_says_what_it_must(comparison: Comparison, page: str) -> None:
    assert "Demonstration corpus" in page
    assert "演示语料" in page
    assert "The smallest gain worth having is 1.0 points (compare.worth)" in page
    for arm in ARMS:
        assert f"<code>{arm}</code>" in page
    for task in comparison.tasks:
        for arm in task.arms:
            assert f"<b>{100 * known(arm.interval).mean:.1f}</b>" in page
            for score in arm.scores.values():
                assert f">{100 * score:.1f}</span>" in page


def test_the_chosen_arm_is_looked_at_closely(comparison: Comparison, page: str) -> None:
    for task in comparison.tasks:
        inspection = known(task.inspection)
        fold = page[page.index(f'id="closer-{task.name}"') :]
        fold = fold[: fold.index("</details>")]
        assert fold.count('<th scope="row"') == len(inspection.classes) + len(inspection.errors)
        for scores in inspection.classes:
            for score in (*scores.means, scores.support):
                assert f'data-value="{score}"' in fold
        for error in inspection.errors:
            assert f"<code>{error.id}</code>" in fold
        assert fold.count("<circle") == 15
        assert ("→ Parameters" in fold) == (task.target == "class")
    assert "<details open" not in page


def test_many_classes_are_a_table_and_no_picture(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    many = [dataclasses.replace(known(task.inspection).classes[0], label=f"class {n}") for n in range(60)]
    labels = [scores.label for scores in many]
    mixed = Confusion(labels, {gold: dict.fromkeys(labels, 1.0) for gold in labels})
    inspection = dataclasses.replace(known(task.inspection), classes=many, confusion=mixed)
    page = render(dataclasses.replace(comparison, tasks=[dataclasses.replace(task, inspection=inspection)]))
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
    nothing = {"confusion": None} | ({"calibration": None, "errors": [], "classes": []} if target == "number" else {})
    inspection = dataclasses.replace(known(task.inspection), **nothing)  # type: ignore[arg-type]
    other = dataclasses.replace(task, task_type=shape, target=target, metric=metric, inspection=inspection)
    baseline = {"majority": task.baselines["majority"]}
    other = dataclasses.replace(other, baselines=baseline, beside_baselines={"majority": difference(0.3, 0.1)})
    page = render(dataclasses.replace(comparison, tasks=[other]))
    read = Reader(page)
    assert read.open == []
    assert len(read.text["en"]) == len(read.text["zh-Hans"])
    assert words.KINDS[shape, target].en in page
    assert words.METRICS[metric].zh in page
    assert words.baseline_name("majority", target).zh in page
    assert (words.baseline_name("majority", target) == words.BASELINES["majority"]) == (target == "tags")
    assert ("closer-section" in page) == (target != "number")


def test_names_from_data_cannot_become_markup(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert task.inspection is not None
    evil = "<script>alert(1)</script>"
    mixed = known(task.inspection.confusion)
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
    page = render(dataclasses.replace(comparison, tasks=[dataclasses.replace(task, inspection=inspection)]))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize(("seeds", "draws"), [((1,), 1), ((1, 2), 1), ((1,), 2)])
def test_a_page_of_few_seeds(tmp_path: Path, seeds: tuple[int, ...], draws: int) -> None:
    made = simulate(tmp_path, seeds=seeds, draws=draws, tasks=["section"])
    comparison = compared(made)
    page = render(comparison)
    assert Reader(page).open == []
    count = f"{len(seeds)} seed{'s' * (len(seeds) > 1)}"
    assert f"points on {count}; an interval needs three seeds." in page
    assert "区间至少需要三个种子" in page
    assert captions.differences(comparison.tasks[0], 0.01).en == "Difference in points."
    assert "interval" not in captions.arms(comparison.tasks[0], 0.95).en
    assert f"{count})." in task_sentences.best(comparison.tasks[0], 0.95).en
    of_scores = page.partition('<section id="reading"')[0]
    assert not re.findall(r"[\d.]+ to [+−]?[\d.]+|[\d.]+ 到 ", of_scores), "neither in words"
    assert 'class="whisker' not in page, "nor drawn"
    assert {step.verdict for step in comparison.tasks[0].steps} == {"untested"}
    section = summary(comparison)["section"]["small"]
    assert not {"low", "high"} & {key for arm in ARMS for key in section[arm]}
    assert "(an interval needs three seeds)" in comparison_table(summary(comparison))


def test_choice_and_cost_of_a_search_are_reported(made: Simulated) -> None:
    heading = "Hyper-parameter search on the dev split"
    assert heading not in render(compared(made))
    path = made.cell("domain")
    run = {"global_batch_size": 16, "epochs": 3.0, "dev": {"f1_macro": 0.5}, "seeds": [0.5], "tokens": 1, "tflop": 0.1}
    trials = [TrialMetrics(learning_rate=rate, **run) for rate in (1e-4, 2.5e-4)]
    search = SearchMetrics(trials=trials, chosen=2, seeds=[7], tokens=12_300_000, tflop=456.78)
    write_json(path, CellMetrics.read(path).model_copy(update={"search": search}).as_json())
    page = render(compared(made))
    table = page[page.index(heading) :].partition("</table>")[0]
    assert re.findall(r"<td[^>]*>([^<]*)<", table) == ["0.00025", "16", "3", "2", "12.3", "457"]
    assert Reader(page).open == []
