"""Class weights of the loss, from params."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.config.schema.finetuning import ClassWeights
from adaptbert.config.schema.section import Contradiction
from adaptbert.data.cleaning import spelled


def check(requested: ClassWeights | None, classes: Sequence[str]) -> None:
    """Refuse weights that do not fit the labels of a task.

    Raises:
        Contradiction: they are of other labels.
    """
    if isinstance(requested, Mapping) and set(requested) != set(classes):
        weighed, labels = (", ".join(map(spelled, sorted(names))) for names in (requested, classes))
        problem = f"class_weights of {weighed}, but the labels are {labels}"
        raise Contradiction(problem, "give `balanced`, or each label its weight")


def weights(requested: ClassWeights, classes: Sequence[str], targets: NDArray[Any]) -> list[float]:
    """The weight of each class, in their order.

    `balanced` gives every class the same total weight: n / (classes * n of the class). For multi-label it is the weight
    of the positive rows: (n without the label) / (n with it). A label that no row or every row has gets the weight 1.

    Args:
        targets: numbers of the classes, (examples,); for multi-label 0 and 1, (examples, classes).
    """
    if isinstance(requested, Mapping):
        return [requested[name] for name in classes]
    if targets.ndim == 1:
        counts = np.bincount(targets, minlength=len(classes))
        balanced = len(targets) / (len(classes) * np.maximum(counts, 1))
    else:
        counts = targets.sum(0)
        balanced = (len(targets) - counts) / np.maximum(counts, 1)
    weights_or_1: list[float] = np.where((counts == 0) | (balanced == 0), 1.0, balanced).tolist()
    return weights_or_1
