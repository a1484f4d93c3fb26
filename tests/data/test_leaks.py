"""Dev and test text is found in rows that are to be trained on: whole rows, and long texts inside rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.data.cleaning import letters
from adaptbert.data.leaks import WINDOW, ForbiddenText

SENTENCE = "The quick brown fox jumps over the lazy dog near the river bank."
POST = "今天天气很好我们一起去公园散步吧真的很开心"


@pytest.mark.parametrize("text", [SENTENCE, POST])
def test_finds_a_long_text_inside_a_row(text: str) -> None:
    forbidden = ForbiddenText([text])
    rows = [text, f"Before. {text.upper()} After", f"x{text}", text[:-3], "", "short"]
    assert forbidden.matches(rows).tolist() == [True, True, True, False, False, False]


def test_a_short_text_counts_as_a_whole_row_only() -> None:
    forbidden = ForbiddenText(["thank you", "谢谢"])
    rows = ["Thank you!", "thank you for it", "谢谢。", "谢谢你"]
    assert forbidden.matches(rows).tolist() == [True, False, True, False]


def test_no_match_from_row_to_row_nor_without_texts() -> None:
    assert not ForbiddenText([SENTENCE]).matches([SENTENCE[:30], SENTENCE[30:]]).any()
    assert not ForbiddenText([SENTENCE]).matches(["a", ""]).any()
    assert not ForbiddenText([]).matches([SENTENCE, ""]).any()


WORDS = st.lists(st.sampled_from(["ab", "abc", "好", "不", "x"]), max_size=60).map("".join)


@given(st.lists(WORDS, max_size=5), st.lists(WORDS, max_size=8))
def test_the_search_is_exact(texts: list[str], rows: list[str]) -> None:
    """The same answer as looking for every text in every row, one by one."""
    keys = {letters(text) for text in texts}
    expected = [
        any(k == letters(row) or (len(k.encode()) >= WINDOW and k in letters(row)) for k in keys) for row in rows
    ]
    assert ForbiddenText(texts).matches(rows).tolist() == expected


def test_many_rows_are_searched_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptbert.data.leaks._PASS", 200)
    rows = [f"row {number} of the corpus is harmless" for number in range(50)]
    rows[0] = rows[17] = rows[49] = f"here: {SENTENCE}"
    assert [number for number, leak in enumerate(ForbiddenText([SENTENCE]).matches(rows)) if leak] == [0, 17, 49]
