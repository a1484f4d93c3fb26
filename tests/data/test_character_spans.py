"""Spans of characters to words with tags: offsets survive, and what does not fit is said, not bent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.data.character_spans import tagged, words
from adaptbert.data.cleaning import clean
from adaptbert.data.rows import BadRow, Row
from adaptbert.data.tag_schemes import spans
from adaptbert.data.task_description import TaskDescription
from adaptbert.prediction.inputs import Reader

TEXT = st.text(
    st.one_of(st.sampled_from("ab Z,.-中国ラ\u0301\U0001f600\n\u00ad\x00\x1b[m"), st.characters()), max_size=25
)


@given(TEXT)
def test_words_cover_all_that_is_visible_and_nothing_else(text: str) -> None:
    tokens, places = words(text)
    assert "".join(tokens) == "".join(clean(text)[0].split())
    assert [clean(text[first:end])[0] for first, end in places] == tokens
    ends = [end for pair in places for end in pair]
    assert ends == sorted(ends)


@given(TEXT, st.data())
def test_spans_to_tags_and_back_to_the_same_characters(text: str, data: st.DataObject) -> None:
    """Any runs of words, with white space around them or not."""
    split = words(text)[1]
    picked, first = [], 0
    while first < len(split) and data.draw(st.booleans()):
        begin = data.draw(st.integers(first, len(split) - 1))
        last = data.draw(st.integers(begin, len(split) - 1))
        picked.append((begin, last))
        first = last + 1
    drawn = [(split[begin][0], split[last][1], data.draw(st.sampled_from("XY"))) for begin, last in picked]
    tokens, tags = tagged(text, drawn)
    assert tokens == words(text)[0]
    assert [(split[begin][0], split[end - 1][1], kind) for begin, end, kind in spans(tags, "bio")] == drawn


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Dr. O'Neil paid $3.50!", ["Dr", ".", "O", "'", "Neil", "paid", "$", "3", ".", "50", "!"]),
        ("我爱 BERT模型", ["我", "爱", "BERT", "模", "型"]),
        ("नमस्ते", ["नमस्ते"]),
        ("☀\ufe0f 가a\u200bb", ["☀\ufe0f", "가ab"]),
        ("👩\u200d👧 می\u200cخواهم", ["👩\u200d", "👧", "می\u200cخواهم"]),
    ],
)
def test_what_a_word_is(text: str, tokens: list[str]) -> None:
    assert words(text)[0] == tokens


@pytest.mark.parametrize(
    "text", ["Take co\u00adtrimoxazole", "\u200bTake co\u200btrimoxazole", "Take co\x1b[1mtrimoxazole\x1b[0m"]
)
def test_a_hidden_character_separates_no_words_in_training_and_prediction(text: str) -> None:
    """What a span marks is one word, the one that prediction finds in the text."""
    tokens, tags = tagged(text, [(text.index("co"), len(text), "DRUG")])
    assert (tokens, tags) == (["Take", "cotrimoxazole"], ["O", "B-DRUG"])
    reader = Reader(TaskDescription(type="token-classification", labels=[]), {})
    reader.check(["text"], "f", str)
    request = reader.read(Row("", "f", 1, {"text": text}), "f:1")
    assert request.values["tokens"] == tokens
    assert text[request.values["places"][1][0] :].startswith("co")


@pytest.mark.parametrize(
    ("spans", "words"),
    [
        ([(0, 3)], "inside a word"),
        ([(2, 5)], "inside a word"),
        ([(5, 6)], "no word"),
        ([(-1, 5)], "lies"),
        ([(3, 99)], "lies"),
        ([(4, 4)], "empty"),
        ([(0, 5), (0, 10)], "overlap"),
    ],
)
def test_spans_that_fit_no_words(spans: list[tuple[int, int]], words: str) -> None:
    with pytest.raises(BadRow) as caught:
        tagged("Paris wins", [(first, end, "X") for first, end in spans])
    assert caught.value.problem.code == 81
    assert words in caught.value.problem.reason


def test_white_space_and_repeats_do_no_harm() -> None:
    assert tagged("in Paris now", [(2, 9, "X")] * 2) == (["in", "Paris", "now"], ["O", "B-X", "O"])
