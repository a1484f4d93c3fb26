"""The order of training is a function of (seed, k), and every document comes exactly once a pass."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.mlm.step import optimizer_steps
from adaptbert.training.document_stream import DocumentStream
from tests.support import tiny_params

lengths_of = st.lists(st.integers(2, 40), min_size=1, max_size=60).map(lambda lengths: np.array(lengths, np.int64))


@settings(max_examples=60)
@given(lengths_of, st.integers(0, 2**64 - 1), st.integers(0, 200), st.randoms(use_true_random=False))
def test_a_batch_has_the_documents_that_begin_in_its_part_of_the_stream(
    lengths: np.ndarray, seed: int, spare: int, order: random.Random
) -> None:
    """Pass after pass, each document once a pass; whatever was read before."""
    tokens, passes = int(lengths.max()) + spare, 3
    numbers = list(range(passes * int(lengths.sum()) // tokens + 1))
    order.shuffle(numbers)
    stream = DocumentStream(lengths, seed, tokens)
    by_number = {k: stream.batch(k) for k in numbers}
    batches = [by_number[k] for k in sorted(numbers)]
    documents, number = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    starts = np.cumsum(lengths[documents]) - lengths[documents]
    sizes = [len(batch) for batch, _ in batches]
    assert min(sizes) > 0
    assert np.array_equal(starts // tokens, np.repeat(np.arange(len(batches)), sizes))
    assert (np.diff(number) >= 0).all()
    for one in range(passes):
        assert sorted(documents[number == one]) == list(range(len(lengths)))


@settings(max_examples=60)
@given(lengths_of, st.integers(1, 7), st.integers(0, 200))
def test_a_step_has_the_same_documents_in_any_number_of_parts(lengths: np.ndarray, parts: int, spare: int) -> None:
    """Also where its tokens do not divide by them, so that any number of devices shares it; none of them waits."""
    tokens = parts * int(lengths.max()) + spare
    whole, cut = DocumentStream(lengths, 0, tokens), DocumentStream(lengths, 0, tokens, parts)
    for step in range(4):
        batches = [cut.batch(k)[0] for k in range(step * parts, (step + 1) * parts)]
        assert min(map(len, batches)) > 0
        assert np.concatenate(batches).tolist() == whole.batch(step)[0].tolist()


def test_passes_and_seeds_have_their_own_order() -> None:
    lengths = np.full(50, 10)
    first, second = (DocumentStream(lengths, seed, 500) for seed in (1, 2))
    orders = [first.batch(0)[0], first.batch(1)[0], second.batch(0)[0]]
    assert [sorted(order) for order in orders] == [list(range(50))] * 3
    assert len({tuple(order) for order in orders}) == 3


def test_a_document_longer_than_a_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="micro-batches of 19 tokens"):
        DocumentStream(np.array([5, 20]), 0, 19)
    with pytest.raises(ValueError, match="longest document"):
        DocumentStream(np.array([], np.int64), 0, 19)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        *(({"steps": 7}, 7), ({"steps": 0}, 0), ({"tokens": 0}, 0), ({"passes": 0.0}, 0)),
        *(({"tokens": 1}, 1), ({"passes": 0.001}, 1)),  # something was asked for
        ({"tokens": 1_000_000}, 977),  # 976.56
        ({"passes": 2.5}, 24),  # 2.5 * 10,000 / 1,024 = 24.4
    ],
)
def test_optimizer_steps(budget: dict[str, float], expected: int) -> None:
    assert optimizer_steps(tiny_params.step(global_batch_tokens=1_024, **budget), 10_000) == expected
