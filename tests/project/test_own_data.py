"""The user's files: missing ones with what may be meant; where a file may lie, and how DVC records it."""

import fcntl
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from adaptbert.errors import BadData, UserError, closest, nearest
from adaptbert.project import own_data
from adaptbert.runtime.locks import Busy
from tests.support.rules import recipe

OWN = own_data.OWN


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def at(key: str, **changes: Any) -> list[UserError]:
    """The errors of one key."""
    errors = own_data.check(recipe(**changes))
    return [error for _, error in errors if ".".join(error.place.keys) == key]


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
        ("corpora.general.path", "https://a:b@c.org/d.csv", "an address, not a file", "download it, and write whe"),
        ("corpora.general.path", "tracked/a/b.txt", "no such file", "get it from the remote: dvc pull tracked; or fr"),
        ("tasks.section.dev", "data/demo/x.jsonl", "no such file", "make it: python -m examples.docstrings demo"),
    ],
)
def test_the_remedy_of_a_path(key: str, name: str, problem: str, remedy: str) -> None:
    Path("tracked.dvc").touch()
    (error,) = at(key, **{key: name})
    assert error.problem.endswith(problem)
    assert error.remedy.startswith(remedy)


def test_a_checkpoint_is_looked_for() -> None:
    (config,) = at("bases.small", **{"bases.small": "models/init/small"})
    assert config.problem == "models/init/small/config.json: no such file"
    assert config.remedy == "put a checkpoint there: `adaptbert import FOLDER --base small`"
    Path("models/init").mkdir(parents=True)
    Path("models/init/small.dvc").touch()
    (config,) = at("bases.small", **{"bases.small": "models/init/small"})
    assert config.remedy.startswith("get it from the remote: dvc pull models/init/small; or from this")


def test_a_path_of_several_splits_is_reported_once() -> None:
    splits = {f"tasks.section.{split}": "all.csv" for split in ("train", "dev", "test")}
    paths = [path for path, _ in own_data.check(recipe(**splits))]
    assert paths.count("all.csv") == 1


# --- where a file may lie, and DVC's records


@pytest.mark.parametrize(
    ("path", "home"),
    [
        ("../outside/a b.csv", "data/own/a b.csv"),
        ("data/../../outside/a b.csv", "data/own/a b.csv"),
        ("data/linked/a b.csv", "data/own/a b.csv"),
        ("data/own/a.csv", "data/own/a.csv"),
        ("data/../data/b.csv", "data/b.csv"),
    ],
)
def test_where_a_file_lies_in_the_project(path: str, home: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own place, where DVC can record it; else it is copied."""
    monkeypatch.chdir(project)
    (project.parent / "outside").mkdir()
    Path("data/linked").symlink_to(project.parent / "outside")
    assert list(own_data.homes([Path(path), Path(path).absolute()]).values()) == [Path(home)] * 2


def test_files_of_one_name(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes again are the same file; others are never overwritten."""
    monkeypatch.chdir(project)
    for folder in ("a", "b"):
        (project.parent / folder).mkdir()
        (project.parent / folder / "x.csv").write_text("text\n")
    first, second = Path("../a/x.csv"), Path("../b/x.csv")
    assert own_data.take(own_data.homes([first, second])) == ["recorded by DVC: data/own/x.csv"]
    assert own_data.take(own_data.homes([first])) == []
    second.write_text("other\n")
    for files in ([first, second], [second]):
        with pytest.raises(BadData, match=r"^AB-197 data/own/x\.csv: \.\./b/x\.csv would be copied there, and .* is"):
            own_data.homes(files)
    assert (OWN / "x.csv").read_text() == "text\n"


def test_what_dvc_records(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git takes the record and leaves the text; a link becomes the bytes of its file; a folder is recorded as one."""
    monkeypatch.chdir(project)
    (OWN / "set").mkdir(parents=True)
    (OWN / "sub").mkdir()
    linked, *files = OWN / "link.csv", OWN / "a.csv", OWN / "set/b.csv", OWN / "sub/d.csv", Path("data/c.csv")
    for file in files:
        file.write_text(file.name)
    linked.symlink_to(files[-1].absolute())
    assert own_data.unrecorded([linked, *files, linked]) == [linked, *files[:3]]
    own_data.record([OWN / "set", files[0], files[2], linked])
    assert own_data.unrecorded([linked, *files]) == []
    subprocess.run(["git", "add", "data/own"], check=True)
    listed = subprocess.run(["git", "ls-files", "data/own"], capture_output=True, text=True, check=True).stdout
    assert listed.split() == [f"data/own/{name}.dvc" for name in ("a.csv", "link.csv", "set", "sub/d.csv")]
    kept = {path.read_text() for path in Path(".dvc/cache").rglob("*") if path.is_file() and path.suffix != ".dir"}
    assert {"a.csv", "b.csv", "c.csv"} <= kept
    assert (linked.is_symlink(), linked.read_text(), files[-1].read_text()) == (False, "c.csv", "c.csv")


def test_what_dvc_refuses(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message, in its words."""
    monkeypatch.chdir(project)
    OWN.mkdir()
    (OWN / "a.csv").touch()
    Path(".dvc/tmp").mkdir()
    with Path(".dvc/tmp/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Busy, match=r"^AB-159 dvc add: another DVC process is at work here\n  wait for it"):
            own_data.record([OWN / "a.csv"])
    shutil.rmtree(".dvc")
    with pytest.raises(BadData, match=r"^AB-198 dvc add: ERROR: you are not inside of a DVC repository"):
        own_data.record([OWN / "a.csv"])
