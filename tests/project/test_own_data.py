"""`adaptbert use PRESET --data DIR`: the files come below the project and under DVC, all of them or none."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from adaptbert.errors import BadData
from adaptbert.project import own_data
from adaptbert.project.own_data import open_repository
from tests.support.commands import DEMO, run
from tests.support.imports import ROOT
from tests.support.messages import messages_in

WEIBO = (ROOT / "presets/weibo.yaml").read_text(encoding="utf-8")
NAMES = [
    "zh_domain_weibo.jsonl.gz",
    "zh_general.jsonl.gz",
    *(f"zh_task_ewect_usual.{split}.jsonl.gz" for split in ("dev", "test", "train")),
]
OWN, PARAMS = Path("data/own"), Path("params.yaml")
CORRECT = "now correct the names of files and columns in params.yaml, and run: adaptbert check"


@pytest.fixture
def text(project: Path, tmp_path: Path) -> Path:
    """The five files of the preset `weibo`, elsewhere; their bytes do not matter here."""
    folder = tmp_path / "文本 of mine"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text(name)
    return folder


def use(folder: Path | str, *more: str) -> Result:
    return run("use", "weibo", "--data", str(folder), *more)


def used(folder: Path | str, *more: str) -> str:
    done = use(folder, *more)
    assert done.exit_code == 0, done.output
    return done.output


def own_files() -> list[str]:
    return sorted(path.name for path in OWN.iterdir()) if OWN.is_dir() else []


def cached() -> int:
    return sum(path.is_file() for path in Path(".dvc/cache").rglob("*"))


def statuses() -> list[object]:
    with open_repository() as repo:
        return [out.status() for out in repo.index.outs]


def untouched(done: Result, code: int, message: str) -> None:
    """One message, and params.yaml and plan.json as they were."""
    assert (done.exit_code, message in done.stderr) == (code, True), done.output
    assert len(messages_in(done.stderr)) == 1
    assert "Traceback" not in done.output
    assert PARAMS.read_text(encoding="utf-8") == DEMO
    assert Path("plan.json").read_bytes() == (ROOT / "plan.json").read_bytes()


@pytest.mark.parametrize("is_git", [True, False])
def test_files_come_below_the_project_and_under_dvc(text: Path, is_git: bool) -> None:
    """And git takes their records and leaves the text, where there is a git."""
    if not is_git:
        shutil.rmtree(".git")
    (text / "posts").mkdir()
    (text / "notes.md").touch()
    (text / ".hidden.txt").touch()
    assert used(text).splitlines() == [
        "params.yaml is now the preset 'weibo', and plan.json has its checkpoints and cells",
        "data/own: 5 files, 142 bytes, 5 of them copied now",
        "left out (a folder, or a name that tells no known format): notes.md, posts/",
        CORRECT,
    ]
    assert PARAMS.read_text(encoding="utf-8") == WEIBO, "relative paths, for everybody"
    assert own_files() == sorted([*NAMES, *(f"{name}.dvc" for name in NAMES)])
    assert [(OWN / name).read_text() for name in NAMES] == NAMES
    assert cached() == 5
    assert "no such file" not in run("check").output
    if is_git:
        subprocess.run(["git", "add", "--all"], check=True)
        listed = subprocess.run(["git", "ls-files", "data/own"], capture_output=True, text=True, check=True).stdout
        assert listed.split() == [f"data/own/{name}.dvc" for name in NAMES]


def test_again_only_changed_and_new_files_are_copied_and_recorded(text: Path) -> None:
    used(text)
    paths = [path for name in NAMES for path in (OWN / name, OWN / f"{name}.dvc")]
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino, path.read_text()) for path in paths}
    for folder in (text, OWN):
        assert "5 files, 142 bytes, 0 of them copied now" in used(folder)
    after = {path: (path.stat().st_mtime_ns, path.stat().st_ino, path.read_text()) for path in paths}
    assert [path for path in paths if after[path][2:] != before[path][2:]] == []
    assert [path for path in paths[::2] if after[path] != before[path]] == []

    (text / NAMES[0]).write_text("other posts")
    (text / "words.txt").write_text("a word")
    output = used(text)
    assert "6 files, 135 bytes, 2 of them copied now" in output
    assert "not named in params.yaml: data/own/words.txt\n" in output
    assert (OWN / NAMES[0]).read_text() == "other posts"
    assert cached() == 7, "what was replaced is still in the cache"
    assert statuses() == [{}] * 6


def test_files_alone_leave_params_as_it_is(text: Path) -> None:
    """Edits of params.yaml that exist nowhere else do not stand in the way of new files; the refusal says how."""
    used(text)
    edited = WEIBO.replace("epochs: 3", "epochs: 7")
    PARAMS.write_text(edited, encoding="utf-8")
    (text / NAMES[0]).write_text("other posts")
    refused = use(text)
    command = f"adaptbert use --data '{text}'"
    assert refused.exit_code == 78
    assert refused.stderr.endswith(f"; to keep it and bring the files alone: {command}\n")
    done = run(*shlex.split(command)[1:])
    assert (done.exit_code, done.output.splitlines()[-2:]) == (0, ["params.yaml is unchanged", CORRECT])
    assert (OWN / NAMES[0]).read_text() == "other posts"
    assert PARAMS.read_text(encoding="utf-8") == edited
    assert statuses() == [{}] * 5


def test_a_folder_that_is_data_own_is_recorded_where_it_is(text: Path) -> None:
    shutil.copytree(text, OWN)
    (OWN / NAMES[0]).unlink()
    (OWN / NAMES[0]).symlink_to(text / NAMES[0])
    assert "1 of them copied now" in used("data/own")
    assert not (OWN / NAMES[0]).is_symlink(), "DVC keeps bytes, not links"
    assert (cached(), (text / NAMES[0]).read_text()) == (5, NAMES[0])


# ---- what fails leaves everything as it was


def no_data(text: Path) -> None:
    for name in NAMES:
        (text / name).rename(text / f"{name}.md")


def data_own_is_a_link(text: Path) -> None:
    (text.parent / "elsewhere").mkdir()
    OWN.symlink_to(text.parent / "elsewhere")


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "AB-050 --data"),
    "no data": (no_data, "no data file among 5 names\n  put txt, csv, "),
    "a broken link": (
        lambda text: (text / "posts.txt").symlink_to(text / "nowhere"),
        "posts.txt: cannot be read: No such file or directory",
    ),
    "a pipe": (lambda text: os.mkfifo(text / "a.txt"), "a.txt: not a readable regular file"),
    # The last of all: what was copied before it must go. The kernel answers with an error, to root too.
    "bytes that cannot be read": (
        lambda text: (text / "zz.txt").symlink_to("/proc/self/mem"),
        "zz.txt: cannot be read: Input/output error",
    ),
    "a name that is not UTF-8": (
        lambda text: Path(os.fsdecode(os.fsencode(text) + b"/\xff.txt")).touch(),
        "\\udcff.txt': a name that is not UTF-8, or has control characters\n  rename it",
    ),
    "data/own behind a link": (data_own_is_a_link, "AB-050 data/own: is, or lies behind, a link"),
    "no DVC repository": (
        lambda _: shutil.rmtree(".dvc"),
        "AB-198 data/own: DVC cannot record files here: you are not inside of a DVC repository",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_used(text: Path, fault: str) -> None:
    spoil, message = FAULTS[fault]
    spoil(text)
    untouched(use(text), 65, message)
    assert own_files() == []


def test_a_file_that_exists_nowhere_else_is_not_replaced(text: Path) -> None:
    OWN.mkdir()
    (OWN / NAMES[1]).write_text("my only copy")
    untouched(use(text), 65, f"AB-197 data/own/{NAMES[1]}: holds other bytes than the file of this name")
    assert own_files() == [NAMES[1]]
    assert (OWN / NAMES[1]).read_text() == "my only copy"
    used(text, "--force")
    assert (OWN / NAMES[1]).read_text() == NAMES[1]


def test_too_little_room(text: Path) -> None:
    """Told before anything is copied. The size of a file with a hole is real, its blocks are not."""
    size = shutil.disk_usage(".").free
    with (text / "huge.txt").open("wb") as file:
        file.truncate(size)
    done = use(text)
    small = sum(len(name) for name in NAMES)
    untouched(done, 74, f"AB-189 data/own: {2 * (size + small):,} bytes needed, ")
    assert " free\n  make room, move DVC's cache (dvc cache dir FOLDER), or write their paths into par" in done.stderr
    assert own_files() == []


def test_dvc_at_work(text: Path) -> None:
    with open_repository() as repo, repo.lock:
        untouched(use(text), 75, "AB-159 data/own: another DVC process is at work here\n  wait for it, and run again")
    assert "0 of them copied now" in used(text), "it goes on from there"


def test_killed_while_it_copies(text: Path) -> None:
    """Half a file never has the name of a whole one, and the next call removes it."""
    code = """
import os, signal, sys
from adaptbert import cli
from adaptbert.project import own_data
before = own_data.copy
def copy(source, target, advance):
    before(source, target, advance)
    if source.name.startswith("zh_task"):
        os.kill(os.getpid(), signal.SIGKILL)
own_data.copy = copy
cli.app(["use", "weibo", "--data", sys.argv[1]])
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run([sys.executable, "-c", code, str(text)], env=environment).returncode == -9
    assert [name[-5:] for name in own_files()] == [".part"] * 3
    assert PARAMS.read_text(encoding="utf-8") == DEMO
    used(text)
    assert own_files() == sorted([*NAMES, *(f"{name}.dvc" for name in NAMES)])


# ---- the copy of one file


def test_a_copy_keeps_bytes_and_time_and_counts_them(tmp_path: Path) -> None:
    source, steps = tmp_path / "a", list[int]()
    source.write_bytes(os.urandom(own_data.BLOCK + 7))
    os.utime(source, ns=(1, 1_234_567_890_123_456_789))
    own_data.copy(source, tmp_path / "b", steps.append)
    assert (tmp_path / "b").read_bytes() == source.read_bytes()
    assert ((tmp_path / "b").stat().st_mtime_ns, sum(steps)) == (1_234_567_890_123_456_789, own_data.BLOCK + 7)


def test_a_source_that_grows_meanwhile(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_text("a")
    with pytest.raises(BadData, match=r"AB-050 .*changed while it was copied"):
        own_data.copy(source, tmp_path / "b", lambda _: source.write_text("longer"))
