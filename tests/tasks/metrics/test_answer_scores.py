"""Scores of answers equal independent ones: torchmetrics, and SQuAD and CMRC counted anew by definition."""

import re
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics.functional.text import squad

from adaptbert.tasks.metrics.answer_overlap import by_characters, character_tokens, word_tokens
from adaptbert.tasks.metrics.scores import answer_metrics

WORDS = ["the", "A", "an", "cat", "Cat", "cat's", "dog", "dogs.", "(dog)", "1,000", "1000", "naïve", "–", "U.S."]
english = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
answerable = st.lists(english.filter(word_tokens), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(answerable, english), min_size=1, max_size=8))
def test_answers_equal_torchmetrics(rows: list[tuple[list[str], str]]) -> None:
    expected = squad(
        [{"prediction_text": text, "id": str(n)} for n, (_, text) in enumerate(rows)],
        [
            {"answers": {"answer_start": [0] * len(answers), "text": answers}, "id": str(n)}
            for n, (answers, _) in enumerate(rows)
        ],
    )
    metrics = answer_metrics([answers for answers, _ in rows], [text for _, text in rows])
    assert 100 * metrics["f1_answer"] == pytest.approx(float(expected["f1"]), abs=1e-4)
    assert 100 * metrics["exact_match"] == pytest.approx(float(expected["exact_match"]), abs=1e-4)


def test_no_answer_is_an_answer() -> None:
    assert answer_metrics([[], [], ["a cat"], ["a cat"]], ["", "cat", "", "the cat"]) == {
        "f1_answer": 0.5,
        "exact_match": 0.5,
    }


def cmrc_anew(answers: Sequence[str], text: str) -> tuple[float, float]:
    """CMRC 2018 for one question: the longest common stretch, by trying all of them."""

    def pieces(raw: str) -> list[str]:
        bare = "".join(c for c in raw.lower() if not unicodedata.category(c).startswith(("P", "S")))
        return re.findall(r"[\u4e00-\u9fff]|[^\s\u4e00-\u9fff]+", bare)

    def longest(one: list[str], other: list[str]) -> int:
        stretches = {tuple(one[i:j]) for i in range(len(one)) for j in range(i + 1, len(one) + 1)}
        others = {tuple(other[i:j]) for i in range(len(other)) for j in range(i + 1, len(other) + 1)}
        return max(map(len, stretches & others), default=0)

    actual = pieces(text)
    f1, exact = 0.0, 0.0
    for right in [metrics for answer in answers if (metrics := pieces(answer))] or [[]]:
        exact = max(exact, float(right == actual))
        shared = longest(right, actual)
        if shared:
            precision, recall = shared / len(actual), shared / len(right)
            f1 = max(f1, 2 * precision * recall / (precision + recall))
        f1 = max(f1, float(not right and not actual))
    return f1, exact


chinese = st.text(st.sampled_from("北京大学，。《》 AB1"), min_size=0, max_size=9)
with_characters = st.lists(chinese.filter(lambda text: any(c in text for c in "北京大学")), min_size=1, max_size=3)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(with_characters, chinese), min_size=1, max_size=12))
def test_chinese_answers_equal_cmrc_written_anew(rows: list[tuple[list[str], str]]) -> None:
    metrics = answer_metrics([answers for answers, _ in rows], [text for _, text in rows])
    scores = [cmrc_anew(answers, text) for answers, text in rows]
    assert metrics["f1_answer"] == pytest.approx(sum(f1 for f1, _ in scores) / len(rows))
    assert metrics["exact_match"] == pytest.approx(sum(exact for _, exact in scores) / len(rows))


def test_the_script_of_the_answers_decides_not_of_the_predictions() -> None:
    assert character_tokens("《北京》大学 in 1998年!") == ["北", "京", "大", "学", "in", "1998", "年"]
    assert by_characters(["北京大学", "1998年", "NBA"])
    assert not by_characters(["Peking (北京)", "in 1998", "the capital"])
    assert by_characters(["東京タワー", "กรุงเทพ"])
    assert not by_characters(["서울 타워"]), "Korean has spaces"
    assert not by_characters([])
    # A run of characters is worth more than the same characters scattered; of words the order does not count.
    assert answer_metrics([["北京大学"]], ["大学北京"])["f1_answer"] == 0.5
    assert answer_metrics([["north south"]], ["south north"])["f1_answer"] == 1
    assert answer_metrics([["in 1998"]], ["北京"])["f1_answer"] == 0
