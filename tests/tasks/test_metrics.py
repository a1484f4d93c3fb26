"""Every score equals an independent one: of scikit-learn or torchmetrics, or counted anew by definition."""

import json
import re
import unicodedata
from collections.abc import Sequence
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support
from torch import float64, tensor
from torchmetrics.functional.regression import mean_squared_error, pearson_corrcoef, spearman_corrcoef
from torchmetrics.functional.text import squad

from adaptbert.tasks.metrics.answer_overlap import by_characters, character_tokens, word_tokens
from adaptbert.tasks.metrics.cell_metrics import SeedMetrics
from adaptbert.tasks.metrics.scoring import (
    answer_metrics,
    classification_metrics,
    label_metrics,
    number_metrics,
    of_spans,
    span_metrics,
    tag_metrics,
)

LABELS = ["a", "b", "c", "d"]
TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=60))
def test_classification_equals_sklearn(pairs: list[tuple[str, str]]) -> None:
    gold, predicted = [gold for gold, _ in pairs], [guess for _, guess in pairs]
    metrics = classification_metrics(gold, predicted, LABELS[0])
    each = [
        f1_score([g == label for g in gold], [p == label for p in predicted], zero_division=0)
        for label in sorted(set(gold))
    ]
    assert metrics == {
        "f1_macro": pytest.approx(sum(each) / len(each)),
        "accuracy": pytest.approx(accuracy_score(gold, predicted)),
        "f1_positive": pytest.approx(f1_score(gold, predicted, labels=[LABELS[0]], average="macro", zero_division=0)),
    }
    assert "f1_positive" not in classification_metrics(gold, predicted)


def test_a_span_is_right_where_both_ends_and_the_type_agree() -> None:
    """One of three and four spans is: others have another type or another end, or are in another row."""
    gold = [["B-X", "I-X", "O", "B-Y"], ["O", "B-Y", "I-Y"], ["O"]]
    predicted = [["B-X", "I-X", "O", "B-X"], ["B-Y", "I-Y", "I-Y"], ["B-Y"]]
    expected = {"f1_span": 2 / 7, "precision_span": 1 / 4, "recall_span": 1 / 3}
    assert span_metrics(gold, predicted) == pytest.approx(expected)
    hyphens = [[f"{tag}-" if tag != "O" else tag for tag in tags] for tags in gold]
    assert span_metrics(hyphens, gold)["f1_span"] == 0, "types are compared as they are written"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), max_size=12), st.integers(1, 6))
def test_spans_are_scored_as_sklearn_scores_whether_each_was_there(pairs: list[tuple[str, str]], length: int) -> None:
    """Also in rows that are not legal: an I- after O or after another type is in no span."""
    cut = [pairs[start : start + length] for start in range(0, len(pairs), length)]
    gold, predicted = ([[pair[side] for pair in row] for row in cut] for side in (0, 1))
    grammar = re.compile("BX(IX)*|BY(IY)*")  # over two characters a tag
    right, answered = (
        {
            (row, entity.span(), entity[0][1])
            for row, tags in enumerate(rows)
            for entity in grammar.finditer("".join(tag.replace("-", "").ljust(2) for tag in tags))
        }
        for rows in (gold, predicted)
    )
    spans = right | answered
    for kinds in ("XY", "X", "Y"):  # sklearn wants a case: one more, that was not there and was not found
        was, said = ([span in side and span[2] in kinds for span in spans] + [False] for side in (right, answered))
        expected = precision_recall_fscore_support(was, said, average="binary", zero_division=0)[:3]
        if kinds == "XY":
            metrics = span_metrics(gold, predicted)
            assert [metrics[f"{name}_span"] for name in ("precision", "recall", "f1")] == pytest.approx(expected)
        elif any(was):
            assert of_spans(gold, predicted)[kinds] == pytest.approx((*expected, sum(was)))
        else:
            assert kinds not in of_spans(gold, predicted)


some_labels = st.lists(st.sampled_from(LABELS), unique=True).map(sorted)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(some_labels, some_labels), min_size=1, max_size=40))
def test_several_labels_are_counted_decision_by_decision(pairs: list[tuple[list[str], list[str]]]) -> None:
    gold, predicted = [gold for gold, _ in pairs], [guess for _, guess in pairs]
    metrics = label_metrics(gold, predicted, [*LABELS, "never"])
    expected, actual = (np.array([[label in row for label in LABELS] for row in rows]) for rows in (gold, predicted))
    occur = expected.any(axis=0)
    each = f1_score(expected, actual, average=None, zero_division=0)[occur]
    assert metrics == {
        "f1_macro": pytest.approx(each.mean() if occur.any() else 0.0),
        "f1_micro": pytest.approx(f1_score(expected, actual, average="micro", zero_division=0)),
        "exact_match": pytest.approx(sum(g == p for g, p in pairs) / len(pairs)),
    }


def test_one_label_is_yes_or_no_and_no_pair_of_classes() -> None:
    metrics = label_metrics([["a"], ["a"], [], []], [["a"], [], [], []], ["a"])
    assert metrics == {"f1_macro": pytest.approx(2 / 3), "f1_micro": pytest.approx(2 / 3), "exact_match": 0.75}


decimals = st.floats(-1e3, 1e3).map(lambda value: round(value, 2))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(decimals, decimals), min_size=3, max_size=40))
def test_numbers_equal_torchmetrics(pairs: list[tuple[float, float]]) -> None:
    gold, predicted = [gold for gold, _ in pairs], [guess for _, guess in pairs]
    metrics = number_metrics(gold, predicted)
    expected, actual = tensor(gold, dtype=float64), tensor(predicted, dtype=float64)
    assert metrics["rmse"] == pytest.approx(float(mean_squared_error(actual, expected, squared=False)), abs=1e-9)
    if len(set(gold)) > 1 and len(set(predicted)) > 1:
        assert metrics["pearson"] == pytest.approx(float(pearson_corrcoef(actual, expected)), abs=1e-5)
        assert metrics["spearman"] == pytest.approx(float(spearman_corrcoef(actual, expected)), abs=1e-5)


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [([1.0, 2.0, 3.0], [5.0, 5.0, 5.0]), ([2.0, 2.0], [1.0, 3.0]), ([1.0], [1.0]), ([0.0, 1.0], [1.0, 1.0 + 2**-52])],
)
def test_undefined_correlations_are_zero(gold: list[float], predicted: list[float]) -> None:
    metrics = number_metrics(gold, predicted)
    constant = len(set(gold)) < 2 or len(set(predicted)) < 2
    assert all(-1 <= metrics[name] <= 1 for name in ("pearson", "spearman"))
    assert not constant or metrics["pearson"] == metrics["spearman"] == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS))), min_size=1).filter(any))
def test_tags_are_counted_over_all_rows(rows: list[list[tuple[str, str]]]) -> None:
    gold, predicted = [[g for g, _ in row] for row in rows], [[p for _, p in row] for row in rows]
    assert tag_metrics(gold, predicted) == classification_metrics([*chain(*gold)], [*chain(*predicted)])
    with pytest.raises(ValueError, match="shorter"):
        tag_metrics([["A", "B"]], [["A"]])


# Answers

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
    no_answers = answer_metrics([[], [], ["a cat"], ["a cat"]], ["", "cat", "", "the cat"])
    assert no_answers == {"f1_answer": 0.5, "exact_match": 0.5}


# The file

SCORES = st.dictionaries(st.sampled_from(["f1_macro", "accuracy", "rmse"]), st.floats(0, 1), min_size=1)


@given(test=SCORES, dev=SCORES, steps=st.none() | st.integers(1, 9))
def test_the_metrics_of_a_seed_come_back(test: dict[str, float], dev: dict[str, float], steps: int | None) -> None:
    """Scores stand flat in the file and by metric in the record."""
    more = {"tuned": {"no_answer_threshold": 1}, "failed": False, "cut": 0, "curve": []}
    metrics = SeedMetrics(seed=3, test=test, dev=dev, kept_step=steps, **more)
    written = metrics.as_json()
    flat = [f"test/{name}" for name in test] + [f"dev/{name}" for name in dev]
    order = ["seed", *flat, "tuned", "failed", "cut", "kept_step", "curve"]
    assert list(written) == [name for name in order if steps is not None or name != "kept_step"]
    assert SeedMetrics.model_validate(json.loads(json.dumps(written))) == metrics
