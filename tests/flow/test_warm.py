"""Stages that are handed over to a warm process: real processes, beside stages that start by themselves."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from adaptbert.errors import BadParams
from adaptbert.flow.hand_over import WARM_SOCKET
from adaptbert.flow.warm import PATH, warm_process
from adaptbert.runtime.signals import PASSED_ON
from adaptbert.runtime.variables import WARM
from tests.faults.small_project import COMMANDS, MADE, QUICK, make
from tests.support.project import ROOT, alive, environment, restore_interrupt, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no warm process")

TOY = """
import os, signal, sys, time
from pathlib import Path
from adaptbert.runtime import signals
from adaptbert.runtime.user_errors import user_errors
how, *more = sys.argv[1:]
kind = "warm" if "torch" in sys.modules else "cold"
print(kind, __name__, Path(sys.argv[0]).name, os.environ.get("DVC_STAGE"), flush=True)


def wait():
    Path("pid").write_text(str(os.getpid()))
    time.sleep(60)


if how == "exit":
    sys.exit(int(more[0]))
if how == "message":
    sys.exit("a last word")
if how == "fault":
    raise RuntimeError("a fault")
if how == "signal":
    os.kill(os.getpid(), int(more[0]))
if how == "wait":
    wait()
if how == "read":
    print(sys.stdin.read(), file=sys.stderr)
if how == "save":
    with user_errors("the same command goes on from here"):
        signals.raise_at_once()
        signals.die_with_parent()
        wait()
"""
TRAINED = [*COMMANDS][:4]
"""Stages, one of each kind that trains."""
LAST_WORDS = "; the same command goes on from here\n"


class Flow:
    """What the flow has of a stage: a folder and variables; `warm` are those by which a stage finds the warm process.

    Attributes:
        pid: of the warm process.
    """

    def __init__(self, root: Path, env: Mapping[str, str], warm: Mapping[str, str], pid: int) -> None:
        self.root, self.env, self.warm, self.pid = root, env, warm, pid

    def start(self, *arguments: str, stage: str = "toy", **variables: str) -> "subprocess.Popen[str]":
        """A stage in the background, as DVC starts it, with an input of one word."""
        (self.root / "pid").unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-m", f"stages.{stage}", *arguments],
            cwd=self.root, env={**self.env, **self.warm, "DVC_STAGE": stage, **variables},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=restore_interrupt,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write("input")
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, *arguments: str, stage: str = "toy", **variables: str) -> tuple[int, str, str]:
        """Exit status, output and errors of a stage."""
        with self.start(*arguments, stage=stage, **variables) as process:
            printed, errors = process.communicate(timeout=120)
        return process.returncode, printed, errors

    def computing(self) -> int:
        """The process that computes, once it does."""
        file = self.root / "pid"
        wait_until(lambda: file.is_file() and file.read_text() != "", 60)
        return int(file.read_text())


def project(root: Path) -> dict[str, str]:
    """A folder with the toy stage and a library of its own; returns variables of its stages."""
    for name in ("adaptbert", "stages"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "stages/toy.py").write_text(TOY)
    (root / ".work").mkdir()
    return environment(root / "home") | QUICK | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": str(root)}


# In a process of its own, because a flow may be killed.
FLOW = """
import os, sys, time
from adaptbert.runtime.variables import WARM
from adaptbert.flow.warm import warm_process
with warm_process(dict(os.environ), 3, False) as variables:
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def ready(root: Path) -> Iterator[Callable[[], Flow]]:
    """A flow with a warm process that has imported all; another one, if that was killed."""
    env, flows = project(root), list[subprocess.Popen[bytes]]()

    def flow() -> Flow:
        if not flows or not below(flows[-1]):
            for each in flows:
                each.kill()
            flows.append(subprocess.Popen([sys.executable, "-c", FLOW], cwd=root, env=env, stdin=subprocess.PIPE))
            (root / PATH).unlink(missing_ok=True)
            wait_until(lambda: (root / PATH).exists(), 200)
        (warm,) = below(flows[-1])
        return Flow(root, env, {WARM_SOCKET: str(PATH)}, warm)

    yield flow
    for each in flows:
        each.communicate(timeout=60)


def below(flow: "subprocess.Popen[bytes]") -> list[int]:
    """The processes that it has started and that run."""
    if flow.poll() is not None:
        return []
    return [each.pid for each in psutil.Process(flow.pid).children() if alive(each.pid)]


@pytest.fixture
def flow(ready: Callable[[], Flow]) -> Flow:
    return ready()


@pytest.mark.parametrize(
    ("arguments", "status", "errors"),
    [
        (["exit", "0"], 0, ""),
        (["exit", "65"], 65, ""),
        (["message"], 1, "a last word\n"),
        (["fault"], 1, "RuntimeError: a fault\n"),
        (["signal", str(int(signal.SIGSEGV))], -signal.SIGSEGV, ""),
        (["signal", str(int(signal.SIGKILL))], -signal.SIGKILL, ""),
        (["read"], 0, "input\n"),
    ],
)
def test_a_stage_ends_as_it_does_by_itself(flow: Flow, arguments: list[str], status: int, errors: str) -> None:
    """With the same streams, names and environment."""
    code, printed, said = flow.run(*arguments)
    assert (code, printed) == (status, "warm __main__ toy.py toy\n")
    assert said.endswith(errors)
    flow.warm = {}
    code, printed, alone = flow.run(*arguments)
    assert (code, printed) == (status, "cold __main__ toy.py toy\n")
    assert said.splitlines()[-1:] == alone.splitlines()[-1:]


@pytest.mark.parametrize(
    ("variables", "how"),
    [
        ({"CUDA_VISIBLE_DEVICES": "1", "DVC_ROOT": "there"}, "warm"),
        ({"OMP_NUM_THREADS": "2"}, "cold"),
        ({"ATEN_CPU_CAPABILITY": "default"}, "cold"),
        ({WARM_SOCKET: "nothing"}, "cold"),
    ],
)
def test_a_stage_with_other_variables_starts_by_itself(flow: Flow, variables: dict[str, str], how: str) -> None:
    assert flow.run("exit", "3", **variables) == (3, f"{how} __main__ toy.py toy\n", "")


def test_after_an_edit_a_stage_starts_by_itself(flow: Flow) -> None:
    """Of the library, which the warm process has imported; a stage's own file is read anew."""
    module = flow.root / "adaptbert/statistics/spread.py"
    before, status = module.read_bytes(), module.stat()
    module.write_bytes(before + b"\n# edited\n")
    assert flow.run("exit", "0")[1].startswith("cold")
    module.write_bytes(before)
    os.utime(module, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert flow.run("exit", "0")[1].startswith("warm")
    (flow.root / "stages/other.py").write_text("import sys\nprint('torch' in sys.modules)\n")
    assert flow.run(stage="other") == (0, "True\n", "")


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGTERM"), (PASSED_ON, "SIGTERM")]
)
def test_a_signal_to_the_stage_reaches_the_process_that_computes(flow: Flow, number: int, name: str) -> None:
    with flow.start("save") as stage:
        computing = flow.computing()
        assert computing != stage.pid
        stage.send_signal(number)
        _, errors = stage.communicate(timeout=60)
    assert (stage.returncode, errors) == (75, f"stopped by {name}{LAST_WORDS}")
    assert not alive(computing)


def test_a_signal_before_the_stage_heeds_it_ends_it(flow: Flow) -> None:
    with flow.start("wait") as stage:
        computing = flow.computing()
        stage.terminate()
        assert stage.wait(60) == -signal.SIGTERM
    assert not alive(computing)


def test_nohup_stays_in_force(flow: Flow) -> None:
    command = 'trap "" HUP; exec "$0" "$@"'
    again = [sys.executable, "-m", "stages.toy", "save"]
    (flow.root / "pid").unlink(missing_ok=True)
    env = {**flow.env, **flow.warm}
    with subprocess.Popen(["sh", "-c", command, *again], cwd=flow.root, env=env, stderr=subprocess.DEVNULL) as stage:
        computing = flow.computing()
        for number in (signal.SIGHUP, signal.SIGHUP):
            stage.send_signal(number)
            os.kill(computing, number)
        time.sleep(0.5)
        assert stage.poll() is None
        assert alive(computing)
        stage.terminate()
        assert stage.wait(60) == 75


def test_a_killed_stage_computes_no_more(flow: Flow) -> None:
    with flow.start("save") as stage:
        computing = flow.computing()
        stage.kill()
    wait_until(lambda: not alive(computing), 30)
    assert flow.run("exit", "0")[1].startswith("warm"), "the warm process serves others"


def test_a_killed_dvc_lets_its_stage_save(flow: Flow) -> None:
    """The stage hears of it from the kernel, as by itself."""
    start = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'stages.toy', 'save'])"
    (flow.root / "pid").unlink(missing_ok=True)
    env = {**flow.env, **flow.warm}
    with subprocess.Popen([sys.executable, "-c", start], cwd=flow.root, env=env, stderr=subprocess.PIPE) as dvc:
        computing = flow.computing()
        dvc.kill()
        assert dvc.stderr is not None
        assert dvc.stderr.read().decode() == f"stopped by SIGTERM{LAST_WORDS}"
    wait_until(lambda: not alive(computing), 30)


@pytest.mark.parametrize("killed", ["warm process", "flow"])
def test_a_killed_parent_leaves_no_process(flow: Flow, killed: str) -> None:
    """What computes saves its state; the stage ends as if it were killed; the next ones start by themselves."""
    with flow.start("save") as stage:
        computing = flow.computing()
        parent = psutil.Process(flow.pid)
        (parent if killed == "warm process" else parent.parent() or parent).kill()
        _, errors = stage.communicate(timeout=60)
    assert (stage.returncode, errors) == (-signal.SIGKILL, f"stopped by SIGTERM{LAST_WORDS}")
    wait_until(lambda: not alive(computing) and not alive(flow.pid), 30)
    assert flow.run("exit", "0") == (0, "cold __main__ toy.py toy\n", "")


def test_a_word_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WARM, "yes")
    with (
        pytest.raises(BadParams, match="AB-109 ADAPTBERT_WARM: expected true or false, found 'yes'\n"),
        warm_process({}, 3, False),
    ):
        pass


@pytest.mark.parametrize(
    ("word", "trainings", "has_devices", "is_there"),
    [
        ("", 2, False, False),
        ("", 3, True, False),
        ("false", 3, False, False),
        ("", 3, False, True),
        ("True", 1, True, True),
    ],
)
def test_where_there_is_a_warm_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, trainings: int, has_devices: bool, is_there: bool
) -> None:
    """Where it pays, or somebody wants it; it ends with its block."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(WARM, word)
    before = {*psutil.Process().children()}
    with warm_process(dict(os.environ), trainings, has_devices) as variables:
        started = {*psutil.Process().children()} - before
        assert (WARM_SOCKET in variables) == bool(started) == is_there
    assert not any(each.is_running() for each in started)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_stages_that_train_write_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlflow_tables: bytes
) -> None:
    """Of every kind, with a process for batches; and print the same lines."""
    make(tmp_path, accumulate=1)
    (tmp_path / "mlflow.db").write_bytes(mlflow_tables)
    (tmp_path / ".work").mkdir()
    env = environment(tmp_path) | QUICK | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    env |= {"ADAPTBERT_BATCH_WORKERS": "1", "ADAPTBERT_SAVE_SECONDS": "60"}
    by_itself = {stage: written(Flow(tmp_path, env, {}, 0), stage) for stage in TRAINED}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(WARM, "true")
    with warm_process(env, 1, False) as variables:
        wait_until((tmp_path / PATH).exists, 200)
        flow = Flow(tmp_path, env, variables, 0)
        assert {stage: written(flow, stage) for stage in TRAINED} == by_itself
    assert not PATH.exists()


def written(flow: Flow, stage: str) -> tuple[str, dict[str, bytes]]:
    """The lines of a stage without speeds and times, and the files that it has written."""
    name, command = stage.partition(" ")[0], COMMANDS[stage].split()
    outputs = [flow.root / path for option, path in pairwise(command) if option in MADE]
    shutil.rmtree(flow.root / f".work/{'-'.join(Path(command[command.index('--out') + 1]).parts)}", ignore_errors=True)
    status, printed, errors = flow.run(*command, stage=name)
    assert (status, errors) == (0, "")
    files = [file for path in outputs for file in (path, *path.rglob("*")) if file.is_file()]
    lines = re.sub(r"[\d.,]+ (times as|tokens)", r"\1", printed).removeprefix("generated new fontManager\n")
    return lines, {str(file.relative_to(flow.root)): file.read_bytes() for file in files}
