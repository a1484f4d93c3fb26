"""The user's files: missing ones with what may be meant; where a file may lie, and how DVC records it."""

import fcntl
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adaptbert.errors import BadData, Temporary, closest, nearest
from adaptbert.planning import input_files
from adaptbert.project import dvc_files, own_data
from tests.support.markdown import blocks
from tests.support.rules import recipe

OWN = own_data.OWN


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


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


PATH, BASE, PUT = "corpora.general.path", "bases.small", "put it there, or write where it is"
SMALL, IMPORT = "models/init/small", "put a checkpoint there: `adaptbert import FOLDER --base small`"


@pytest.mark.parametrize(
    ("key", "name", "there", "problem", "remedy"),
    [
        (PATH, "a_train.csv", "a.train.csv", "a_train.csv: no such file (did you mean 'a.train.csv'?)", PUT),
        (PATH, "a.jsonl", "a.jsonl.gz", "a.jsonl: no such file (did you mean 'a.jsonl.gz'?)", PUT),
        (PATH, "test.csv", "train.csv", "test.csv: no such file", PUT),
        (PATH, "test.csv", "text.md.bak", "test.csv: no such file", PUT),
        (PATH, "set.dev.csv", "set.train.csv", "set.dev.csv: no such file", PUT),
        (PATH, "set.dev.csv", "set.test.csv", "set.dev.csv: no such file", PUT),  # another key names it
        (PATH, "~/posts", None, "~/posts: ~ is not expanded", "write the path out"),
        (PATH, "x" * 300, None, "(300 characters): cannot be read: File name too long", "check the path and its perm"),
        (PATH, "set/a/b", "set.dvc", "set/a/b: no such file", "get it from the remote: dvc pull set; or from this clo"),
        ("tasks.section.dev", "data/demo/x.jsonl", None, "no such file", "make it: python -m examples.docstrings demo"),
        (BASE, SMALL, None, f"{SMALL}/config.json: no such file", IMPORT),
        (
            BASE,
            SMALL,
            f"{SMALL}.dvc",
            f"{SMALL}/config.json: no such file",
            f"get it from the remote: dvc pull {SMALL};",
        ),
    ],
)
def test_what_is_said_of_a_missing_path(key: str, name: str, there: str | None, problem: str, remedy: str) -> None:
    if there is not None:
        Path(there).parent.mkdir(parents=True, exist_ok=True)
        Path(there).touch()
    errors = [error for _, error in input_files.check(recipe(**{"tasks.section.test": "set.test.csv", key: name}))]
    (error,) = (error for error in errors if ".".join(error.place.keys) == key)
    assert error.problem.endswith(problem)
    assert error.remedy.startswith(remedy)


def test_a_path_of_several_splits_is_reported_once() -> None:
    splits = {f"tasks.section.{split}": "all.csv" for split in ("train", "dev", "test")}
    paths = [path for path, _ in input_files.check(recipe(**splits))]
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
    dvc_files.record([OWN / "set"])
    homes = {file: file for file in (linked, *files)}
    assert own_data.take(homes) == [f"recorded by DVC: {linked}, {files[0]}, {files[2]}"]
    assert own_data.take(homes) == []
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
        with pytest.raises(Temporary, match=r"^AB-159 dvc add: another DVC process is at work here\n  wait for it"):
            dvc_files.record([OWN / "a.csv"])
    shutil.rmtree(".dvc")
    with pytest.raises(BadData, match=r"^AB-198 dvc add: ERROR: you are not inside of a DVC repository"):
        dvc_files.record([OWN / "a.csv"])


@pytest.mark.parametrize("kind", ["symlink", "hardlink"])
def test_a_file_that_is_a_link_into_the_cache(kind: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its replacement is another file; the cache keeps the old bytes, by the page's commands and by `new`."""
    monkeypatch.chdir(project)
    subprocess.run([sys.executable, "-m", "dvc", "config", "cache.type", kind], check=True)
    news, home = project.parent / "news.csv", OWN / "news.csv"
    news.write_text("text\nold\n")
    assert own_data.take(own_data.homes([news])) == ["recorded by DVC: data/own/news.csv"]
    (cached,) = (path for path in Path(".dvc/cache").rglob("*") if path.is_file())
    assert home.samefile(cached), "a link"
    news.write_text("text\nnew\n")
    block = next(block.text for block in blocks("docs/how-to/share.md", "sh") if "cp FILE" in block.text)
    for line in block.splitlines()[:2]:
        subprocess.run(shlex.split(line.replace("FILE", str(news)).replace("NAME", "news.csv")), check=True)
    assert (home.read_text(), cached.read_text()) == ("text\nnew\n", "text\nold\n")

    home.unlink()
    cached.unlink()
    if kind == "symlink":
        home.symlink_to(cached.absolute())
    own_data.take(own_data.homes([news]))
    assert (home.is_symlink(), home.read_text(), cached.exists()) == (False, "text\nnew\n", False)
