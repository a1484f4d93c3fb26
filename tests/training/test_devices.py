"""How many devices share a run, and which micro-batches each of them reads; no process is started but in slow tests."""

import pickle
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from torch import Tensor

from adaptbert.errors import BadParams
from adaptbert.training import distributed as ranks
from adaptbert.training.distributed import RankLost, Ranks
from tests.support import tiny
from tests.support.short_runs import masked_batches


def test_how_many_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ranks.VARIABLE, raising=False)
    assert ranks.count(4) == 1, "on a CPU"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    assert [ranks.count(number) for number in (1, 4, 6, 8, 12, 16)] == [1, 4, 6, 8, 6, 8]
    assert ranks.idle_devices(12).startswith("uses 6 of 8 devices: 8 cannot share the 12 micro-batches of an optimizer")
    assert ranks.idle_devices(16) == ""
    monkeypatch.setenv(ranks.VARIABLE, "2")
    assert ranks.count(4) == 2
    assert ranks.idle_devices(4) == "", "as was asked for"
    with pytest.raises(BadParams, match="AB-171 ADAPTBERT_DEVICES: 2 devices cannot share the 3 micro-batches"):
        ranks.count(3)
    monkeypatch.setenv(ranks.VARIABLE, "9")
    with pytest.raises(BadParams, match="AB-171 ADAPTBERT_DEVICES: 9 devices, there are 8\n  lower it to 8"):
        ranks.count(9)
    for wrong in ("0", "two", "-1"):
        monkeypatch.setenv(ranks.VARIABLE, wrong)
        with pytest.raises(BadParams, match=f"expected a number of devices, found '{wrong}'"):
            ranks.count(2)


def test_pickled_batches_are_small(tmp_path: Path) -> None:
    """A corpus goes to another process by its name, not by its tokens; what arrives reads the same."""
    large = tiny.corpus(tmp_path / "large", "domain", 3000)
    mixed = large.mixed_with(tiny.corpus(tmp_path / "other", "general", 300), 0.1, 0)
    batch = masked_batches(mixed, 150)
    batch(0)
    text = pickle.dumps(batch)
    assert len(text) < 32 * len(mixed.lengths) + 20_000, "some numbers a document, and no token"
    assert len(text) < mixed.tokens * 3
    for k in (0, 7, 2000):
        here, there = batch(k), pickle.loads(text)(k)  # noqa: S301 - our own, from above
        assert torch.equal(here.ids, there.ids)
        assert torch.equal(here.chosen, there.chosen)


def test_one_device_starts_no_process() -> None:
    with ranks.started(1, fail) as group:
        assert group == Ranks(0, 1)
        tensor = torch.tensor([np.pi])
        group.mean([tensor])
        assert group.share("held") == "held"
        assert group.total({"tokens": 3}) == {"tokens": 3}
    assert tensor == torch.tensor([np.pi])


def fail(rank: int, world: int, store: str) -> None:
    sys.exit(3)


@pytest.mark.slow
def test_a_rank_that_does_not_even_start() -> None:
    with pytest.raises(RankLost, match="AB-180 rank 1: ended with 3"), ranks.started(2, fail):
        pytest.fail("it is not there")


# The mean of gradients, by the bits


WORLD = 3


def tensors(rank: int) -> list[Tensor]:
    """Of several shapes, one of them not contiguous."""
    torch.manual_seed(rank)
    return [torch.randn(5, 7), torch.randn(()), torch.randn(11, 4).t(), torch.randn(6)]


def test_a_cpu_divides_the_sum() -> None:
    """As gloo adds: in one tensor, in the order of ranks."""
    others = [torch.cat([tensor.flatten() for tensor in tensors(rank)]) for rank in range(1, WORLD)]

    def add(flat: Tensor) -> None:
        for other in others:
            flat += other

    own = tensors(0)
    expected = [
        sum((tensors(rank)[number] for rank in range(1, WORLD)), tensor) / WORLD for number, tensor in enumerate(own)
    ]
    with mock.patch("torch.distributed.all_reduce", side_effect=add):
        Ranks(0, WORLD).mean(own)
    for actual, each in zip(own, expected, strict=True):
        assert torch.equal(actual, each)
    assert own[2].stride() == tensors(0)[2].stride(), "in place"
