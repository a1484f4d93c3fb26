"""Metrics equal those of sklearn and seqeval, and bits per character do not see the vocabulary."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score as span_f1
from seqeval.metrics import precision_score as span_precision
from seqeval.metrics import recall_score as span_recall
from seqeval.scheme import IOB2
from sklearn.metrics import accuracy_score, f1_score

from adaptbert.metrics import bits_per_char, classification_metrics, legal, span_metrics

LABELS = ["a", "b", "c", "d"]
TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=60))
def test_classification_equals_sklearn(pairs: list[tuple[str, str]]) -> None:
    gold, predicted = [gold for gold, _ in pairs], [guess for _, guess in pairs]
    found = classification_metrics(gold, predicted)
    each = [
        f1_score([g == label for g in gold], [p == label for p in predicted], zero_division=0)
        for label in sorted(set(gold))
    ]
    assert found == {
        "f1_macro": pytest.approx(sum(each) / len(each)),
        "accuracy": pytest.approx(accuracy_score(gold, predicted)),
    }


def test_a_label_that_is_only_predicted_lowers_others_but_has_no_score_of_its_own() -> None:
    assert classification_metrics(["a", "a", "b", "b"], ["a", "c", "b", "b"])["f1_macro"] == pytest.approx(
        (2 / 3 + 1) / 2
    )


def random_tags(draw: random.Random, length: int) -> list[str]:
    return legal([draw.choice(TAGS) for _ in range(length)])


@pytest.mark.parametrize("seed", range(5))
def test_spans_equal_seqeval_in_strict_mode(seed: int) -> None:
    draw = random.Random(seed)
    lengths = [draw.randint(1, 12) for _ in range(40)]
    gold = [random_tags(draw, length) for length in lengths]
    predicted = [
        row if draw.random() < 0.5 else random_tags(draw, length) for row, length in zip(gold, lengths, strict=True)
    ]
    found = span_metrics(gold, predicted)
    strict = {"mode": "strict", "scheme": IOB2}
    assert found == {
        "f1_span": pytest.approx(span_f1(gold, predicted, **strict)),
        "precision_span": pytest.approx(span_precision(gold, predicted, **strict)),
        "recall_span": pytest.approx(span_recall(gold, predicted, **strict)),
    }
    assert 0 < found["f1_span"] < 1


def test_spans_count_only_when_both_ends_and_the_type_agree() -> None:
    gold = [["B-X", "I-X", "O"], ["B-Y", "O", "B-X"]]
    predicted = [["B-X", "O", "O"], ["B-X", "O", "B-X"]]
    assert span_metrics(gold, predicted) == {
        "f1_span": pytest.approx(1 / 3),
        "precision_span": pytest.approx(1 / 3),
        "recall_span": pytest.approx(1 / 3),
    }


def test_nothing_found_is_zero_and_not_an_error() -> None:
    assert span_metrics([["B-X"]], [["O"]]) == {"f1_span": 0.0, "precision_span": 0.0, "recall_span": 0.0}


@settings(max_examples=60, deadline=None)
@given(st.floats(1, 1e6), st.integers(1, 10**6), st.integers(2, 9), st.integers(1, 10**6))
def test_bits_per_char_do_not_change_when_tokens_are_split(
    total: float, tokens: int, parts: int, characters: int
) -> None:
    """The same text at the same total loss, cut into more tokens."""
    coarse = bits_per_char(total / tokens, tokens, characters)
    fine = bits_per_char(total / (tokens * parts), tokens * parts, characters)
    assert fine == pytest.approx(coarse)
    assert coarse == pytest.approx(total / math.log(2) / characters)


def test_a_uniform_guess_over_256_characters_is_8_bits() -> None:
    assert bits_per_char(math.log(256), 100, 100) == pytest.approx(8)
