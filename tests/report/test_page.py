"""The page says what the figures carry, claims no more than was repeated, and is whole in one file."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adaptbert.comparison.records import Comparison, Confusion
from adaptbert.config.schema.comparison import ORDER, Compare
from adaptbert.config.schema.task_types import SPECS, TaskSpec
from adaptbert.report import answer, prose, terms
from adaptbert.report.figures import write_plots
from adaptbert.report.markdown import in_markdown
from adaptbert.report.page import render
from adaptbert.report.text_table import summary
from adaptbert.runtime.mlflow import Run
from adaptbert.tasks.metrics.scoring import COMPARED_BY
from stages.compare import compare
from tests.support.judged_answers import difference
from tests.support.known import answer_to, known
from tests.support.page_reader import CHINESE, Reader, seen
from tests.support.simulated import ACCURACY, compared, simulate


@pytest.fixture(scope="session")
def page(comparison: Comparison) -> str:
    return render(comparison)


@pytest.fixture(scope="module", params=["comparison", "repeated", "several"])
def any_page(request: pytest.FixtureRequest) -> str:
    """A page of one replicate, of three, and of two bases."""
    return render(request.getfixturevalue(request.param))


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
        assert fetched not in any_page.replace("http-equiv", "")


def test_every_sentence_stands_in_both_languages(any_page: str) -> None:
    text = Reader(any_page).text
    assert len(text["en"]) == len(text["zh-Hans"]) > 100
    assert not [sentence for sentence in text["en"] if CHINESE.search(sentence) and sentence != "中文"]
    words = [each for each in text["zh-Hans"] if re.search(r"[a-z]{2} [a-z]{2}", each) and not CHINESE.search(each)]
    assert not words, "English left in the Chinese"
    # What stands outside of both is names and numbers: no English sentence slips through untranslated.
    assert not [t for t in text[""] if len(re.findall(r"[a-z]+", t)) > 4 and " " in t and not t.startswith("domain")]


def test_the_page_begins_with_the_answers(comparison: Comparison, page: str) -> None:
    names = ('class="answer"', 'class="notice"', 'id="table-answers"', 'id="task-section"')
    places = [page.index(name) for name in names]
    assert places == sorted(places)
    head = seen(page[: page.index("</header>")])
    of_tasks = [said(task, comparison) for task in comparison.tasks for said in (answer.answer, answer.next_step)]
    of_tasks += [answer.besides(task, comparison) + answer.parts(task, comparison) for task in comparison.tasks]
    for text in (*of_tasks, *prose.facts(comparison)):
        assert seen(f"<p>{text.__html__()}</p>").strip() in head
    for task in comparison.tasks:
        for title, commands in answer.models(task, comparison):
            assert seen(f"<p>{title.__html__()}</p>").strip() in head
            assert all(seen(f"<pre>{lines}</pre>").strip() in head for lines in commands.values())
        assert head.count(f"{answer.model_of(known(task.chosen_arm))} new.jsonl") == 1
    heading = answer.heading(comparison)
    assert page.count(f'<h1><span lang="en">{heading.en}</span>') == 1
    assert f'<title data-zh="adaptbert：{heading.zh}">adaptbert: {heading.en[0].lower()}' in page
    assert "演示语料" in page


CLAIMS = {
    "en": (
        r"\bgains?\b(?! worth having)",
        r"\bloss\b",
        r"\bworth it\b",
        r"\b(brings?|brought|come with|belongs? to|due to) (a |the )?(gain|loss|domain|text)",
        r"\bhelps?\b|\bhelped\b",
        r"better choice",
        r"equivalent|undecided",
        r"fine-tune the base directly",
    ),
    "zh-Hans": (
        "(?<!值得的最小)提升",
        "带来(?! [+−0-9.]+ 分。)|下降|等效|未定",
        "(?<!不)值得(?!的最小提升)",
        "更好的选择|直接微调",
    ),
}
"""Claims of which a page with one replicate has none. (A caption names the smallest gain worth having, and how much
more training alone brought on these weights is a part of what is described.)"""


def claims(page: str) -> list[str]:
    """Sentences above the explanations that claim an effect."""
    text = Reader(page.partition('<section id="limits"')[0]).text
    return [
        sentence
        for language, patterns in CLAIMS.items()
        for sentence in text[language]
        if any(re.search(pattern, sentence) for pattern in patterns)
    ]


def chips(page: str) -> set[str]:
    """Verdicts that have a colour, in tables and figures."""
    return set(re.findall(r'class="(?:chip|whisker|mean) verdict-(\w+)"', page))


def test_where_each_step_was_trained_once_nothing_says_that_it_helps(tmp_path: Path) -> None:
    """Domain text seems to help beyond all doubt, and five seeds and all test rows agree; there is one replicate."""
    accuracy = ACCURACY | {"general_long": 0.50, "domain": 0.90, "domain_task": 0.60}
    sure = compared(simulate(tmp_path, seeds=range(1, 6), accuracy=accuracy, tasks=["section"]))
    (task,) = sure.tasks
    for each in task.answers:
        assert each.why == ("once" if each.name in ORDER else "described")
        assert (each.verdict, each.p_adjusted, each.needed) == ("not_tested", None, None)
    assert known(known(answer_to(task, "domain_text").difference).low) > 0.1, "the weights differ without doubt"
    page = render(sure)
    assert claims(page) == []
    assert chips(page) == {"not_tested"}
    assert answer.heading(sure).en == "The recipe: not tested on section"


def test_what_counts_as_a_claim_is_found_where_steps_were_repeated(repeated: Comparison) -> None:
    claimed = " ".join(claims(render(repeated)))
    for claim in ("worth it", "gain of at least", "值得", "提升"):
        assert claim in claimed


@pytest.mark.parametrize(
    ("dev", "marked"),
    [([0.3, 0.4, 0.2], ["general"]), ([0.3, 0.3, 0.2], ["scratch", "general"]), ([0.3], [])],
)
def test_the_mark_beside_an_arm_means_best_on_dev_and_nothing_else(
    comparison: Comparison, dev: list[float], marked: list[str]
) -> None:
    """`scratch` once had it where all arms were equal, as if it had won."""
    task = comparison.tasks[0]
    arms = [
        replace(arm, runs=[replace(run, dev=score) for run in arm.runs])
        for arm, score in zip(task.arms[:3], dev, strict=False)
    ]
    task = replace(task, arms=arms, chosen="general" if len(dev) > 1 else "scratch", answers=[])
    page = render(replace(comparison, tasks=[task]))
    assert [arm.name for arm in arms if f">{arm.name} ✓</text>" in page] == marked
    words = "equal best on dev" if len(marked) > 1 else "best on dev"
    assert page.count(f'<span lang="en">{words}</span>') == len(marked)


def test_the_chosen_arm_is_looked_at_closely(comparison: Comparison, page: str) -> None:
    for task in comparison.tasks:
        inspection = known(task.inspection)
        fold = page.partition(f'id="closer-{task.name}"')[2].partition("</details>")[0]
        values = [score for scores in inspection.classes for score in (*scores.means, scores.support)]
        assert all(f'data-value="{value}"' in fold for value in values)
        assert all(error.id in fold for error in inspection.errors)
        assert ("→ <code>Parameters<" in fold) == (task.target == "class")
    assert "<details open" not in page


def inspected(comparison: Comparison, **changes: Any) -> str:
    """The page of the first task with another inspection."""
    task = comparison.tasks[0]
    return render(replace(comparison, tasks=[replace(task, inspection=replace(known(task.inspection), **changes))]))


def test_a_label_turns_and_executes_nothing(comparison: Comparison, tmp_path: Path) -> None:
    """One with a mark of direction and a code of a terminal, and one that runs from right to left by itself."""
    first, labels = known(comparison.tasks[0].inspection).classes[0], ["evil\u202egnp\x1b[2J.exe", "ספורט"]
    named = [replace(first, label=label) for label in labels]
    inspection = replace(
        known(comparison.tasks[0].inspection),
        classes=named,
        confusion=Confusion(labels, {label: {label: 1.0} for label in labels}),
    )
    task = replace(comparison.tasks[0], inspection=inspection)
    task = replace(task, arms=[replace(arm, never_predicted=labels) for arm in task.arms])
    changed = replace(comparison, tasks=[task])
    write_plots(changed, tmp_path / "plots")
    shown = [render(changed), in_markdown(changed), *(path.read_text() for path in (tmp_path / "plots").rglob("*.csv"))]
    assert not [text for text in shown if {"\u202e", "\x1b"} & {*text}]
    assert all(any(r"evil\u202egnp\x1b[2J.exe" in text for text in shown[at:]) for at in (0, 1, 2))
    assert shown[0].count("<bdi><code>ספורט</code></bdi>") > len(task.arms)
    assert shown[0].count("<bdi>ספורט</bdi>") == 2, "in the confusion matrix"


def test_many_classes_are_a_table_and_no_matrix(comparison: Comparison) -> None:
    first = known(comparison.tasks[0].inspection).classes[0]
    labels = [f"class {n}" for n in range(60)]
    matrix = Confusion(labels, {gold: {gold: 1.0} for gold in labels})
    page = inspected(comparison, classes=[replace(first, label=label) for label in labels], confusion=matrix)
    assert "class 59</code></th>" in page
    assert 'class="confusion"' not in page


def test_names_from_data_cannot_become_markup(comparison: Comparison) -> None:
    evil, inspection = "<script>alert(1)</script>{n}", known(comparison.tasks[0].inspection)
    mixed = known(inspection.confusion)
    to = {label: evil if label == "Lead" else label for label in mixed.labels}
    counts = {to[gold]: {to[each]: n for each, n in row.items()} for gold, row in mixed.counts.items()}
    page = inspected(
        comparison,
        confusion=Confusion(list(to.values()), counts),
        classes=[replace(scores, label=to[scores.label]) for scores in inspection.classes],
        errors=[replace(error, id=evil, gold=evil, predicted=evil) for error in inspection.errors],
    )
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert") > 5


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_every_type_of_task_has_its_words(comparison: Comparison, spec: TaskSpec) -> None:
    task, metric, is_number = comparison.tasks[0], COMPARED_BY[spec.target], spec.target == "number"
    nothing: dict[str, Any] = {"confusion": None} | ({"errors": [], "classes": []} if is_number else {})
    kind: dict[str, Any] = {"task_type": spec.task_type, "target": spec.target, "metric": metric}
    kind |= {"inspection": replace(known(task.inspection), **nothing)}
    baselines, beside = {"majority": task.baselines["majority"]}, {"majority": difference(0.3, 0.1)}
    other = replace(task, **kind, baselines=baselines, beside_baselines=beside)
    page = render(replace(comparison, tasks=[other]))
    assert Reader(page).open == []
    for words in (f"<code>{spec.name}</code>", terms.metric_name(metric).zh):
        assert words in page
    assert terms.baseline_name("majority", spec.target).zh in page
    assert ("closer-section" in page) != is_number


def test_several_bases_have_a_section_of_their_own(several: Comparison, page: str) -> None:
    shown = render(several)
    assert shown.count('id="table-bases-') == len(several.rankings) == 2
    for of_several in ('id="bases"', "different tokenizers"):
        assert of_several in shown
        assert of_several not in page


def test_the_stage_writes_all_its_outputs_and_equal_bytes_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is worth having, what is asked and the confidence are those of its params."""
    simulated = simulate(tmp_path / "recipe", tasks=["section"])
    asked = {"order": ["which_text", "pretrain"], "questions": {"which_text": ["task", "domain"]}}
    written = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        plan, outputs, reports = folder / "plan.json", simulated.outputs, folder / "reports"
        plan.write_text(json.dumps({"plan": simulated.plan.model_dump(by_alias=True)}))
        compare(
            Compare.model_validate({"confidence": 0.9, "min_gain": 2.5, **asked}),
            plan=plan,
            data=outputs.data,
            manifests=outputs.manifests,
            cells=outputs.metrics,
            predictions=outputs.predictions,
            report=reports / "index.html",
            markdown=reports / "index.md",
            figures=reports / "figures",
            plots=reports / "plots",
            comparison=folder / "metrics/comparison.json",
            metrics=folder / "metrics/metrics.json",
            linear=folder / "models/linear",
            run=Run(),
        )
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        written.append({str(path.relative_to(folder)): path.read_bytes() for path in files})
    assert written[0] == written[1]
    assert {"metrics/metrics.json", "reports/index.md", "reports/plots/scores/section.csv"} <= set(written[0])
    assert {"reports/figures/arms-section.svg", "models/linear/section/linear.safetensors"} <= set(written[0])
    comparison = Comparison.read(tmp_path / "first/metrics/comparison.json")
    assert [each.name for each in comparison.tasks[0].answers if each.why != "described"] == ["which_text", "pretrain"]
    shown = summary(comparison)
    assert capsys.readouterr().out == f"{shown}\n{shown}\n"
    page = written[0]["reports/index.html"].decode()
    assert "aims at 10 % of studies in which any gain or loss of any task is wrong" in page
    assert "any gain of at least 2.5 points (<code>compare.min_gain</code>)" in page
    assert "Whisker: 90 % interval." in page
    assert '<h1><span lang="en"><code>which_text</code>: not tested on section</span>' in page
