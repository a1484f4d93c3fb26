"""A model in evaluation: no dropout and no gradient, on the fastest device; afterwards as and where it was."""

from typing import Any

import pytest
import torch
from transformers import BertModel

from adaptbert.model import evaluation
from adaptbert.model.evaluation import evaluating
from tests.support import tiny


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_as_before(training: bool) -> None:
    model = BertModel(tiny.config()).train(training)
    with evaluating(model, "bf16-mixed"):
        assert not model.training
        assert not torch.is_grad_enabled()
        assert torch.is_autocast_enabled("cpu")
    assert model.training is training
    assert torch.is_grad_enabled()


class Placed(torch.nn.Linear):
    """Says where it is, and keeps the places that it was moved to."""

    def __init__(self, device: str) -> None:
        super().__init__(1, 1)
        self.device, self.moves = torch.device(device), list[str]()

    def to(self, *args: Any, **kwargs: Any) -> "Placed":
        self.device = torch.device(args[0])
        self.moves.append(self.device.type)
        return self


@pytest.mark.parametrize(("home", "fastest", "moves"), [("cpu", "mps", ["mps", "cpu"]), ("mps", "cpu", ["mps"])])
def test_outside_of_training_it_is_moved_there_and_back(
    home: str, fastest: str, moves: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In training it stays: the optimizer has its weights; of several devices it may be on another than the first."""
    monkeypatch.setattr(evaluation, "fastest_device", lambda: torch.device(fastest))
    model = Placed(home)

    def failing() -> None:
        with evaluating(model, "32-true"):
            assert model.device.type == "mps"
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert model.moves == moves
