"""What params.yaml names and nobody can read to its end: pipes, sockets and devices."""

import os
import socket
from pathlib import Path

import pytest

from adaptbert.errors import BadData
from adaptbert.project import named_files
from adaptbert.text.words import read_dictionary
from tests.support.rules import recipe


@pytest.fixture
def special(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for folder in ("parts/more", "hidden"):
        Path(folder).mkdir(parents=True)
        Path(folder, "a.txt").write_text("a\n", encoding="utf-8")
    for pipe in ("pipe.txt", "parts/more/p.txt", "hidden/.p"):
        os.mkfifo(pipe)
    Path("link.txt").symlink_to("pipe.txt")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.txt")
    return tmp_path


SPECIAL = [
    ("pipe.txt", "pipe.txt: a named pipe"),
    ("link.txt", "link.txt: a named pipe"),
    ("socket.txt", "socket.txt: a socket"),
    ("parts", "parts/more/p.txt: a named pipe"),
    ("hidden", "hidden/.p: a named pipe"),
    ("/dev/zero", "/dev/zero: a device"),
]


@pytest.mark.parametrize("key", ["corpora.general.path", "tasks.section.train", "tokenize.words.dictionary"])
@pytest.mark.parametrize(("name", "problem"), SPECIAL)
def test_what_has_no_end_is_refused(special: Path, key: str, name: str, problem: str) -> None:
    ((path, error),) = [each for each in named_files.check(recipe(**{key: name})) if each[1].code == 50]
    assert path == name
    assert str(error).startswith(f"AB-050 params.yaml: {key}: {problem}")
    assert "not a regular file\n  put its text into a file: DVC would read it for ever" in str(error)


def test_the_dictionary_opens_no_pipe(special: Path) -> None:
    with pytest.raises(BadData, match=r"AB-050 pipe\.txt: not a readable regular file"):
        read_dictionary(Path("pipe.txt"))


def test_a_missing_file_of_the_demonstration_names_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    messages = [str(error) for _, error in named_files.check(recipe())]
    assert (
        "AB-050 params.yaml: tasks.section.dev: data/own/demo/section.dev.jsonl: no such file\n  "
        "make it: python -m examples.docstrings demo" in messages
    )
