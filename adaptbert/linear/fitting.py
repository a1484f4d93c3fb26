"""Features of labelled rows -> weights and bias of a linear model, by scikit-learn."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adaptbert.config.schema.task_types import ByTarget

Fit = Callable[[Any, Sequence[Any], float, int], tuple[list[str], Any, Any]]
"""Features, gold answers, strength and seed -> names, weights (scores, features) and bias of a linear model."""


def _logistic(train: Any, gold: Sequence[Any], strength: float, seed: int) -> Any:
    """Logistic regression by `newton-cg`: with more terms than rows `lbfgs` takes 15 times as long, for the vectors of
    its history, for 600 texts. At the usual tolerance, 1e-4, the last bit of a feature, which depends on the processor,
    moved the scores of 2,500 words by 0.08; at this one by 4e-6, in two to three times the time."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=strength, max_iter=5000, random_state=seed, solver="newton-cg", tol=1e-8)
    return model.fit(train, gold)


def _one_label(train: Any, gold: Sequence[str], strength: float, seed: int) -> tuple[list[str], Any, Any]:
    """Weights of each class; scikit-learn has those of the second alone where there are two."""
    model = _logistic(train, gold, strength, seed)
    names, none = model.classes_.tolist(), int(len(model.classes_) == 2)
    return names, np.pad(model.coef_, ((none, 0), (0, 0))), np.pad(model.intercept_, (none, 0))


def _multi_label(train: Any, gold: Sequence[Any], strength: float, seed: int) -> tuple[list[str], Any, Any]:
    """A model for each label that some rows have and others lack."""
    names = sorted({label for answer in gold for label in answer})
    weights, bias = np.zeros((len(names), train.shape[1])), np.full(len(names), np.inf)
    for number, name in enumerate(names):
        decided = [name in answer for answer in gold]
        if not all(decided):
            model = _logistic(train, decided, strength, seed)
            weights[number], bias[number] = model.coef_[0], model.intercept_[0]
    return names, weights, bias


def _ridge(train: Any, gold: Sequence[float], strength: float, seed: int) -> tuple[list[str], Any, Any]:
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=1 / strength, random_state=seed).fit(train, gold)
    return [], model.coef_[None], np.array([model.intercept_])


FITS: ByTarget[Fit] = ByTarget({"class": _one_label, "labels": _multi_label, "number": _ridge, "spans": _one_label})
