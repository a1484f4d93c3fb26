"""What DVC would run; and what a killed one leaves is put right: a dvc.lock cut at any point of a write, marks and
copies."""

import fcntl
import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from dvc.config import Config

from adaptbert.errors import BadData, BadParams, Temporary
from adaptbert.project import dvc_files
from tests.support.project import dvc, write_graph

GRAPH = """
stages:
  words:
    cmd: date +%N >> ran.txt; mkdir -p out/words; echo a > out/words/a; echo '{"a":1}' > out/words.json
    deps: [in.txt]
    outs: [out/words]
    metrics: [{out/words.json: {cache: false}}]
  count:
    foreach: {one: {n: 1}, two: {n: 2}}
    do:
      cmd: date +%N >> ran.txt; mkdir -p out; echo ${item.n} > out/${key}
      deps: [out/words]
      outs: ["out/${key}"]
"""


def test_git_that_is_missing_refuses_or_is_there_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DVC needs a setting without git, and no folder of another owner is taken for one without."""
    monkeypatch.chdir(tmp_path)
    Path(".dvc").mkdir()
    own = Path(".dvc/config.local")
    mine = "[cache]\n    type = copy  # as on the cluster\n[core]\n    autostage = true\n"
    own.write_text(mine)
    for _ in range(2):
        dvc_files.check_folder()
        config = Config(str(tmp_path / ".dvc"))
        assert (config["core"]["no_scm"], config["cache"]["type"]) == (True, ["copy"])
    subprocess.run(["git", "init", "-q"], check=True)
    dvc_files.check_folder()
    assert own.read_text() == mine
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "true")
    with pytest.raises(BadParams) as refused:
        dvc_files.check_folder()
    problem = f"git refuses the folder: detected dubious ownership in repository at '{tmp_path}'"
    remedy = f"if you trust what lies there: git config --global --add safe.directory {tmp_path}"
    assert str(refused.value) == f"AB-198 {tmp_path}: {problem}\n  {remedy}"
    assert own.read_text() == mine


@pytest.mark.parametrize("has_git", [True, False])
def test_a_setting_of_the_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_git: bool) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".dvc").mkdir()
    own = Path(".dvc/config.local")
    own.write_text(mine := "# mine\n[core]\nno_scm = True\n[other]\nkey = 1\n")
    if has_git:
        subprocess.run(["git", "init", "-q"], check=True)
    dvc_files.check_folder()
    assert own.read_text() == mine
    with pytest.raises(BadData, match="AB-198 dvc status: config file error: extra keys not allowed"):
        dvc_files.due()


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of three stages that is up to date."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("project"))
        write_graph(GRAPH)
        Path("in.txt").write_text("text")
        assert dvc("repro").returncode == 0
        return Path.cwd()


@pytest.fixture
def project(reproduced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the current folder."""
    subprocess.run(["cp", "-a", f"{reproduced}/.", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_a_full_disk_left_in_the_cache(project: Path) -> None:
    """Leftovers of an hour ago; what another DVC writes at this moment stays."""
    begun = [next(project.glob(".dvc/cache/files/md5/*")) / f".{name}.tmp" for name in ("old", "new")]
    for path in begun:
        path.write_bytes(b"half")
    os.utime(begun[0], (time.time() - 7200,) * 2)
    assert dvc_files.mend() == [".dvc/cache: 1 files that DVC had begun, and not finished: removed"]
    assert [path.exists() for path in begun] == [False, True]


COMMITTED, ANEW = "the file of git's last commit is back", "it is written anew"


def mended(done: str) -> None:
    """A look puts the file right once, and keeps what was there."""
    damaged = Path("dvc.lock").read_bytes()
    (line,) = dvc_files.mend()
    assert line.startswith(f"dvc.lock is damaged or cut short: {done}; DVC takes what else it can from its run cache")
    kept = line.rpartition("(it was ")[2].removesuffix(")")
    assert (Path(kept).read_bytes(), dvc_files.mend()) == (damaged, [])


@pytest.mark.parametrize("cut", [0.4, 1])
def test_a_cut_lock_costs_nothing(project: Path, cut: float) -> None:
    """Plain DVC refuses it for ever, or runs a stage again; from the run cache all comes back, metrics too."""
    whole = Path("dvc.lock").read_bytes()
    Path("dvc.lock").write_bytes(whole[: round(len(whole) * cut) - (cut == 1)])
    Path("out/words.json").unlink()
    mended(ANEW)
    done = dvc("repro")
    assert (done.returncode, Path("dvc.lock").read_bytes()) == (0, whole), done.stdout + done.stderr
    assert len(Path("ran.txt").read_text().splitlines()) == 3, "commands that DVC has run"
    assert Path("out/words.json").read_text() == '{"a":1}\n'


@pytest.mark.parametrize("cut", [2, None], ids=lambda cut: "inside a line" if cut is None else f"line {cut}")
def test_the_lock_of_the_last_commit_comes_back(project: Path, cut: int | None) -> None:
    """What was pulled is in no run cache: only the lock says that it need not be run. A file that is cut at the end of
    a line may be whole for YAML, with a stage that has left nothing, or none."""
    whole = Path("dvc.lock").read_bytes()
    author = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    for command in (["init", "--quiet"], ["add", "dvc.lock"], [*author, "commit", "--quiet", "--message", "lock"]):
        subprocess.run(["git", *command], check=True)
    Path("dvc.lock").write_bytes(whole[:-300] if cut is None else b"".join(whole.splitlines(keepends=True)[:cut]))
    mended(COMMITTED)
    assert Path("dvc.lock").read_bytes() == whole


def test_every_cut_is_seen_or_harmless(project: Path) -> None:
    """After the look DVC reads the file, and each stage in it has whole checksums."""
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from ruamel.yaml import YAML

    text = Path("dvc.lock").read_text()
    for length in range(1, len(text)):
        Path("dvc.lock").write_text(text[:length])
        if dvc_files.is_whole(Path("dvc.lock")):
            stages = COMPILED_LOCKFILE_SCHEMA(YAML(typ="safe").load(text[:length])).get("stages", {})
            outs = [out for stage in stages.values() for out in stage.get("outs", [])]
            assert all(len(out.get("md5", " " * 32).removesuffix(".dir")) == 32 for out in outs), text[:length][-80:]
            assert all("size" in out for out in outs if "md5" in out), text[:length][-80:]
    Path("dvc.lock").write_text(text)
    assert dvc_files.is_whole(Path("dvc.lock"))


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0", b"schema: 2.0\nstages: {}\n", b"- a\n"])
def test_what_dvc_cannot_read_is_kept_and_replaced(project: Path, content: bytes) -> None:
    Path("dvc.lock").write_bytes(content)
    mended(ANEW)


def test_both_sides_of_a_merge_are_left_to_the_user(project: Path) -> None:
    """What DVC says of them is clear, and a repair would lose one side."""
    text = Path("dvc.lock").read_text().replace("    cmd:", "<<<<<<< HEAD\n    cmd:", 1)
    Path("dvc.lock").write_text(text)
    assert dvc_files.mend() == []
    assert Path("dvc.lock").read_text() == text
    assert dvc("status").returncode != 0


def test_where_another_dvc_is_at_work_nothing_is_touched(project: Path) -> None:
    """It holds .dvc/tmp/lock while it writes dvc.lock."""
    Path("dvc.lock").write_text("schema")
    with Path(".dvc/tmp/lock").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert dvc_files.mend() == []
    mended(ANEW)


# --- beside dvc.lock


@pytest.mark.parametrize("text", ["", '{"write": {"/x": {"pi', "[]", '{"read": {"/x": [{"cmd": "dvc"}]}}'])
def test_marks_that_are_cut(project: Path, text: str) -> None:
    """DVC refuses to run until somebody removes the file."""
    Path(".dvc/tmp/rwlock").write_text(text)
    (line,) = dvc_files.mend()
    assert line == (
        ".dvc/tmp/rwlock cannot be read (a DVC that was killed may leave it so): removed; only a running DVC needs it"
    )
    assert not Path(".dvc/tmp/rwlock").exists()


def test_marks_of_a_number_that_another_process_has_now(project: Path) -> None:
    """As after the restart of a container: DVC would wait for this process for ever."""
    mark = {"pid": os.getpid(), "cmd": "dvc repro"}
    marks = {"write": {str(project / "out/one"): mark}, "read": {str(project / "in.txt"): [mark]}}
    Path(".dvc/tmp/rwlock").write_text(json.dumps(marks))
    assert dvc_files.mend() == []
    assert json.loads(Path(".dvc/tmp/rwlock").read_text()) == marks, "this process has lived longer: it may be DVC"
    long_ago = time.time() - 10**6
    os.utime(".dvc/tmp/rwlock", (long_ago, long_ago))
    assert dvc_files.mend() == []
    assert not Path(".dvc/tmp/rwlock").exists()
    Path("in.txt").write_text("another text")
    assert dvc("repro").returncode == 0


def test_where_dvc_never_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert dvc_files.mend() == []
    assert list(tmp_path.iterdir()) == []


# --- what it would run

PLANNED = """
stages:
  plan: {cmd: echo same > planned, deps: [code.txt], outs: [planned]}
  collect: {cmd: cp in.txt raw.txt, deps: [planned, in.txt], outs: [raw.txt]}
  train:
    foreach: {a: {from: raw.txt}, b: {from: a.out}}
    do: {cmd: "cat planned ${item.from} > ${key}.out", deps: [planned, "${item.from}"], outs: ["${key}.out"]}
"""


def test_what_dvc_would_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what is trained: dvc.lock and the outputs that are there. Git is not asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "dvc"))
    write_graph(PLANNED)
    everything = "will run: 4 of 4 stages: 1 plan, 1 collect, 2 train"
    assert str(dvc_files.due()) == everything, "data that is not there yet"
    for name in ("code.txt", "in.txt"):
        Path(name).write_text(name)
    assert str(dvc_files.due()) == everything
    assert dvc("repro").returncode == 0
    Path(".dvc/config").write_text("[core]\n    analytics = false\n")
    assert str(dvc_files.due()) == "all up to date"
    Path("code.txt").write_text("edited")
    assert str(dvc_files.due()) == "will run: 1 of 4 stages: 1 plan", "it always writes the same"
    Path("b.out").unlink()
    assert str(dvc_files.due()) == "will run: 2 of 4 stages: 1 plan, 1 train"
    Path("in.txt").write_text("edited")
    assert str(dvc_files.due()) == everything
    assert dvc_files.due().stages["train@b"] == ["plan", "train@a"]


def test_a_record_of_a_file_of_the_users_runs_nothing_and_does_not_count() -> None:
    """`make recipe` brings one up to date, and counts as `adaptbert plan` does."""
    upstream = {"own.csv.dvc": [], "collect": ["own.csv.dvc"], "train": ["collect"]}
    due = dvc_files.Due.of(upstream, ["own.csv.dvc", "collect"])
    assert str(due) == "will run: 2 of 2 stages: 1 collect, 1 train"
    assert [*due.stages] == ["own.csv.dvc", "collect", "train"]
    assert str(dvc_files.Due.of(upstream, [])) == "all up to date"


def test_what_it_would_run_is_not_known(project: Path) -> None:
    """`adaptbert plan` has written plan.json and says why."""
    with Path(".dvc/tmp/lock").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Temporary, match="AB-159 dvc status: another DVC process is at work here"):
            dvc_files.due()
    Path("dvc.yaml").write_text("stages: [\n")
    with pytest.raises(BadData, match="AB-198 dvc status: "):
        dvc_files.due()
