"""Which rows are valid, which are not and why; what a wrong column says."""

from typing import Any

import pandas as pd
import pytest

from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.schema import faulty
from adaptbert.errors import BadData, Several
from tests.support.labelled_files import CLASS, SPANS
from tests.support.messages import messages_in
from tests.support.raw import table


def codes(layout: Layout, rows: list[tuple[Any, ...]]) -> dict[int, tuple[int, str]]:
    reasons = faulty(table(layout, rows, "source.csv").to_pandas(), layout, "raw.parquet")
    return {row: (reason.code, reason.name) for row, reason in reasons.items()}


def test_all_faults_of_all_rows_at_once() -> None:
    rows = [("1", "fine", "pos"), ("2", None, "pos"), ("3", " \t", "pos"), ("4", "text", None), ("5", "text", " ")]
    assert codes(CLASS, rows) == {
        1: (41, "text_null"),
        2: (74, "empty"),
        3: (62, "label_missing"),
        4: (62, "label_missing"),
    }


def test_a_row_has_one_reason_the_gravest() -> None:
    assert codes(CLASS, [(None, None, None), ("", "x", "y")]) == {
        0: (86, "id_missing"),
        1: (86, "id_missing"),
    }


@pytest.mark.parametrize(
    ("tokens", "tags", "code"),
    [
        pytest.param(["a", "b"], ["B-X", "I-X"], None, id="fine"),
        pytest.param(None, ["O"], 74, id="no tokens"),
        pytest.param([], [], 74, id="empty list"),
        pytest.param(["a"], None, 62, id="no tags"),
        pytest.param(["a", ""], ["O", "O"], 91, id="empty token"),
        pytest.param(["a", None], ["O", "O"], 91, id="null token"),
        pytest.param(["a"], [None], 89, id="null tag"),
    ],
)
def test_tagged_rows(tokens: list[str] | None, tags: list[str] | None, code: int | None) -> None:
    reasons = codes(SPANS, [(tokens, tags), (["fine"], ["O"])])
    assert {row: number for row, (number, _) in reasons.items()} == ({} if code is None else {0: code})


def test_index_of_the_frame_does_not_matter() -> None:
    """A frame with repeated index values once made pandera drop three rows for one."""
    frame = pd.concat([table(CORPUS, [("1", "x"), ("2", None)], "f").to_pandas()] * 2)
    assert sorted(faulty(frame, CORPUS, "raw.parquet")) == [1, 3]


def test_missing_columns_are_reported_together_with_the_nearest_name() -> None:
    frame = table(CLASS, [("1", "x", "y")], "f").to_pandas()
    with pytest.raises(Several) as several:
        faulty(frame.rename(columns={"text": "Text", "label": "class"}), CLASS, "raw.parquet")
    assert messages_in(str(several.value)) == [
        "AB-056 raw.parquet: column 'text' missing; found id, Text, class, file, line (did you mean 'Text'?)\n  "
        "rename it or map it in `columns`",
        "AB-056 raw.parquet: column 'label' missing; found id, Text, class, file, line\n  "
        "rename it or map it in `columns`",
    ]


def test_a_column_of_another_type_is_reported_once_without_values() -> None:
    frame = table(CORPUS, [("1", "x"), ("2", "y")], "f").to_pandas()
    with pytest.raises(BadData, match=r"AB-056 raw.parquet: column 'text' is int64, expected text") as error:
        faulty(frame.assign(text=[4711, 4712]), CORPUS, "raw.parquet")
    assert "471" not in str(error.value)


def test_an_empty_frame_is_valid() -> None:
    assert faulty(table(CORPUS, [], "f").to_pandas(), CORPUS, "raw.parquet") == {}
