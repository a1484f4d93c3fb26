"""Processors with and without fast bfloat16: what `precision: auto` measures is replaced."""

import pytest
import torch

from adaptbert.model import device
from adaptbert.model.device import Speeds

ON_CPU = pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device decides by what it says of itself")
FAST, SLOW = Speeds(2e11, 1e11), Speeds(3e10, 1e11)


def processor(monkeypatch: pytest.MonkeyPatch, measurement: Speeds) -> None:
    """Replace the measurement."""
    monkeypatch.setattr(device, "speeds", lambda: measurement)
