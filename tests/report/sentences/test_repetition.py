"""What was repeated, in words: test rows that are no others' copies, and what could not have been shown."""

import dataclasses

import pyarrow.parquet as pq
import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.report.page import render
from adaptbert.report.sentences import captions, repetition
from adaptbert.report.task_view import view_of
from adaptbert.report.terms import Words
from adaptbert.statistics.verdicts import Verdict
from tests.support.judged_steps import answered
from tests.support.known import known
from tests.support.simulated import Simulated, compared


def test_test_rows_with_one_text_are_counted_once_beside_the_rows(made: Simulated) -> None:
    """They are resampled together, so there are fewer independent ones than rows."""
    path = made.root / "data/validated/tasks/section/test.parquet"
    texts = pq.read_table(path).column("text").to_pylist()
    (task,) = compared(made).tasks
    assert (task.test_groups, task.test_texts) == (None, len(set(texts)))
    rows = f"{len(texts)} test rows with {len(set(texts))} different texts"
    assert repetition.test_rows(task).en == rows
    assert repetition.test_rows(task).zh == f"{len(texts)} 行测试数据（{len(set(texts))} 种不同文本）"
    page = render(dataclasses.replace(compared(made), tasks=[task]))
    assert f"{rows}, measured by macro-F1" in page
    plain = dataclasses.replace(task, test_texts=None)
    assert repetition.test_rows(plain) == Words(f"{len(texts)} test rows", f"{len(texts)} 行测试数据")
    grouped = dataclasses.replace(plain, test_groups=80)
    assert repetition.test_rows(grouped) == Words(
        f"{len(texts)} test rows in 80 groups", f"{len(texts)} 行测试数据（80 组）"
    )


@pytest.mark.parametrize(
    ("verdict", "p", "band"), [("undecided", 0.4, True), ("one_draw", None, False), ("descriptive", None, False)]
)
def test_the_grey_band_is_drawn_and_explained_for_questions_with_a_verdict_alone(
    comparison: Comparison, verdict: Verdict, p: float | None, band: bool
) -> None:
    task = comparison.tasks[0]
    task = dataclasses.replace(task, steps=[answered(task, "domain_text", 0.02, 0.03, verdict, p)])
    figure = known(view_of(task, dataclasses.replace(comparison, tasks=[task])).differences)
    assert ('class="unseen"' in figure.drawn) == band
    caption = captions.differences(task, 0.01)
    assert ("Grey band" in caption.en) == ("灰带" in caption.zh) == band
    assert "Dotted: ±1.0 points" in caption.en
