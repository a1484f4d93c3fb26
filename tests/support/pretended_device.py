"""A device that is pretended on a processor: documents without rows, and CUDA graphs that run what was recorded."""

import contextlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from adaptbert.model import attention
from adaptbert.model.attention import Attention
from adaptbert.training import graphs


class Recorded:
    """Stands for a CUDA graph: a replay runs the function that was recorded."""

    pool = None

    def __init__(self, function: Callable[[], Tensor], pool: Any) -> None:
        self._function = function

    def replay(self) -> Tensor:
        return self._function()


def flat(
    self: Attention, query: Tensor, key: Tensor, value: Tensor, rate: float, scale: float, window: int | None
) -> Tensor:
    """Attention within each document, (tokens, heads, size); without windows."""
    ends = self._bounds.tolist()
    parts = [
        functional.scaled_dot_product_attention(
            *(part[begin:end].transpose(0, 1) for part in (query, key, value)), dropout_p=rate, scale=scale
        ).transpose(0, 1)
        for begin, end in pairwise(ends)
        if end > begin
    ]
    return torch.cat(parts)


def without_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are laid out as on a CUDA device."""
    monkeypatch.setattr(attention, "flash_fits", lambda *_: True)
    monkeypatch.setattr("adaptbert.model.encoder.flash_fits", lambda *_: True)
    monkeypatch.setattr(Attention, "_flat", flat)


def without_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch has no rules for it on the device `meta`; the encoder asks for its type, and casts by itself."""
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda _: True)
    monkeypatch.setattr(torch, "get_autocast_dtype", lambda _: torch.bfloat16)


def with_graphs(monkeypatch: pytest.MonkeyPatch, kind: Any = Recorded) -> None:
    """Steps are replayed as on a CUDA device."""
    without_rows(monkeypatch)
    monkeypatch.setattr(graphs, "are_used", lambda: True)
    monkeypatch.setattr(graphs, "Graph", kind)
