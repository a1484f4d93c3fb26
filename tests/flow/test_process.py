"""The lines of a stage say how it failed; the graph is read. No server."""

import errno
import fcntl
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copy, which
from unittest import mock

import pytest
from httpx import ConnectError
from prefect.exceptions import TerminationSignal

from adaptbert.codes import Code
from adaptbert.errors import BadParams
from adaptbert.flow import log, process, recipe
from adaptbert.flow.process import DVC, MayPass, StageFailed, environment, heard, output
from adaptbert.flow.recipe import Graph
from tests.support.project import ROOT, wait_until, write_graph
from tests.support.project import environment as clean

STOPPED = "stopped by SIGINT; the same command goes on from here"
BUSY = "another DVC process is at work here; run again when it is done"
OR = " (kill -9, or the system where memory ran out)"
AGAIN = "; the same command goes on from here"


@pytest.mark.parametrize(
    ("printed", "status", "code", "message"),
    [
        ("ERROR: failed to reproduce 'a': Unable to acquire lock. Most likely", 255, 75, BUSY),
        ("ERROR: unexpected error - ('/x/.git/index', '/x/.git/index.lock'): [Errno 17] File exists", 255, 75, BUSY),
        ("ERROR: failed to reproduce 'a': 'a.txt' is busy, it is being blocked by:\n  (PID 3): dvc\n", 255, 75, BUSY),
        ("ERROR: the disk is busy, it is being blocked by x\nERROR: failed: exited with 65", 255, 65, "exited with 65"),
        ("ERROR: failed to run: a, exited with 1", 255, 70, "exited with 1"),
        ("ERROR: failed to run: a, exited with -9", 255, 75, f"ended by SIGKILL{OR}{AGAIN}"),
        ("ERROR: failed to run: a, exited with -15", 255, 75, f"ended by SIGTERM{AGAIN}"),
        ("ERROR: failed to run: a, exited with 143", 255, 75, f"ended by SIGTERM{AGAIN}"),
        ("ERROR: interrupted by the user", 252, 75, f"DVC was interrupted{AGAIN}"),
        ("Unable to acquire lock", -15, 75, f"DVC ended by SIGTERM{AGAIN}"),
        ("ERROR: no such file", 255, 70, "dvc could not run it"),
    ],
)
def test_how_a_stage_failed(printed: str, status: int, code: int, message: str) -> None:
    """A lock of another process may pass; a stage's own exit code comes first; all codes are documented ones."""

    def lines() -> Iterator[str]:
        yield from f"Running stage 'a':\n{printed}\n".splitlines(keepends=True)
        raise subprocess.CalledProcessError(status, "dvc")

    said: list[str] = []
    with pytest.raises(StageFailed) as caught:
        heard("a", lines(), said.append)
    assert (caught.value.reason, caught.value.exit_code) == (f"a: {message}", code)
    assert (type(caught.value) is MayPass) == (message == BUSY)
    assert said == ["Running stage 'a':", *printed.splitlines()]


@pytest.mark.slow
def test_a_finished_stage_waits_for_the_lock_of_another_dvc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than DVC's own three seconds; else it would be run again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    write_graph("stages:\n a: {cmd: echo a >> ran.txt; sleep 1; cp ran.txt out.txt, outs: [out.txt]}\n")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(heard, "a", output([*DVC, "repro", "--single-item", "a"], environment()), print)
        wait_until(Path("ran.txt").exists, 60)
        with Path(".dvc/tmp/lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            wait_until(Path("out.txt").exists, 60)
            time.sleep(4)
            assert not running.done()
        running.result()
    assert (Path("ran.txt").read_text(), "out.txt" in Path("dvc.lock").read_text()) == ("a\n", True)


LEFT = StageFailed("left: exited with 65", 65)
NO_GRAPH = BadParams(Code.DVC, "dvc.yaml", "it names no stage, or is missing", "restore it")
SHUT = (
    "error: AB-184 /proc: you have no permission to write into this folder\n"
    "  give yourself the permission (chmod), or ask the owner of it; then run again"
)
NO_SERVER = "error: the Prefect server does not answer ({}); finished stages are kept, run again"


@pytest.mark.parametrize(
    ("error", "is_after_a_signal", "code", "line"),
    [
        (LEFT, False, 65, "error: left: exited with 65"),
        (LEFT, True, 65, "error: left: exited with 65"),
        (StageFailed("left: exited with -15", -15), True, 75, STOPPED),
        (NO_GRAPH, False, 78, "error: AB-198 dvc.yaml: it names no stage, or is missing\n  restore it"),
        (OSError(errno.EACCES, "", "/proc/cache/lock"), False, 74, SHUT),
        (ConnectError("refused"), False, 75, NO_SERVER.format("refused")),
        (ConnectError("refused"), True, 75, STOPPED),
        (TerminationSignal(15), False, 75, STOPPED.replace("SIGINT", "SIGTERM")),
        (RuntimeError("Failed to reach API at x"), False, 75, NO_SERVER.format("Failed to reach API at x")),
        (ConnectError("to http://me:secret@host"), False, 75, NO_SERVER.format("to http://***@host")),
    ],
)
def test_how_the_flow_ends(
    error: BaseException,
    is_after_a_signal: bool,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One message and a documented code."""
    monkeypatch.setattr(recipe, "recipe", mock.Mock(side_effect=error))
    monkeypatch.setattr(recipe, "await_server", lambda: None)
    monkeypatch.setattr(log, "shorten", lambda: None)
    monkeypatch.setattr(recipe, "check_folder", lambda: None)
    monkeypatch.setattr(process, "_received", [signal.SIGINT] * is_after_a_signal)
    monkeypatch.setattr("os._exit", sys.exit)
    monkeypatch.setattr("psutil.Process", mock.MagicMock())
    with pytest.raises(SystemExit) as ended:
        recipe.main([])
    assert (ended.value.code, capsys.readouterr().err) == (code, f"{line}\n")


@pytest.mark.parametrize("jobs", [0, 17, -1])
def test_more_or_fewer_jobs_than_may_be(
    jobs: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One message, before a server starts; in the flow, which a worker starts, the same."""
    problem = f"AB-109 jobs: expected a number of stages side by side, 1 to 16, found {jobs}\n  write e.g. 2"
    monkeypatch.setattr(recipe, "check_folder", lambda: None)
    monkeypatch.setattr(log, "shorten", lambda: None)
    with pytest.raises(SystemExit) as ended:
        recipe.main(["--jobs", str(jobs)])
    printed = capsys.readouterr().err
    assert (ended.value.code, len(printed.splitlines())) == (78, 2)
    assert printed.startswith(f"error: {problem}")
    assert recipe.recipe.validate_parameters({"jobs": jobs})
    with pytest.raises(BadParams, match=problem):
        recipe.check_jobs(jobs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it names no stage, or is missing"),
        ("stages: [\n", "expected node content"),
        ("stages: 3\n", "validation failed"),
        ("stages:\n a:\n  cmd: ${no}\n", "Could not find 'no'"),
    ],
)
def test_a_dvc_yaml_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_graph(text)
    with pytest.raises(BadParams) as error:
        Graph.read()
    assert str(error.value).startswith("AB-198 dvc.yaml: ")
    assert message in str(error.value)


@pytest.mark.parametrize("ignored", ["dvc.lock", "dvc.yaml"])
def test_a_file_of_dvc_that_git_ignores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ignored: str) -> None:
    """The rule is named, wherever it stands."""
    monkeypatch.chdir(tmp_path)
    write_graph("stages:\n  a: {cmd: b, outs: [c]}\n")
    Path(".dvc/config").write_text("")
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".git/info/exclude").write_text(f"# mine\n*{Path(ignored).suffix}\n")
    with pytest.raises(BadParams) as error:
        Graph.read()
    rule = f"git ignores it by .git/info/exclude:2:*{Path(ignored).suffix}, and so DVC does not read it"
    assert str(error.value).startswith(f"AB-198 {ignored}: {rule}\n  take that rule out, or write a line !/{ignored} ")


def test_a_disk_that_is_full_for_dvc(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stage had room for its output, and the cache of DVC has none."""
    monkeypatch.chdir(small_disk)
    write_graph("stages:\n  a: {cmd: head -c 2500000 /dev/zero > a.txt, outs: [a.txt]}\n")
    with pytest.raises(StageFailed) as caught:
        heard("a", output([*DVC, "repro"], clean(small_disk) | {"PYTHONPATH": str(ROOT)}), print)
    assert caught.value.reason.startswith(f"a: AB-189 {small_disk}: no space left on the disk, ")
    assert caught.value.exit_code == 74


def test_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may run elsewhere, what other machines need, and what leads to a stage."""
    monkeypatch.chdir(tmp_path)
    write_graph(
        """
stages:
  start: {cmd: a, deps: [own.txt], outs: [start.txt]}
  kept: {cmd: b, deps: [start.txt], outs: [kept.txt: {persist: true}]}
  train: {foreach: [x, y], do: {cmd: c, deps: [start.txt], outs: ["${item}.txt"], meta: {gpu: true}}}
  compare: {cmd: d, deps: [x.txt, kept.txt], metrics: [metrics/comparison.json: {cache: false}]}
"""
    )
    graph = Graph.read()
    assert graph.upstream["compare"] == ["train@x", "kept"]
    assert graph.on_gpu == {"train@x", "train@y"}
    assert graph.restorable == {"train@x", "train@y", "compare"}
    assert graph.sources == {"own.txt", "dvc.yaml", "params.yaml"}
    assert set(graph.needed("train")) == {"start", "train@x", "train@y"}
    assert set(graph.needed("compare")) == {"start", "kept", "train@x", "compare"}
    with pytest.raises(BadParams, match=r"no stage 'trian' \(did you mean 'train'\?\)\n  known: start, kept, train, c"):
        graph.needed("trian")


READ_ONLY = 'mount --bind "$PWD" "$PWD" && mount -o remount,ro,bind "$PWD" && cd "$PWD" && exec "$@"'


@pytest.mark.parametrize("command", ["flows.recipe", "adaptbert.cli check"])
def test_a_read_only_project_is_one_line(tmp_path: Path, command: str) -> None:
    """Before a server starts, whose database would lie there."""
    (tmp_path / ".dvc").mkdir()
    copy(ROOT / "prefect.toml", tmp_path)
    mounted = ["unshare", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, "sh"]
    if which("unshare") is None or subprocess.run([*mounted, "true"], cwd=tmp_path).returncode:
        pytest.skip("nothing can be mounted here")
    env = clean(tmp_path / "home") | {"PYTHONPATH": str(ROOT)}
    del env["PREFECT_API_URL"]
    done = subprocess.run(
        [*mounted, sys.executable, "-m", *command.split()], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    place, remedy = tmp_path.resolve(), "mount it for writing, or work in another folder"
    assert (done.returncode, done.stdout) == (74, "")
    assert done.stderr == f"error: AB-189 {place}: the file system is read-only\n  {remedy}\n"
