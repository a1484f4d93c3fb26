"""Which rows are valid, which are not and why."""

from typing import Any

import pytest

from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.schema import faulty
from tests.support.raw import table
from tests.support.reading import ANSWER, CLASS, NUMBER, PAIR, SPANS, TAGS


@pytest.mark.parametrize(
    ("layout", "rows", "expected"),
    [
        (CLASS, [("fine", "x"), (" \t", "x"), ("text", " "), ("", "")], {1: "empty", 2: "label_missing", 3: "empty"}),
        (PAIR, [("a", "b", "x"), ("a", " ", "x")], {1: "text_missing"}),
        (NUMBER, [("a", 1.5), ("b", float("inf")), ("c", 6.0)], {1: "out_of_range", 2: "out_of_range"}),
        (SPANS, [(["a", "b"], ["B-X", "I-X"]), ([], []), (["a", " "], ["O", "O"])], {1: "empty", 2: "token_empty"}),
        (SPANS, [(["\u200b"], ["O"]), (["a"], ["I-X"])], {0: "token_invisible", 1: "tag_illegal"}),
        (TAGS, [(["a"], ["I-X"]), (["a"], [" "])], {1: "label_missing"}),
        (ANSWER, [("The cat", "?", [{"text": "cat", "start": at}]) for at in (4, 3, 5, -1)],
         {1: "answer_elsewhere", 2: "offset_outside", 3: "offset_outside"}),
        (CORPUS, [], {}),
    ],
)  # fmt: skip
def test_all_faults_of_all_rows_each_by_its_gravest(layout: Layout, rows: list[Any], expected: dict[int, str]) -> None:
    frame = table(layout, rows, "source.csv").to_pandas()
    reasons = faulty(frame, layout, bounds=(0, 5))
    assert {row: reason.name for row, reason in reasons.items()} == expected
