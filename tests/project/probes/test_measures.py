"""Probes, likeness and reciprocal ranks on vectors whose answer is known."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from adaptbert.project.probes.layer_vectors import LayerVectors
from adaptbert.project.probes.lexicon import alignments
from adaptbert.project.probes.measures import by_chance, likeness, probe, reciprocal_rank, without_mean

Floats = NDArray[np.float64]


def drawn(rows: int, hidden: int, seed: int) -> Floats:
    return np.random.default_rng(seed).normal(size=(rows, hidden))


def test_a_probe_finds_what_is_linear_in_the_vectors_and_nothing_else() -> None:
    train, dev = drawn(400, 8, 1), drawn(400, 8, 2)

    def gold(vectors: Floats) -> list[str]:
        return ["up" if row[0] > 0 else "down" for row in vectors]

    assert probe(train, gold(train), dev, gold(dev), "f1_macro") > 0.95
    assert probe(train[:, 1:], gold(train), dev[:, 1:], gold(dev), "f1_macro") == pytest.approx(0.5, abs=0.08)
    scaled = train * 1e-3, dev * 1e-3
    assert probe(scaled[0], gold(train), scaled[1], gold(dev), "f1_macro") > 0.95, "the scale of a layer is no matter"


def test_likeness_is_1_for_a_rotation_and_near_0_for_unrelated_vectors() -> None:
    vectors = drawn(60, 32, 1)
    rotation, _ = np.linalg.qr(drawn(32, 32, 2))
    assert likeness(vectors, 3.0 * vectors @ rotation + 5.0) == pytest.approx(1.0)
    unrelated = [likeness(drawn(60, 32, seed), drawn(60, 32, seed + 100)) for seed in range(20)]
    assert abs(float(np.mean(unrelated))) < 0.02, "unbiased, although there are hardly more rows than dimensions"
    assert math.isnan(likeness(np.ones((60, 4)), vectors))


def test_likeness_falls_with_noise() -> None:
    vectors = drawn(200, 16, 1)
    noisy = [likeness(vectors, vectors + noise * drawn(200, 16, 2)) for noise in (0.0, 0.5, 1.0, 2.0)]
    assert all(one > two for one, two in pairwise(noisy))


def test_reciprocal_ranks() -> None:
    words = drawn(200, 64, 1)
    assert reciprocal_rank(words, words) == 1.0
    chance = [reciprocal_rank(drawn(200, 64, seed), drawn(200, 64, seed + 100)) for seed in range(20)]
    assert float(np.mean(chance)) == pytest.approx(by_chance(200), rel=0.2)
    assert reciprocal_rank(np.ones((200, 4)), np.ones((200, 4))) == pytest.approx(1 / 200), "ties find nothing"
    second = np.eye(10)[[1, 0, *range(2, 10)]] * 1.01 + np.eye(10)
    assert reciprocal_rank(np.eye(10), second) == pytest.approx((2 * 0.5 + 8) / 10), "two of ten come second"


def test_without_the_means_of_two_languages_translations_are_found() -> None:
    meaning = drawn(100, 32, 1)
    english, chinese = meaning + 0.3 * drawn(100, 32, 2), meaning + 0.3 * drawn(100, 32, 3)
    chinese = chinese + 40.0 * drawn(1, 32, 4)
    assert reciprocal_rank(english, chinese) < 0.6
    assert reciprocal_rank(without_mean(english), without_mean(chinese)) > 0.9
    one, two = (
        LayerVectors(np.stack([each, each]), np.stack([each, each]).astype(np.float32), each.astype(np.float32))
        for each in (english.astype(np.float32), chinese.astype(np.float32))
    )
    layers = alignments(one, two)
    assert len(layers) == 3, "two layers and the static vectors"
    for layer in layers:
        assert layer.plain < 0.6
        assert min(layer.centred, layer.shifted) > 0.9
