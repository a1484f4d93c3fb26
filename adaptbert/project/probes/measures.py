"""What is measured on vectors: a linear probe, the likeness of two layers, translations found by nearest vectors."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adaptbert.finetuning.metrics.scores import classification_metrics

Floats = NDArray[np.floating]

STRENGTH = 0.1
"""Inverse strength of the L2 penalty of a probe, on features of unit variance. One for all rungs and layers: a choice
for each would be a search, and a probe is to be weak (Hewitt and Liang 2019, arXiv 1909.03368, section 4)."""


def probe(train: Floats, gold: Sequence[str], dev: Floats, answers: Sequence[str], metric: str) -> float:
    """Score on `dev` of a logistic regression that is fitted on frozen vectors (Alain and Bengio 2017, arXiv
    1610.01644).

    Args:
        train, dev: (rows, hidden).
        gold, answers: their labels.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fitted = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=5000)).fit(train, list(gold))
    return classification_metrics(answers, list(fitted.predict(dev)))[metric]


def likeness(some: Floats, others: Floats) -> float:
    """Linear CKA of two sets of vectors of the same rows (Kornblith et al. 2019, arXiv 1905.00414, section 3), by the
    unbiased estimator of HSIC (Song et al. 2012, equation 5): with the usual one unlike vectors look alike where there
    are few rows.

    Args:
        some, others: (rows, hidden); four rows or more.

    Returns:
        1 for vectors that are alike but for rotation and scale, about 0 for unrelated ones; NaN where all vectors of
        one set are equal.
    """
    one, two = (_kernel(np.asarray(vectors, np.float64)) for vectors in (some, others))
    own = _hsic(one, one) * _hsic(two, two)
    return float(_hsic(one, two) / np.sqrt(own)) if own > 0 else float("nan")


def _kernel(vectors: Floats) -> Floats:
    centred = vectors - vectors.mean(0)
    kernel = centred @ centred.T
    np.fill_diagonal(kernel, 0.0)
    return np.asarray(kernel)


def _hsic(one: Floats, two: Floats) -> float:
    count = len(one)
    sums = one.sum() * two.sum() / ((count - 1) * (count - 2)) - 2 * (one.sum(0) @ two.sum(0)) / (count - 2)
    return float(((one * two).sum() + sums) / (count * (count - 3)))


def reciprocal_rank(words: Floats, translations: Floats) -> float:
    """Mean reciprocal rank of the right translation among all, by cosine, both ways (Liu et al. 2020, arXiv
    2004.09205).

    Args:
        words, translations: (pairs, hidden); row i of one translates row i of the other.
    """
    one, two = (
        vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        for vectors in (np.asarray(words, np.float64), np.asarray(translations, np.float64))
    )
    cosines = one @ two.T
    right = np.diag(cosines)
    # Ties count against the right one, so that equal vectors of all words find nothing.
    ranks = [(cosines >= right[:, None]).sum(1), (cosines >= right[None, :]).sum(0)]
    return float(np.mean([(1.0 / rank).mean() for rank in ranks]))


def by_chance(pairs: int) -> float:
    """The expected mean reciprocal rank of a random order."""
    return float((1.0 / np.arange(1, pairs + 1)).mean())


def without_mean(vectors: Floats) -> Floats:
    """Each language has a vector of its own in the mean of all its words; without it the meaning is left (Libovický et
    al. 2020, arXiv 2004.05160)."""
    return np.asarray(vectors - vectors.mean(0))
