"""How much each label counts in the loss."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from adaptbert.tasks.options import class_weights
from adaptbert.tasks.targets import MultiLabelHead, SingleLabelHead


def test_balanced_weights() -> None:
    targets = np.array([0, 0, 0, 1])
    assert class_weights.weights("balanced", ["a", "b"], targets) == pytest.approx([4 / 6, 2.0])
    several = np.array([[1, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1]], np.float32)
    assert class_weights.weights("balanced", ["a", "b", "c"], several) == [3.0, 1.0, 1.0]
    assert class_weights.weights({"b": 5.0, "a": 1.0}, ["a", "b"], targets) == [1.0, 5.0]


def test_the_loss_is_weighted() -> None:
    scores = torch.tensor([[1.0, -1.0], [0.5, 2.0], [0.0, 0.3]])
    each = functional.cross_entropy(scores, torch.tensor([0, 1, 0]), reduction="none")
    weighted = SingleLabelHead(["a", "b"], [1.0, 3.0]).loss(scores, torch.tensor([0, 1, 0]))
    assert float(weighted) == pytest.approx(float((each[0] + 3 * each[1] + each[2]) / 3))
    yes = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    logs = -(
        torch.tensor([2.0, 5.0]) * yes * functional.logsigmoid(scores) + (1 - yes) * functional.logsigmoid(-scores)
    )
    assert float(MultiLabelHead(["a", "b"], [2.0, 5.0]).loss(scores, yes)) == pytest.approx(float(logs.mean()))
