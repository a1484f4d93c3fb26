"""params.yaml is read as DVC reads it; what stands in its place is named."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from adaptbert.errors import BadParams
from adaptbert.runtime.params import params_file as params


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Path.mkdir, "a folder, not a file\n  move it away, then run `adaptbert use demo` to write one"),
        (os.mkfifo, "a pipe, a socket or a device, not a file\n  move it away"),
        (lambda path: path.symlink_to("there.yaml"), "a link to there.yaml, which is not there\n  remove it, then run"),
        (lambda _: None, "file not found\n  run `adaptbert use demo` to write one"),
    ],
)
def test_what_stands_in_place_of_the_file(tmp_path: Path, make: Callable[[Path], object], words: str) -> None:
    make(tmp_path / "params.yaml")
    with pytest.raises(BadParams) as caught:
        params.read(tmp_path / "params.yaml")
    assert str(caught.value).startswith(f"AB-108 {tmp_path}/params.yaml: {words}")
