"""Classes that count more than others: the weights that params ask for, of the classes in their order."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adaptbert.base.task_types import Target
from adaptbert.rows.cleaning import spelled
from adaptbert.rows.targets import TARGETS

Weight = Annotated[float, Field(gt=0)]
ClassWeights = Literal["balanced"] | dict[str, Weight]


def problem(asked: ClassWeights, target: Target, classes: Sequence[str]) -> str | None:
    """Why these weights do not belong to a task, if they do not."""
    if TARGETS[target].classes != "row":
        return f"class_weights and target '{target}': only class and labels have classes to weigh"
    if asked == "balanced" or set(asked) == set(classes):
        return None
    weighed, labels = (", ".join(map(spelled, sorted(names))) for names in (asked, classes))
    return f"class_weights of {weighed}, but the labels are {labels}"


def weights(asked: ClassWeights, classes: Sequence[str], targets: NDArray[Any]) -> list[float]:
    """The weight of each class, in their order.

    `balanced` gives every class the same say, n / (classes * n of the class); and where each label is a yes or no, the
    weight of yes is (n of no) / (n of yes). What no training row has, or every one, has the weight 1.

    Args:
        targets: numbers of the classes, (examples,); for several labels 0 and 1, (examples, classes).
    """
    if isinstance(asked, Mapping):
        return [asked[name] for name in classes]
    if targets.ndim == 1:
        counts = np.bincount(targets, minlength=len(classes))
        balanced = len(targets) / (len(classes) * np.maximum(counts, 1))
    else:
        counts = targets.sum(0)
        balanced = (len(targets) - counts) / np.maximum(counts, 1)
    found: list[float] = np.where((counts == 0) | (balanced == 0), 1.0, balanced).tolist()
    return found
