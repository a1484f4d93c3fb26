"""For all tests: one thread (the machine is shared), no network, nothing sent home; processes they start inherit it."""

import os

import pytest

from adaptbert.entry import QUIET

os.environ.update(QUIET)
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") is not None:
        import torch

        if not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")


@pytest.fixture
def save_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training saves its state after every optimizer step of this process, however long that takes."""
    monkeypatch.setenv("ADAPTBERT_SAVE_SECONDS", "0")
    monkeypatch.setattr("adaptbert.follower.SAVE_SHARE", 0)
