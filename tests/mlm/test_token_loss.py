"""The loss in parts is the loss, and the scores of one part at a time are in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import BertForMaskedLM

from adaptbert.mlm import heldout_evaluation, token_loss
from adaptbert.mlm.token_loss import NO_ANSWER, summed_loss
from tests.support import tiny

POSITIONS, PART = 203, 16


class Largest(TorchDispatchMode):
    """The largest number of elements of a tensor that an operation in this block made."""

    elements = 0

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for each in made if isinstance(made, (tuple, list)) else [made]:
            if isinstance(each, torch.Tensor):
                self.elements = max(self.elements, each.numel())
        return made


def test_parts_give_the_same_loss_and_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    torch.manual_seed(0)
    model = BertForMaskedLM(tiny.config()).double()
    vocabulary, width = model.config.vocab_size, model.config.hidden_size
    hidden = torch.randn(POSITIONS, width, dtype=torch.float64, requires_grad=True)
    expected = torch.randint(vocabulary, (POSITIONS,)).masked_fill(torch.arange(POSITIONS) > 190, NO_ANSWER)
    read = [hidden, *model.cls.parameters()]

    def measured() -> tuple[torch.Tensor, tuple[torch.Tensor, ...], int]:
        with Largest() as largest:
            loss = summed_loss(model, hidden, expected)
            gradients = torch.autograd.grad(loss, read)
        return loss, gradients, largest.elements

    loss, gradients, largest = measured()
    assert largest == POSITIONS * vocabulary > max(parameter.numel() for parameter in read)
    monkeypatch.setattr(token_loss, "SCORES", PART * vocabulary + 1)
    in_parts, gradients_in_parts, largest = measured()
    assert largest < POSITIONS * vocabulary / 2
    torch.testing.assert_close(in_parts, loss, rtol=1e-13, atol=0)
    for one, other in zip(gradients_in_parts, gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-13 * float(other.abs().max()))


def test_batches_of_long_documents_are_small() -> None:
    assert [*map(len, heldout_evaluation.first_documents(np.full(300, 512), 10**9))] == [128, 128, 44]
    assert [*map(len, heldout_evaluation.first_documents(np.full(20, 8192), 10**9))] == [8, 8, 4]
