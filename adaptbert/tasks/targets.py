"""Heads for sentences and pairs: single-label and multi-label classification, and regression.

A head encodes the targets of rows, and computes loss and answers from scores. Its input is defined by the task type.
SingleLabelHead says what each method does; `classes` has their names in the order of their numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.base.task_types import Target
from adaptbert.data.task_description import TaskDescription

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Float64 = NDArray[np.float64]
Row = Mapping[str, Any]
Weights = Sequence[float] | None
HALF = 0.5
FOLDED = (-1.0, 1.0)
"""The range of a regression target whose unit was folded into the weights."""


class ClassWeights:
    """Factors of the classes in the loss; put on each device once, because a GPU would wait for a copy in every step.

    Args:
        values: in the order of the classes.
    """

    def __init__(self, values: Sequence[float]) -> None:
        self._values = values
        self._placed: dict[torch.device, Tensor] = {}

    def on(self, device: "torch.device") -> "Tensor":
        """(classes,), float32."""
        import torch

        if device not in self._placed:
            self._placed[device] = torch.tensor(self._values, dtype=torch.float32).to(device)
        return self._placed[device]


class SingleLabelHead:
    """Single-label classification: softmax and cross-entropy; the confidence is the probability of the label.

    Args:
        weights: of the labels, factors of the loss of a row with that label; None: all 1.
    """

    def __init__(self, labels: Sequence[str], weights: Weights = None) -> None:
        self.classes, self._weights = list(labels), None if weights is None else ClassWeights(weights)

    def config(self) -> dict[str, Any]:
        """The keys of the head in the Hugging Face config."""
        return named(self.classes) | {"problem_type": "single_label_classification"}

    def head(self, model: Any, vectors: "Tensor") -> "Tensor":
        """Scores, (vectors, classes or 1)."""
        return _linear(model, vectors)

    def fold_scale(self, model: Any) -> "SingleLabelHead":
        """After training: move the scale of the targets into the weights, so that the saved model needs no
        rescaling."""
        return self

    def targets(self, rows: Sequence[Row]) -> NDArray[Any]:
        """Of rows, (rows,) or (rows, classes)."""
        number = {label: number for number, label in enumerate(self.classes)}
        return np.array([number[row["label"]] for row in rows], np.int64)

    def loss(self, scores: "Tensor", targets: "Tensor") -> "Tensor":
        """Mean over the rows."""
        return cross_entropy(scores, targets, None if self._weights is None else self._weights.on(scores.device))

    def log_probabilities(self, scores: "Tensor") -> "Tensor":
        """Of all outcomes of each decision, in any layout."""
        return scores.float().log_softmax(-1)

    def answers(self, scores: Float64) -> tuple[list[str], Float64]:
        """The answer to each row, and its confidence."""
        probabilities = self.probabilities(scores)
        return [self.classes[number] for number in probabilities.argmax(-1)], probabilities.max(-1)

    def probabilities(self, scores: Float64) -> Float64:
        """Of each class, (rows, classes)."""
        return softmax(scores)


class MultiLabelHead:
    """Multi-label classification, also without any label: a sigmoid and binary cross-entropy for each label.

    A label is predicted when its probability is above 0.5; the confidence is that of the least confident decision.

    Args:
        weights: of the labels, factors of the loss where the row has the label; None: all 1.
    """

    def __init__(self, labels: Sequence[str], weights: Weights = None) -> None:
        self.classes, self._weights = list(labels), None if weights is None else ClassWeights(weights)

    def config(self) -> dict[str, Any]:
        return named(self.classes) | {"problem_type": "multi_label_classification"}

    def head(self, model: Any, vectors: "Tensor") -> "Tensor":
        return _linear(model, vectors)

    def fold_scale(self, model: Any) -> "MultiLabelHead":
        return self

    def targets(self, rows: Sequence[Row]) -> NDArray[Any]:
        return np.array([[label in row["labels"] for label in self.classes] for row in rows], np.float32)

    def loss(self, scores: "Tensor", targets: "Tensor") -> "Tensor":
        from torch.nn import functional

        weights = None if self._weights is None else self._weights.on(scores.device)
        return functional.binary_cross_entropy_with_logits(scores.float(), targets, pos_weight=weights)

    def log_probabilities(self, scores: "Tensor") -> "Tensor":
        import torch
        from torch.nn import functional

        return torch.stack([functional.logsigmoid(scores.float()), functional.logsigmoid(-scores.float())])

    def answers(self, scores: Float64) -> tuple[list[list[str]], Float64]:
        yes = self.probabilities(scores)
        chosen = [[label for label, sure in zip(self.classes, row, strict=True) if sure > HALF] for row in yes]
        return [sorted(labels) for labels in chosen], np.maximum(yes, 1 - yes).min(-1)

    def probabilities(self, scores: Float64) -> Float64:
        from scipy.special import expit

        probabilities: Float64 = expit(scores)
        return probabilities


class RegressionHead:
    """Regression: squared error, without confidence.

    The head is trained on values scaled to -1 to 1; `fold_scale` moves the scale into its weights, so that the saved
    model predicts in the unit of the targets.

    Args:
        low, high: of the training values; `FOLDED` for a model that is trained.
    """

    def __init__(self, low: float, high: float) -> None:
        self.classes: list[str] = []
        self._middle, self._half = (low + high) / 2, (high - low) / 2 or 1.0

    def config(self) -> dict[str, Any]:
        return {"num_labels": 1, "problem_type": "regression"}

    def head(self, model: Any, vectors: "Tensor") -> "Tensor":
        import torch

        # bfloat16 has three significant digits, too few for regression.
        with torch.autocast(vectors.device.type, enabled=False):
            return _linear(model, vectors.float()) * self._half + self._middle

    def fold_scale(self, model: Any) -> "RegressionHead":
        import torch

        with torch.no_grad():
            model.classifier.weight.mul_(self._half)
            model.classifier.bias.mul_(self._half).add_(self._middle)
        return RegressionHead(*FOLDED)

    def targets(self, rows: Sequence[Row]) -> NDArray[Any]:
        return np.array([row["value"] for row in rows], np.float32)

    def loss(self, scores: "Tensor", targets: "Tensor") -> "Tensor":
        error: Tensor = (scores[:, 0] - targets) / self._half
        return error.square().mean()

    def log_probabilities(self, scores: "Tensor") -> "Tensor":
        raise TypeError("regression has no distribution")

    def answers(self, scores: Float64) -> tuple[list[float], Float64]:
        return scores[:, 0].tolist(), np.full(len(scores), np.nan)

    def probabilities(self, scores: Float64) -> Float64:
        return np.empty((len(scores), 0))


Head = SingleLabelHead | MultiLabelHead | RegressionHead


def _regression(task: TaskDescription, weights: Weights) -> Head:
    assert task.range is not None, "a regression task has a range"
    low, high = task.range
    assert low is not None, "validation refuses sets without rows"
    assert high is not None
    return RegressionHead(low, high)


HEADS: Mapping[Target, Callable[[TaskDescription, Weights], Head]] = {
    "class": lambda task, weights: SingleLabelHead(task.labels, weights),
    "labels": lambda task, weights: MultiLabelHead(task.labels, weights),
    "number": _regression,
}
"""Target of sentences and pairs -> its head, for a task and the weights of its labels. Other task types have one head
for all their targets."""


def named(classes: Sequence[str]) -> dict[str, Any]:
    """Classes as a Hugging Face config names them."""
    numbers = dict(enumerate(classes))
    return {
        "num_labels": len(numbers),
        "id2label": numbers,
        "label2id": {name: number for number, name in numbers.items()},
    }


def cross_entropy(scores: "Tensor", targets: "Tensor", weights: "Tensor | None" = None) -> "Tensor":
    """The mean, and 0 for a batch without targets.

    Args:
        weights: of the classes, (classes,). The sum is divided by the number of targets, not by their weights, so that
            the mean over micro-batches of one size is the loss of their batch, whatever their classes.
    """
    from torch.nn import functional

    total = functional.cross_entropy(scores.float(), targets, weight=weights, reduction="sum")
    return total / max(1, len(targets))


def softmax(scores: Float64) -> Float64:
    """Probabilities of the classes, the last axis."""
    import torch

    probabilities: Float64 = torch.softmax(torch.from_numpy(scores), -1).numpy()
    return probabilities


def _linear(model: Any, vectors: "Tensor") -> "Tensor":
    scores: Tensor = model.classifier(vectors)
    return scores
