"""Processors with and without fast bfloat16: what `precision: auto` measures is replaced."""

import pytest
import torch

from adaptbert.model import device

ON_CPU = pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device decides by what it says of itself")
FAST, SLOW = 2.0, 0.3
"""How many times as fast as float32 bfloat16 is."""


def processor(monkeypatch: pytest.MonkeyPatch, gain: float) -> None:
    """Replace the measurement."""
    monkeypatch.setattr(device, "bf16_gain", lambda: gain)
