"""How much each label counts in the loss."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from adaptbert.tasks.options import class_weights
from adaptbert.tasks.shapes import shape_of
from tests.support import tiny_tasks


def test_balanced_weights() -> None:
    targets = np.array([0, 0, 0, 1])
    assert class_weights.weights("balanced", ["a", "b"], targets) == pytest.approx([4 / 6, 2.0])
    several = np.array([[1, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1]], np.float32)
    assert class_weights.weights("balanced", ["a", "b", "c"], several) == [3.0, 1.0, 1.0]
    assert class_weights.weights({"b": 5.0, "a": 1.0}, ["a", "b"], targets) == [1.0, 5.0]


def loss(target: str, weights: list[float], scores: torch.Tensor, targets: torch.Tensor) -> float:
    shape = shape_of(tiny_tasks.described("single_sentence", target), tiny_tasks.options("single_sentence"), weights)
    batch: Any = SimpleNamespace(targets=targets)
    return float(shape.loss(scores, batch))


def test_the_loss_is_weighted() -> None:
    scores = torch.tensor([[1.0, -1.0], [0.5, 2.0], [0.0, 0.3]])
    each = functional.cross_entropy(scores, torch.tensor([0, 1, 0]), reduction="none")
    weighted = loss("class", [1.0, 3.0], scores, torch.tensor([0, 1, 0]))
    assert weighted == pytest.approx(float((each[0] + 3 * each[1] + each[2]) / 3))
    yes = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    logs = -(
        torch.tensor([2.0, 5.0]) * yes * functional.logsigmoid(scores) + (1 - yes) * functional.logsigmoid(-scores)
    )
    assert loss("labels", [2.0, 5.0], scores, yes) == pytest.approx(float(logs.mean()))
