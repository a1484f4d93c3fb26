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


WORDS = st.lists(st.sampled_from(["ab", "abc", "好", "不", "x"]), max_size=60).map("".join)


@given(st.lists(WORDS, max_size=5), st.data())
def test_the_search_is_exact(texts: list[str], data: st.DataObject) -> None:
    """The same answer as looking for every text in every row, one by one; of rows with texts, and halves of texts."""
    halves = [half for text in texts for half in (text[: len(text) // 2], text[len(text) // 2 :])]
    part = st.one_of(WORDS, st.sampled_from(["! ", *texts, *halves]))
    rows = data.draw(st.lists(st.lists(part, max_size=3).map("".join), max_size=8)) + halves
    keys = {letters(text) for text in texts}
    expected = [
        any(k == letters(row) or (len(k.encode()) >= WINDOW and k in letters(row)) for k in keys) for row in rows
    ]
    assert ForbiddenText(texts).matches(rows).tolist() == expected


def test_many_rows_are_searched_in_parts() -> None:
    rows = [f"row {number} of the corpus is harmless" for number in range(50)]
    rows[0] = rows[17] = rows[49] = f"here: {SENTENCE}"
    assert [number for number, leak in enumerate(ForbiddenText([SENTENCE]).matches(rows)) if leak] == [0, 17, 49]
