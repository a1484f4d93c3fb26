"""The page says in both languages what the figures carry, and is whole in one file."""

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from adaptbert.base.files import read_json, write_json
from adaptbert.comparison.assemble import compare_all
from adaptbert.comparison.class_scores import Confusion
from adaptbert.comparison.metrics_json import summary
from adaptbert.comparison.records import Comparison, Rung
from adaptbert.comparison.report import rung_sentences as rungs
from adaptbert.comparison.report import step_sentences as sentences
from adaptbert.comparison.report import terms as words
from adaptbert.comparison.report import trust_sentences as trust
from adaptbert.comparison.report.page import render
from adaptbert.comparison.text_table import comparison_table
from adaptbert.finetuning.metrics.cell_metrics import CellMetrics, SearchMetrics, TrialMetrics
from tests.support.simulated import ARMS, simulate

CHINESE = re.compile(r"[\u4e00-\u9fff]")


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
        attributes = {name: value or "" for name, value in attrs}
        self.addresses += [attributes[name] for name in ("src", "href", "action", "data") if name in attributes]
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.labelled_by += [attributes["aria-labelledby"]] if "aria-labelledby" in attributes else []
        language = attributes.get("lang", "") if tag in ("span", "tspan") else ""
        if tag not in self.VOID:
            self.open.append((tag, language))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        language = next((language for _, language in reversed(self.open) if language), "")
        tags = {tag for tag, _ in self.open}
        if language and "code" in tags:
            return  # a name inside a sentence
        if data.strip() and not {"style", "script", "title"} & tags:
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
        texts = [sentences.step(step, task, 0.95) for step in task.steps]
        texts += [sentences.best(task, 0.95), *sentences.lift(task, 0.95), trust.against_baselines(task, 0.95)]
        texts += [trust.calibration(task)]  # type: ignore[list-item]
        for sentence in [*texts, *rungs.reading(comparison)]:
            decimals = r"[+−]?\d+\.\d+"
            assert sorted(re.findall(decimals, sentence.en)) == sorted(re.findall(decimals, sentence.zh))


def test_the_page_says_what_it_must(comparison: Comparison, page: str) -> None:
    assert "Demonstration corpus" in page
    assert "演示语料" in page
    assert "Intervals cover the variation between fine-tuning seeds only" in page
    assert "the variation between pre-training runs is not measured" in page
    for arm in ARMS:
        assert f"<code>{arm}</code>" in page
    for task in comparison.tasks:
        for arm in task.arms:
            assert arm.interval is not None
            assert f"<b>{100 * arm.interval.mean:.1f}</b>" in page
            for score in arm.scores.values():
                assert f">{100 * score:.1f}</span>" in page


def test_the_masking_audit_is_reported(comparison: Comparison, page: str) -> None:
    table = page[page.index('id="table-masks"') : page.index('id="forgetting"')]
    assert table.count('<th scope="row"') == len(comparison.rungs) - 1, "all but random weights"
    for shown in (
        "<b>15.0</b>",
        "6.0–26.2<",
        "mean length 1.00 tokens",
        "continuation (##)",
        "后续子词（##）",
        "expected",
        "应为",
    ):
        assert shown in table
    assert "Chinese</span>" not in table, "a class that does not occur has no column"
    assert [sentence.en for sentence in rungs.masking(comparison)] == [
        "The masks of every trained rung match the configuration, and no special token was masked."
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"specials": 3}, "pretrain: 3 special tokens were masked; none should be."),
        ({"rate": 0.171}, "pretrain: 17.1 % of the tokens were masked (configured: 15.0 %)."),
        ({"documents_without": 0.84}, "pretrain: 84.0 % of the documents have no mask; 1.1 % are expected from"),
        ({"documents_whole": 0.009}, "pretrain: 0.9 % of the documents are masked completely; 0.0 % are expected"),
        (
            {"documents_whole": 0.16, "documents_whole_expected": 0.16},
            "pretrain: 16.0 % of the documents are masked completely and leave no context to predict from",
        ),
    ],
)
def test_masks_that_differ_from_the_configuration_are_named(
    comparison: Comparison, changes: dict[str, float], sentence: str
) -> None:
    def changed(rung: Rung) -> Rung:
        if rung.masks is None or rung.name != "pretrain":
            return rung
        return dataclasses.replace(rung, masks=dataclasses.replace(rung.masks, audit={**rung.masks.audit, **changes}))

    deviating = dataclasses.replace(comparison, rungs=[changed(rung) for rung in comparison.rungs])
    troubles = rungs.masking(deviating)
    assert len(troubles) == 1
    assert troubles[0].en.startswith(sentence)
    decimals = r"\d+\.\d+"
    assert re.findall(decimals, troubles[0].en) == re.findall(decimals, troubles[0].zh)


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


def test_the_mean_over_tasks_is_said_to_average_different_metrics(comparison: Comparison, page: str) -> None:
    table = page[page.index('id="suite"') : page.index('id="reading"')]
    assert "The unweighted mean of macro-F1 of section and strict span F1 of mention" in table
    assert "has no absolute meaning" in table
    for average in comparison.suite:
        assert f"<b>{100 * average.interval.mean:.1f}</b>" in table
    fewer = dataclasses.replace(comparison, suite=comparison.suite[1:])
    assert sentences.suite(fewer)[1].en.endswith("a task or a seed are missing: scratch.")
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
    other = dataclasses.replace(task, task_type=shape, target=target, metric=metric, inspection=inspection)
    other = dataclasses.replace(other, baselines={"majority": 0.1})
    page = render(dataclasses.replace(comparison, tasks=[other], suite=[]))
    read = Reader(page)
    assert read.open == []
    assert len(read.text["en"]) == len(read.text["zh-Hans"])
    assert words.KINDS[shape, target].en in page
    assert words.METRICS[metric].zh in page
    assert words.baseline_name("majority", target).zh in page
    assert (words.baseline_name("majority", target) == words.BASELINES["majority"]) == (target == "tags")
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
    comparison = compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1)
    page = render(comparison)
    assert Reader(page).open == []
    count = f"{len(seeds)} seed{'s' * (len(seeds) > 1)}"
    assert f"points on {count}; an interval needs three seeds." in page
    assert "区间至少需要三个种子" in page
    assert f"{count}; an interval needs three seeds" in sentences.best(comparison.tasks[0], 0.95).en
    assert not re.findall(r"\d+ % interval|\d+% 区间", page.partition('id="limits"')[0]), "neither in words"
    assert 'class="whisker' not in page, "nor drawn"
    assert {step.verdict for step in comparison.tasks[0].steps} == {"untested"}
    section = summary(comparison)["section"]
    assert not {"low", "high"} & {key for arm in ARMS for key in section[arm]}
    assert "(an interval needs three seeds)" in comparison_table(summary(comparison))


def test_missing_cells_and_rungs_are_reported(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    (made.root / "metrics/finetune/section-domain.json").unlink()
    (made.root / "metrics/domain_transfer/domain.json").unlink()
    path = made.root / "metrics/finetune/section-task.json"
    cell = read_json(path)
    cell["seeds"][0]["degenerate"] = True
    write_json(path, cell)
    page = render(compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1))
    assert "section-domain was planned and has no result." in page
    assert "Not testable: section-domain has no result." in page
    assert "domain_transfer/domain has no measurements." in page
    assert "task: 1 of 3 seeds predict one class only. They are included in the mean." in page


def test_choice_and_cost_of_a_search_are_reported(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    heading = "Hyper-parameter search on the dev split"
    assert heading not in render(compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1))
    path = made.root / "metrics/finetune/section-domain.json"
    run = {"global_batch_size": 16, "epochs": 3.0, "dev": {"f1_macro": 0.5}, "seeds": [0.5], "tokens": 1, "tflop": 0.1}
    trials = [TrialMetrics(learning_rate=rate, **run) for rate in (1e-4, 2.5e-4)]
    search = SearchMetrics(trials=trials, chosen=2, seeds=[7], tokens=12_300_000, tflop=456.78)
    write_json(path, CellMetrics.read(path).model_copy(update={"search": search}).as_json())
    page = render(compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1))
    table = page[page.index(heading) :].partition("</table>")[0]
    assert re.findall(r"<td[^>]*>([^<]*)<", table) == ["0.00025", "16", "3", "2", "12.3", "457"]
    assert Reader(page).open == []


def test_a_rung_with_a_random_head_is_reported(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"])
    warning = "The masked-LM head of pretrain was never trained"
    assert warning not in render(compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1))
    path = made.root / "metrics/pretrain.json"
    write_json(path, {**read_json(path), "random_head": True})
    assert warning in render(compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1))


def test_a_page_without_any_result(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], accuracy={})
    for path in [*(made.root / "metrics").glob("*_transfer/*.json"), made.root / "metrics/pretrain.json"]:
        path.unlink()
    page = render(compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1))
    assert Reader(page).open == []
    assert "No arm of this task has a result yet." in page
