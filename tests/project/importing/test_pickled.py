"""Pickled weights: no code of a pickle runs, and what holds no tensors is refused."""

import pickle
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._C import PyTorchFileWriter

from tests.support.public_checkpoints import (
    BIN,
    Runs,
    brought,
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


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("end", [b"", b"cut or not"])
@pytest.mark.usefixtures("source")
def test_code_in_a_pickle_of_another_program_is_not_run(protocol: int, end: bytes) -> None:
    Path(BIN).write_bytes(pickle.dumps({"a": 1, "x": Runs()}, protocol) + end)
    assert refused().startswith(
        "AB-201 source/pytorch_model.bin: the pickle holds more than tensors, it names posix.system: nothing of it was "
    )
    assert not Path("ran").exists()


@pytest.mark.usefixtures("source")
def test_code_of_a_newer_protocol_in_a_file_of_torch_is_not_run() -> None:
    torch.save({**whole(), "x": Runs()}, BIN, pickle_protocol=4)
    assert refused().startswith("AB-201 source/pytorch_model.bin: the pickle holds more than tensors, it names posix.")
    assert not Path("ran").exists()


def doubled(end: bytes) -> bytes:
    """A pickle of protocol 2 in which `x = (x, x)` stands 60 times; `h<` is the last x."""
    twice = b"".join(b"h" + bytes([n]) + b"h" + bytes([n]) + b"\x86q" + bytes([n + 1]) for n in range(60))
    return b"\x80\x02K\x00\x85q\x00" + twice + end + b"."


LATE = b"".join(b"]q" + bytes([n]) for n in range(61)) + b"".join(
    b"h" + bytes([n]) + b"(h" + bytes([n - 1]) + b"h" + bytes([n - 1]) + b"e" for n in range(60, 0, -1)
)
"""Lists that refer to others before these have grown; `h<` is that of 2^60 values."""


@pytest.mark.parametrize("is_zip", [False, True])
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(doubled(b"}h<K\x01s"), id="a key"),
        pytest.param(doubled(b"ccollections\nOrderedDict\n](h<K\x01\x86e\x85R"), id="a pair"),
        pytest.param(b"\x80\x02" + LATE + b"h<)R.", id="a list that is called, and so printed"),
        pytest.param(b"\x80\x02]q\x00h\x00a.", id="a list in itself"),
        pytest.param(b"\x80\x02(" + b"N" * 2_000_000 + b"t.", id="very many"),
    ],
)
@pytest.mark.timeout(60, method="thread")
@pytest.mark.usefixtures("source")
def test_a_small_file_does_not_build_a_large_object(content: bytes, is_zip: bool) -> None:
    """To hash or print the first three would take centuries."""
    if is_zip:
        archive = PyTorchFileWriter(BIN)
        archive.write_record("data.pkl", content, len(content))
        archive.write_end_of_file()
    else:
        Path(BIN).write_bytes(content)
    message = refused()
    assert message.startswith("AB-201 source/pytorch_model.bin: the pickle holds more than tensors, it builds ")


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.usefixtures("source")
def test_what_stands_beside_the_tensors_is_no_hindrance(legacy: bool) -> None:
    shared = tuple(range(100))
    content = {**whole(), "args": [{"betas": shared}] * 100, "words": [f"word {number}" for number in range(100_000)]}
    torch.save(content, BIN, _use_new_zipfile_serialization=not legacy)
    assert "in the weights but not used: " in brought("source")


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
