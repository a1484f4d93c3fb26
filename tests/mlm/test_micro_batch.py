"""Tokens of a forward pass: on a CPU as ever, on one pretended GPU as many as its memory holds."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import BertConfig

from adaptbert.mlm.micro_batch import micro_batch
from tests.support import tiny_params

GIB = 2**30
LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096}


def tokens(config: dict[str, Any], **values: Any) -> int:
    """Of a step with the usual batches of a checkpoint."""
    params = {"global_batch_tokens": 32_768, "micro_batch_tokens": None, "precision": "bf16-mixed", **values}
    return micro_batch(tiny_params.step(**params), SimpleNamespace(**{**BertConfig().to_dict(), **config}))


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretends that there are so many devices of so many GiB."""

    def pretend(count: int, gib: float) -> None:
        properties = SimpleNamespace(total_memory=int(gib * GIB))
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)

    return pretend


def test_on_a_cpu_it_is_as_ever() -> None:
    assert tokens({}) == 16_384
    assert tokens({}, global_batch_tokens=1024) == 1024
    assert tokens({}, global_batch_tokens=40_000) == 10_000, "the largest of equal parts"


@pytest.mark.parametrize(
    ("gib", "config", "values", "expected"),
    [
        (139, {}, {}, 32_768),
        (24, {}, {}, 16_384),
        (8, {}, {}, 16_384),  # as it was before anybody counted
        (80, {}, {"global_batch_tokens": 262_144}, 65_536),
        (80, {}, {"precision": "32-true"}, 32_768),
        (40, {}, {"precision": "32-true"}, 16_384),
        (80, LARGE, {}, 16_384),
        (139, LARGE, {}, 32_768),
        (139, {}, {"micro_batch_tokens": 4_096}, 4_096),
        (139, {"model_type": "roberta"}, {}, 16_384),
    ],
)
def test_on_one_gpu_it_is_what_fits(
    gpus: Any, gib: float, config: dict[str, Any], values: dict[str, Any], expected: int
) -> None:
    gpus(1, gib)
    assert tokens(config, **values) == expected
