"""Pickled weights: no code of a pickle runs, and what holds no tensors or is damaged is refused."""

import pickle
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.public_checkpoints import BIN, Runs, brought, refused, whole


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize("place", ["among tensors", "alone"])
def test_code_in_a_pickle_is_not_run(place: str, legacy: bool) -> None:
    content: Any = {**whole(), "bert.extra": Runs()} if place == "among tensors" else Runs()
    torch.save(content, BIN, _use_new_zipfile_serialization=not legacy)
    assert refused() == (
        "AB-119 source/pytorch_model.bin: the pickle holds more than tensors, it names posix.system: nothing of it was "
        "run, nothing was written\n"
        "  do not open this file with other programs, which would run it; take the model from its authors"
    )
    assert not Path("ran").exists()
    torch.load(BIN, weights_only=False)
    assert Path("ran").exists(), "the file is what this test takes it for"


def test_objects_in_a_pickle_are_not_made() -> None:
    torch.save({**whole(), "args": Namespace(lr=1)}, BIN)
    assert refused().startswith("AB-119 source/pytorch_model.bin: the pickle holds more than tensors, it names argp")


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02cbuiltins\neval\nX\x14\x00\x00\x00open('ran', 'w').id()\x85R.",
        *(pickle.dumps({"a": 1, "x": Runs()}, protocol) for protocol in range(6)),
        pickle.dumps(Runs(), 2) + b"more",
    ],
)
def test_code_in_a_pickle_of_another_program_is_not_run(content: bytes) -> None:
    Path(BIN).write_bytes(content)
    assert refused().startswith(("AB-119 source/pytorch_model.bin: ", "AB-124 source/pytorch_model.bin: "))
    assert not Path("ran").exists()


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
def test_what_stands_beside_the_tensors_is_no_hindrance(legacy: bool) -> None:
    torch.save({**whole(), "epoch": 3, "words": ["a"]}, BIN, _use_new_zipfile_serialization=not legacy)
    assert "in the weights but not used: epoch, words\n" in brought("source")


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.99, 0.99999])
def test_a_pickle_that_is_cut(share: float, legacy: bool) -> None:
    torch.save(whole(), BIN, _use_new_zipfile_serialization=not legacy)
    content = Path(BIN).read_bytes()
    Path(BIN).write_bytes(content[: int(len(content) * share)])
    message = refused()
    assert message.startswith("AB-124 source/pytorch_model.bin: cannot be read: ")
    assert message.endswith("\n  copy the whole checkpoint again")
    assert "weights_only" not in message


@pytest.mark.parametrize("content", [b"<html>Sign in</html>", b"PK\x03\x04" + bytes(100), b"\x80\x04\x95" + bytes(9)])
def test_bytes_of_another_kind(content: bytes) -> None:
    Path(BIN).write_bytes(content)
    assert refused().startswith("AB-124 source/pytorch_model.bin: cannot be read: ")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
def test_a_pointer_of_git_lfs(name: str) -> None:
    Path("source", name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 409\n")
    assert refused() == (
        f"AB-124 source/{name}: a pointer of Git LFS, not the weights themselves\n"
        "  run `git lfs pull` in its folder, or download the file"
    )


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ({"model": {}, "epoch": 3}, "dict"),
        ({"state_dict": {"a": torch.ones(2)}, "epoch": 3}, "dict with state_dict inside"),
        ([torch.ones(2)], "list"),
        (torch.ones(2), "Tensor"),
    ],
)
def test_a_file_without_tensors_by_name(content: Any, shown: str) -> None:
    torch.save(content, BIN)
    assert refused() == (
        f"AB-132 source/pytorch_model.bin: holds no tensors by name; found a {shown}\n"
        "  take the file of the model alone, as `model.save_pretrained` writes it"
    )


def test_integers_alone() -> None:
    torch.save({name: tensor.to(torch.int8) for name, tensor in whole().items()}, BIN)
    assert "AB-132 source/pytorch_model.bin: bert.embeddings.word_embeddings.weight holds int8: the w" in refused()
