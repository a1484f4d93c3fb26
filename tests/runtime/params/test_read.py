"""params.yaml is read as DVC reads it; what stands in its place is named."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from adaptbert.errors import BadParams, UserError
from adaptbert.runtime.params import params_file as params


def test_numbers_are_read_as_dvc_reads_them(tmp_path: Path) -> None:
    """YAML 1.2: what PyYAML takes for text, octal, a boolean or seconds (101, 102)."""
    path = tmp_path / "params.yaml"
    path.write_text("a: 1e-5\nb: 1e5\nc: 012\nd: no\ne: 12:30:45\nf: 1_000\n")
    assert params.read(path) == {"a": 1e-5, "b": 1e5, "c": 12, "d": "no", "e": "12:30:45", "f": 1000}


def test_anchors_and_merge_keys_are_expanded(tmp_path: Path) -> None:
    """104."""
    path = tmp_path / "params.yaml"
    path.write_text("a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n")
    assert params.read(path)["b"] == {"x": 1, "y": 2}


def test_a_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"AB-108 .*file not found\n  run `adaptbert use demo`"):
        params.read(tmp_path / "params.yaml")


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
