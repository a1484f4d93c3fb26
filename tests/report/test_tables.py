"""The tables: what a reader sees of them is in said/tables.md, and all views of them say the same."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adaptbert.comparison.records import Comparison, Search, Task, TaskMean
from adaptbert.config.load import flatten
from adaptbert.core.files import read_json
from adaptbert.core.record import Cost
from adaptbert.report import tables
from adaptbert.report.markdown import in_markdown
from adaptbert.report.page import render
from adaptbert.report.tables import Cell, Table, headlines
from adaptbert.report.text_table import aligned, summary
from tests.support.judged_answers import answered, retrained
from tests.support.known import answer_to, known
from tests.support.page_reader import seen
from tests.support.snapshots import agrees

SAID = Path(__file__).parent / "said/tables.md"


def written(table: Table) -> str:
    """Title, columns, rows and notes."""
    lines = [f"## {table.title.en}", "", " | ".join(column.en for column in table.columns), "---"]
    return "\n".join([*lines, *(" | ".join(map(_cell, row)) for row in table.rows), *(n.en for n in table.notes)])


def _cell(cell: Cell) -> str:
    """With its notes, its colour, and what it sorts by where that is not the text."""
    value = f"{round(cell.value, 6) + 0.0:.4g}" if isinstance(cell.value, float) else cell.value
    shown = "".join([cell.text.en, *(f" ({note.en})" for note in cell.notes), f" #{cell.key}{cell.chip}".rstrip(" #")])
    return shown if value in (None, cell.text.en) else f"{shown} [{value}]"


def spoilt(task: Task) -> Task:
    """Arms of which each lacks something, and one with a search for each replicate."""
    searches = [Search(replicate, 2, 2.5e-4, 16, 3.0, Cost(tokens=12_300_000, tflop=456.78)) for replicate in (1, 2)]
    changes: dict[str, dict[str, Any]] = {
        "scratch": {"runs": [], "interval": None, "cost": None},
        "general": {"runs": task.arm("general").runs[:2], "cost": Cost(tokens=0, tflop=0.0)},
        "domain": {"has_own_values": True, "searches": searches},
        "task": {"runs": [replace(run, failed=True) for run in task.arm("task").runs]},
    }
    return replace(task, arms=[replace(arm, **changes.get(arm.name, {})) for arm in task.arms], baseline_rows=120)


def named(task: Task) -> Task:
    """A question about an arm of another domain corpus, two of the user's own, which come last: without a result, of
    an arm that is cheaper than the other."""
    of_news = replace(answer_to(task, "domain_transfer"), name="domain_transfer/news", variant="news", arm="news")
    own = replace(of_news, name="mine", question="mine", variant=None, difference=None)
    cheaper = replace(own, name="cheaper", question="cheaper", arm="task", other="domain")
    arms = [*task.arms, replace(task.arm("domain"), name="news", cost=None)]
    return replace(task, arms=arms, answers=[own, cheaper, of_news])


def unmeasured(comparison: Comparison, **measured: dict[str, float]) -> Comparison:
    """No arm begins with random weights, so that these are measured on general text alone, or not at all."""
    scratch, pretrain, *others = comparison.checkpoints
    scratch = replace(scratch, replicates=[replace(scratch.first, before=measured, after=measured)])
    pretrain = replace(pretrain, replicates=[replace(pretrain.first, before=measured)])
    missing = replace(others[-1], replicates=[replace(others[-1].first, cost=None, after={})])
    return replace(comparison, checkpoints=[scratch, pretrain, *others[:-1], missing])


def all_tables(comparison: Comparison, repeated: Comparison, several: Comparison) -> Iterator[Table]:
    for task in repeated.tasks:
        yield tables.arms(task)
    yield tables.answers(repeated, repeated.tasks)
    yield tables.classes(repeated.tasks[1])
    yield tables.data(repeated)
    yield tables.bases(several.rankings[0])
    ways = {"small": "packed by masks", "base": "padded"}
    by_way = [
        replace(each, replicates=[replace(each.first, documents=ways[each.base])]) for each in several.checkpoints
    ]
    yield tables.prices(several.rankings[0], replace(several, checkpoints=by_way))
    yield tables.checkpoints(several)
    yield tables.arms(spoilt(comparison.tasks[0]))
    yield tables.search(spoilt(comparison.tasks[0]))
    yield tables.answers(comparison, [named(comparison.tasks[0])])
    equivalent = answered(comparison.tasks[0], "recipe", 0.001, 0.011, "equivalent", 1.0)
    yield tables.answers(comparison, [replace(comparison.tasks[0], answers=[equivalent])])
    yield tables.checkpoints(unmeasured(comparison, general=4.3))
    yield tables.checkpoints(unmeasured(comparison))
    yield tables.summary(replace(repeated, tasks=[*repeated.tasks, replace(spoilt(comparison.tasks[0]), baselines={})]))
    first, second = comparison.tasks
    yield tables.summary(replace(comparison, tasks=[replace(first, arms=first.arms[2:]), second]))


def test_what_tables_say(comparison: Comparison, repeated: Comparison, several: Comparison) -> None:
    agrees(SAID, lambda *of: "\n\n".join(map(written, all_tables(*of))) + "\n", comparison, repeated, several)


def test_what_markdown_and_a_terminal_say(repeated: Comparison, several: Comparison) -> None:
    agrees(SAID.with_name("index.md"), in_markdown, several)
    untrained = retrained(repeated, {"pretrain": {"random_head": True}})
    sentence = "The masked-LM head of pretrain was never trained: its bits per character mean nothing."
    assert (sentence in in_markdown(repeated), sentence in in_markdown(untrained)) == (False, True)
    agrees(SAID.with_name("terminal.txt"), lambda *of: "\n\n".join(map(summary, of)) + "\n", repeated, several)


@pytest.mark.parametrize("kind", ["comparison", "repeated", "several"])
def test_the_page_shows_the_tables_in_both_languages(kind: str, request: pytest.FixtureRequest) -> None:
    comparison: Comparison = request.getfixturevalue(kind)
    page = re.sub(r"\s+", "", seen(render(comparison)))
    shown = [*map(tables.arms, comparison.tasks), *map(tables.bases, comparison.rankings)]
    shown += [tables.prices(ranking, comparison) for ranking in comparison.rankings]
    shown += [tables.checkpoints(comparison), tables.answers(comparison, comparison.tasks), tables.data(comparison)]
    for cell in (cell for table in shown for row in table.rows for cell in row):
        for each in (cell.text, *cell.notes):
            assert all(re.sub(r"[`\s]", "", said) in page for said in (each.en, each.zh)), each


def test_columns_are_aligned_with_chinese_names() -> None:
    lines = aligned([["任务", "f1"], ["a", "51.2"]]).splitlines()
    assert lines == ["任务    f1", "-" * 10, "a     51.2"]


def test_a_negative_score_has_one_kind_of_minus(comparison: Comparison) -> None:
    """A negative correlation and its interval, on the page and in the text."""
    task = comparison.tasks[0]
    below = replace(known(task.arms[0].interval), mean=-0.21, low=-0.4, high=-0.02)
    arms = [replace(arm, interval=below) for arm in task.arms]
    negative = replace(comparison, tasks=[replace(task, metric="pearson", arms=arms)])
    page = seen(render(negative))
    assert "−21.0" in page
    assert re.findall(r"(?<![\w-])-\s?\d[^\n]{0,20}|\de-\d", page) == []
    assert "-21.0 (-40.0 to -2.0)" in summary(negative)


def test_headlines_are_scores_and_differences_and_nothing_else(several: Comparison) -> None:
    first, second, *_ = several.tasks
    arms = [replace(arm, runs=[], interval=None) if arm.name == "scratch" else arm for arm in first.arms]
    answers = [replace(each, difference=None) for each in second.answers]
    written = headlines(replace(several, tasks=[replace(first, arms=arms), replace(second, answers=answers)]))
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert list(written) == ["section"]
    small, base = written["section"]["small"], written["section"]["base"]
    assert set(small) == {*(arm.name for arm in arms), "differences", *first.baselines} - {"scratch"}
    assert small["domain"] == pytest.approx(100 * known(first.arm("domain").interval).mean, abs=0.005)
    difference = known(answer_to(first, "domain_text").difference)
    assert small["differences"]["domain_text"] == pytest.approx(100 * difference.mean, abs=0.005)
    assert "differences" not in base


def test_a_mean_of_tasks_comes_first_in_every_view(comparison: Comparison) -> None:
    answer = answered(comparison.tasks[0], "recipe", 0.021, 0.008, "gain")
    mean = TaskMean("small", "f1_macro", ["section", "mention"], {"test": 600}, [], answer)
    compared = replace(comparison, means=[mean])
    assert headlines(compared)["mean-of-tasks"] == {"small": {"f1_macro": {"recipe": 2.1}}}
    first = tables.answers(compared, compared.tasks).rows[0]
    assert first[1].text.en == "section, mention"
    assert [note.en for cell in first for note in cell.notes][1:] == ["3 replicates, 3 seeds, 600 test rows"]
    said = "The recipe gains 2.1 points of macro-F1 on average (1.3 to 2.9) over fine-tuning alone"
    assert summary(compared).startswith(f"Mean of section and mention: {said}")
    assert f"**Mean of section and mention**: {said}" in in_markdown(compared)
    page = seen(render(compared))
    assert page.index("Mean of section and mention") < page.index(said) < page.index("How to read this page")


def test_headlines_that_are_committed() -> None:
    """A few dozen columns in `dvc exp show`; and the only file that DVC takes for metrics."""
    committed = read_json(Path("metrics/metrics.json"))
    assert committed == headlines(Comparison.read(Path("metrics/comparison.json")))
    assert len(flatten(committed)) < 50
    dvc_yaml = Path("dvc.yaml").read_text("utf-8")
    of_compare = "\n    metrics:\n      - metrics/metrics.json: {cache: false, persist: true}\n"
    assert dvc_yaml.count(of_compare) == dvc_yaml.count("    metrics:") == 1


def test_a_terminal_executes_no_label(comparison: Comparison) -> None:
    """A class is called what the user's file calls it."""
    task = comparison.tasks[0]
    arms = [replace(arm, never_predicted=["\x1b[31mred"]) for arm in task.arms]
    said = summary(replace(comparison, tasks=[replace(task, arms=arms)]))
    assert "\\x1b[31mred" in said
    assert "\x1b" not in said
