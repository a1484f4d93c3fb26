"""The files that params.yaml names: missing ones with what may be meant, and those that nobody can read to an end."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from adaptbert.errors import BadData, UserError, closest, nearest
from adaptbert.project import named_files
from adaptbert.text.words import read_dictionary
from tests.support.rules import recipe


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def at(key: str, **changes: Any) -> list[UserError]:
    """The errors of one key."""
    errors = named_files.check(recipe(**changes))
    return [error for _, error in errors if ".".join(error.place.keys) == key]


# --- what has no end


@pytest.fixture
def special() -> None:
    for folder in ("parts/more", "hidden"):
        Path(folder).mkdir(parents=True)
        Path(folder, "a.txt").write_text("a\n", encoding="utf-8")
    for pipe in ("pipe.txt", "parts/more/p.txt", "hidden/.p"):
        os.mkfifo(pipe)
    Path("link.txt").symlink_to("pipe.txt")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.txt")


@pytest.mark.usefixtures("special")
@pytest.mark.parametrize("key", ["corpora.general.path", "tasks.section.train", "tokenize.words.dictionary"])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("pipe.txt", "pipe.txt: a named pipe"),
        ("link.txt", "link.txt: a named pipe"),
        ("socket.txt", "socket.txt: a socket"),
        ("parts", "parts/more/p.txt: a named pipe"),
        ("hidden", "hidden/.p: a named pipe"),
        ("/dev/zero", "/dev/zero: a device"),
    ],
)
def test_what_has_no_end_is_refused(key: str, name: str, problem: str) -> None:
    (error,) = at(key, **{key: name})
    assert (error.code, error.problem) == (50, f"{problem}, not a regular file")


@pytest.mark.usefixtures("special")
def test_the_dictionary_opens_no_pipe() -> None:
    with pytest.raises(BadData, match=r"AB-050 pipe\.txt: not a readable regular file"):
        read_dictionary(Path("pipe.txt"))


# --- what is missing


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("learning_rat", ["learning_rate", "layer_decay"], "learning_rate"),
        ("Text", ["text", "label"], "text"),
        ("BIO", ["bio", "io"], "bio"),
        ("sectoin", ["section", "mention"], "section"),
        ("section", ["mention"], None),
        ("task_transfer", ["domain_transfer"], None),
        ("x", [], None),
        ("!", ["?"], None),
    ],
)
def test_the_name_that_is_offered_is_a_slip_of_the_keyboard_away(
    name: str, known: list[str], expected: str | None
) -> None:
    assert closest(name, known) == expected
    assert nearest(name, known) == ("" if expected is None else f" (did you mean '{expected}'?)")


@pytest.mark.parametrize(
    ("name", "beside", "meant"),
    [
        ("mood_train.csv", "mood.train.csv", True),
        ("posts.jsonl", "posts.jsonl.gz", True),
        ("test.csv", "train.csv", False),
        ("test.csv", "text.md.bak", False),
        ("set.dev.csv", "set.train.csv", False),
        ("set.dev.csv", "set.test.csv", False),  # another key names it
    ],
)
def test_a_file_that_is_offered_is_like_it(name: str, beside: str, meant: bool) -> None:
    Path(beside).touch()
    (error,) = at("corpora.general.path", **{"corpora.general.path": name, "tasks.section.test": "set.test.csv"})
    assert error.problem == f"{name}: no such file{f' (did you mean {beside!r}?)' if meant else ''}"
    assert error.remedy == "put it there, or write where it is"


@pytest.mark.parametrize(
    ("key", "name", "problem", "remedy"),
    [
        ("corpora.general.path", "~/posts", "~ is not expanded", "write the path out"),
        ("corpora.general.path", "x" * 300, "cannot be read: File name too long", "check the path and its permissions"),
        (
            "corpora.general.path",
            "tracked/a/b.txt",
            "no such file",
            "get it from the remote: dvc pull tracked; or from",
        ),
        ("tasks.section.dev", "data/demo/x.jsonl", "no such file", "make it: python -m examples.docstrings demo"),
    ],
)
def test_the_remedy_of_a_path(key: str, name: str, problem: str, remedy: str) -> None:
    Path("tracked.dvc").touch()
    (error,) = at(key, **{key: name})
    assert error.problem.endswith(problem)
    assert error.remedy.startswith(remedy)


def test_a_checkpoint_is_looked_for() -> None:
    """Of another clone, say, that has the folder from git and nothing in it."""
    folder = Path("models/init/small")
    folder.mkdir(parents=True)
    (folder / "model.safetensors.dvc").touch()
    config, weights = at("bases.small", **{"bases.small": str(folder)})
    assert config.problem == f"{folder}/config.json: no such file"
    assert config.remedy == "put a checkpoint there: `adaptbert import SOURCE --base small`"
    assert weights.remedy.startswith(f"get it from the remote: dvc pull {folder}/model.safetensors; or from this")


def test_a_path_of_several_splits_is_reported_once_and_unnamed_files_are_known() -> None:
    splits = {f"tasks.section.{split}": "all.csv" for split in ("train", "dev", "test")}
    paths = [path for path, _ in named_files.check(recipe(**splits))]
    assert paths.count("all.csv") == 1
    files = [Path("all.csv"), Path("sets/b.csv"), Path("c.csv")]
    assert named_files.unnamed(recipe(**splits, **{"corpora.domain.path": "sets"}), files) == [Path("c.csv")]
