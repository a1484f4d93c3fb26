"""Pickled weights: no code of a pickle runs, and what holds no tensors is refused."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.public_checkpoints import (
    BIN,
    Runs,
    refused,
    whole,
)


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize("place", ["among tensors", "alone"])
@pytest.mark.usefixtures("source")
def test_code_in_a_pickle_is_not_run(place: str, legacy: bool) -> None:
    content: Any = {**whole(), "bert.extra": Runs()} if place == "among tensors" else Runs()
    torch.save(content, BIN, _use_new_zipfile_serialization=not legacy)
    assert refused() == (
        "AB-201 source/pytorch_model.bin: the pickle holds more than tensors, it names posix.system: nothing of it was "
        "run, nothing was written\n"
        "  do not open this file with other programs, which would run it; take the model from its authors"
    )
    assert not Path("ran").exists()
    torch.load(BIN, weights_only=False)
    assert Path("ran").exists(), "the file is what this test takes it for"


@pytest.mark.usefixtures("source")
def test_objects_in_a_pickle_are_not_made() -> None:
    torch.save({**whole(), "args": Namespace(lr=1)}, BIN)
    assert refused().startswith(
        "AB-201 source/pytorch_model.bin: the pickle holds more than tensors, it names argparse."
    )


@pytest.mark.usefixtures("source")
def test_eval_by_a_known_name_is_not_run() -> None:
    Path(BIN).write_bytes(b"\x80\x02cbuiltins\neval\nX\x14\x00\x00\x00open('ran', 'w').id()\x85R.")
    assert refused().startswith("AB-201 source/pytorch_model.bin: the pickle holds more than tensors, it names eval: ")
    assert not Path("ran").exists()


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.7, 0.99, 0.99999])
@pytest.mark.usefixtures("source")
def test_a_pickle_that_is_cut(share: float, legacy: bool) -> None:
    torch.save(whole(), BIN, _use_new_zipfile_serialization=not legacy)
    content = Path(BIN).read_bytes()
    Path(BIN).write_bytes(content[: int(len(content) * share)])
    message = refused()
    assert message.startswith("AB-124 source/pytorch_model.bin: cannot be read: ")
    assert message.endswith("\n  copy the whole checkpoint again")
    assert "weights_only" not in message


@pytest.mark.parametrize("content", [b"<html>Sign in</html>", b"PK\x03\x04" + bytes(100), b"\x80\x04\x95" + bytes(9)])
@pytest.mark.usefixtures("source")
def test_bytes_of_another_kind(content: bytes) -> None:
    Path(BIN).write_bytes(content)
    assert refused().startswith("AB-124 source/pytorch_model.bin: cannot be read: ")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
@pytest.mark.usefixtures("source")
def test_a_pointer_of_git_lfs(name: str) -> None:
    Path("source", name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 409\n")
    assert refused() == (
        f"AB-124 source/{name}: a pointer of Git LFS, not the weights themselves\n"
        "  run `git lfs pull` in its folder, or download the file"
    )


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ({"model": {}, "optimizer": {}, "epoch": 3}, "model, optimizer, epoch"),
        ({}, "nothing"),
        ([torch.ones(2)], "a list"),
        (torch.ones(2), "a Tensor"),
    ],
)
@pytest.mark.usefixtures("source")
def test_a_file_without_tensors_by_name(content: Any, shown: str) -> None:
    torch.save(content, BIN)
    assert refused() == (
        f"AB-133 source/pytorch_model.bin: holds no tensors by name; found {shown}\n"
        "  take the file of the model alone, as `model.save_pretrained` writes it"
    )
