"""flows/recipe.py with a real server, a real worker and real DVC, on a toy pipeline of four stages."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError

import psutil
import pytest

from adaptbert.core.processes import cores
from tests.support.project import alive, free_port, stopped_at_the_end, wait_until
from tests.support.toy_flow import STAGES, Toy, served


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with served(tmp_path_factory.mktemp("toy"), tmp_path_factory.mktemp("home")) as toy:
        yield toy


def test_from_a_deployment_to_what_is_out_of_date(toy: Toy) -> None:
    """The whole way of `prefect deployment run` (with a fastapi that Prefect cannot bear, the deploy fails here); then
    the flow by itself: of all stages DVC is asked once, and the changed ones run, and those that need them."""
    toy.order()
    toy.deploy()
    (schedule,) = toy.api("deployments/name/recipe/nightly")["schedules"]
    assert schedule["active"] is False
    deployment = toy.api("deployments/name/recipe/local")["id"]
    with pytest.raises(HTTPError) as refused:
        toy.api(f"deployments/{deployment}/create_flow_run", {"parameters": {"jobs": 99}})
    assert b"99 is greater than the maximum of 16" in refused.value.read()

    with toy.worker() as worker:
        ran = toy.run("prefect", "deployment", "run", "recipe/local", "--watch")
        assert ran.returncode == 0, ran.stdout
        worker.terminate()
        assert worker.wait(60) == 0
    assert (toy.root / "left.txt").read_text() == "left0.1"
    locked = (toy.root / "dvc.lock").read_text()
    assert all(f"  {stage}:" in locked for stage in STAGES)
    assert toy.moment("start", "end") <= min(toy.moment("left", "begin"), toy.moment("right", "begin"))
    report = toy.api("artifacts/report/latest")["data"]
    assert f"(file://{toy.root.resolve()}/reports/index.html)" in report
    assert "# The recipe: undecided on section" in report
    assert re.fullmatch(rf"{toy.root.name} [0-9a-f]{{7}} until compare", toy.api("flow_runs/filter", {})[0]["name"])

    plan = toy.root / "plan.json"
    before = plan.read_text()
    toy.order(left=(5.0, 0), right=(5.1, 0))  # both begin meanwhile, also on a slow machine
    pretended = toy.with_devices(2, ADAPTBERT_DEVICES="1")
    with toy.edited("params.yaml", "replicates: 2", "replicates: 3"):
        said = pretended.flow("--jobs", "4")
        assert "will run: 3 of 4 stages: 1 left, 1 right, 1 compare\n" in said
        assert re.findall(r"\d\d:\d\d:\d\d  (\w+): done \(\d+ s; (\d of 3)", said)[-1] == ("compare", "3 of 3")
        assert not re.search("Running stage|begin left|dvc push|Finished in state|> exec", said)
        assert '"general-small-3"' in plan.read_text(), "a name that is new in params.yaml needs no other command"
    plan.write_text(before)
    assert {stage for stage in STAGES if toy.began(stage)} == {"left", "right", "compare"}
    assert {toy.mark(name, "devices") for name in ("left", "right")} == {"0", "1"}, "side by side"


def test_a_failing_stage_ends_the_flow_with_its_own_code(toy: Toy) -> None:
    """No stage starts after a failure, not even one that only waits for its device; nothing is tried again. What a
    library quotes of an address is nowhere complete, neither here nor with the server."""
    toy.order(left=(0.2, 65), right=(0.2, 65))
    printed = toy.with_devices(1).flow("--jobs", "4", code=65)
    assert "exited with 65" in printed
    assert "error: the reason: no answer of https://***@host/x?sig=***" in printed
    logged = [each["message"] for each in toy.api("logs/filter", {"limit": 200})]
    assert [line for line in logged if "the reason: no answer of https://***@host/x?sig=***" in line]
    states = [each["state"]["message"] for each in toy.api("task_runs/filter", {"sort": "EXPECTED_START_TIME_DESC"})]
    assert [message for message in states if message and "no answer of https://***@host/x?sig=***" in message]
    kept = [path for path in (toy.root / ".prefect").rglob("*") if path.is_file()]
    assert any(path.suffix == ".db" for path in kept)
    assert "planted" not in printed
    assert not [path for path in kept if b"planted" in path.read_bytes()]
    assert toy.began("left") != toy.began("right"), "the second waited for the device"
    assert not toy.began("compare")
    assert "Retry" not in printed


@pytest.mark.slow
def test_a_failure_does_not_cut_off_what_runs(toy: Toy) -> None:
    """A neighbour goes on to its end, and its result is kept."""
    toy.order(left=(3, 70), right=(6, 0))  # far more than lies between their starts
    toy.with_devices(0).flow("--jobs", "2", code=70)
    assert (toy.root / "right.txt").read_text() == "right6"
    assert toy.moment("right", "begin") < toy.moment("left", "end"), "side by side"
    assert not toy.began("compare")


@pytest.mark.slow
def test_a_lock_of_another_dvc_is_waited_out(toy: Toy) -> None:
    toy.order(left=(300, 0))
    assert toy.run("dvc", "repro", "start").returncode == 0
    with stopped_at_the_end(toy.start("dvc", "repro", "--single-item", "left")) as foreign:
        wait_until(lambda: toy.began("left"), 60)
        log = toy.log_file("flows.recipe", "--until")
        with stopped_at_the_end(toy.start("flows.recipe", "--until", "left")) as flow:
            wait_until(lambda: "- Retry 1/5 will start" in log.read_text(), 150)
            toy.order()
            os.killpg(foreign.pid, signal.SIGINT)
            assert flow.wait(100) == 0
    assert "another DVC process is at work here" in log.read_text()
    assert (toy.root / "left.txt").read_text() == "left0.1"


def test_what_is_wrong_is_one_message_before_anything_starts(toy: Toy) -> None:
    """Also params that no stage asked for reads: the flow looks before it reads the graph."""
    toy.order()
    with toy.edited("params.yaml", "vocabulary_size: 4000", "lowercas: true"):
        assert "unknown key 'lowercas' (did you mean 'lowercase'?)" in toy.flow("--until", "start", code=78)
    assert not toy.began("start")


@pytest.mark.slow
def test_a_dead_server_costs_half_a_minute_and_no_work(toy: Toy) -> None:
    """All stages are run; then the flow says in a line that it lost its server."""
    toy.order(left=(3.1, 0), right=(3.2, 0))
    other = Toy(toy.root, toy.env | {"PREFECT_API_URL": f"http://127.0.0.1:{free_port()}/api"})
    with other.server() as server, started(other, "--jobs", "1") as flow:
        wait_until(lambda: toy.began("left") or toy.began("right"), 60)
        os.killpg(server.pid, signal.SIGKILL)
        assert flow.wait(180) == 75
        waited = time.time() - toy.moment("compare", "end")
    assert [(toy.root / f"{name}.txt").read_text() for name in ("left", "right")] == ["left3.1", "right3.2"]
    assert waited < 30, f"{waited:.0f} s from the end of the last stage to the message"
    printed = other.log_file("flows.recipe", "--jobs", "1").read_text()
    assert re.search(
        r"\nerror: the Prefect server does not answer \(.*\); finished stages are kept, run again\n$", printed
    )
    assert not OF_A_LOST_SERVER.search(printed), printed


@pytest.mark.slow
def test_a_server_of_its_own_starts_again(toy: Toy) -> None:
    """Memory ran out, say: the stages go on, and the flow ends well."""
    toy.order(left=(20.5, 0))
    alone = toy.without_server()
    with started(alone) as flow:
        wait_until(lambda: toy.began("left"), 150)
        next(each for each in psutil.Process(flow.pid).children() if "uvicorn" in each.cmdline()).kill()
        assert flow.wait(180) == 0
    printed = alone.log_file("flows.recipe").read_text()
    assert "the temporary Prefect server has ended, and starts again\n" in printed
    assert not OF_A_LOST_SERVER.search(printed), printed


OF_A_LOST_SERVER = re.compile("Error logging|EventsWorker|Unable to connect|items remaining|Traceback")


@pytest.mark.slow
def test_cancelling_ends_the_stage(toy: Toy) -> None:
    """Nothing is left running that nobody watches."""
    toy.order(start=(60, 0))
    toy.deploy()
    with toy.worker():
        submitted = toy.run("prefect", "deployment", "run", "recipe/local").stdout
        flow_run = re.search(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", submitted)
        assert flow_run is not None, submitted
        wait_until(lambda: toy.began("start"), 150)
        pid = int(toy.mark("start", "pid"))
        assert alive(pid)
        assert toy.run("prefect", "flow-run", "cancel", flow_run[0]).returncode == 0
        wait_until(lambda: not alive(pid), 30)
        assert not (toy.marks / "start.end").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("killed", [("server",), ("worker", "run"), ("server", "worker", "run")], ids=" and ".join)
def test_after_a_kill_the_next_run_starts_by_itself(toy: Toy, killed: tuple[str, ...]) -> None:
    """Once the killed are there again; where the run lives on, after its end: never two in a folder."""
    seconds = 20.0 + len("".join(killed))  # another stage each time
    toy.order(left=(seconds, 0))
    other = Toy(toy.root, toy.env | {"PREFECT_API_URL": f"http://127.0.0.1:{free_port()}/api"})
    with ExitStack() as parts:
        first = {"server": parts.enter_context(other.server())}
        other.deploy()
        first["worker"] = parts.enter_context(other.worker())
        other.run("prefect", "deployment", "run", "recipe/local")
        wait_until(lambda: toy.began("left"), 120)
        if "run" in killed:  # Prefect gives it a group of its own
            os.killpg(os.getpgid(int(toy.mark("left", "pid"))), signal.SIGKILL)
        for name in filter(first.get, killed):
            os.killpg(first[name].pid, signal.SIGKILL)
            first[name].wait()
            parts.enter_context(getattr(other, name)())
        ran = other.run("prefect", "deployment", "run", "recipe/local", "--watch", timeout=240)
    assert ran.returncode == 0, ran.stdout
    assert (toy.root / "left.txt").read_text() == f"left{seconds}"
    assert len((toy.marks / "left.folders").read_text().splitlines()) == (2 if "run" in killed else 1)


# Signals to a flow that somebody started in a terminal: what runs ends, nothing new starts.

STOPPED = re.compile(r"(.*\n)?stopped by SIG(INT|TERM|HUP); the same command goes on from here\n", re.DOTALL)


def judge(printed: str) -> None:
    """One line of it, and nothing of what failed because of the signal."""
    assert STOPPED.fullmatch(printed), printed
    assert printed.count("stopped") == 1, printed
    assert not re.search("Traceback|ERROR|WARNING|[Ff]ailed|Crash|connection", printed), printed


@contextmanager
def started(toy: Toy, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The flow in the background, with a new log."""
    toy.log_file("flows.recipe", *arguments).unlink(missing_ok=True)
    with stopped_at_the_end(toy.start("flows.recipe", *arguments)) as flow:
        yield flow


def of_terminal(flow: "subprocess.Popen[bytes]") -> None:
    """Ctrl-C, which reaches the flow, the server that it brought, DVC and the stage."""
    os.killpg(flow.pid, signal.SIGINT)


def of_kill(flow: "subprocess.Popen[bytes]") -> None:
    """To this process and to no other."""
    flow.terminate()


@pytest.mark.slow
def test_a_terminals_ctrl_c_ends_all_in_a_line(toy: Toy) -> None:
    """The stage saves its state, and the same command goes on; without CUDA, stages that train share the cores."""
    toy.order(left=(60, 0))
    alone = toy.without_server().with_devices(0)
    with started(alone) as flow:
        wait_until(lambda: toy.began("left"), 150)
        pid = int(toy.mark("left", "pid"))
        of_terminal(flow)
        assert flow.wait(60) == 75
    judge(alone.log_file("flows.recipe").read_text())
    assert not alive(pid)
    toy.order(left=(4, 0), right=(4, 0))
    alone.flow("--jobs", "2", timeout=300)
    assert toy.are_side_by_side("left", "right")
    assert toy.mark("left", "threads") == str(max(1, cores() // 2))


OF_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the signals that a process takes are read from /proc")


@pytest.mark.parametrize(
    ("begun", "brings_a_server", "sent"),
    [
        pytest.param("", True, of_terminal, id="imports, which take seconds", marks=OF_LINUX),
        pytest.param("uvicorn", True, of_terminal, id="its server", marks=pytest.mark.slow),
        pytest.param("uvicorn", True, of_kill, id="its server, kill", marks=pytest.mark.slow),
        pytest.param("commands.params", False, of_terminal, id="the plan"),
        pytest.param("commands.params", False, of_kill, id="the plan, kill", marks=pytest.mark.slow),
        pytest.param("--single-item", False, of_terminal, id="a stage", marks=pytest.mark.slow),
        pytest.param("--single-item", False, of_kill, id="a stage, kill", marks=pytest.mark.slow),
    ],
)
def test_a_signal_while_something_begins(
    toy: Toy, begun: str, brings_a_server: bool, sent: Callable[["subprocess.Popen[bytes]"], None]
) -> None:
    """Prefect waits for a server for two minutes, and has a handler of its own for SIGTERM; DVC takes a second to begin
    with a stage."""
    toy.order(start=(60, 0))
    own = toy.without_server() if brings_a_server else toy
    with started(own) as flow:
        wait_until(lambda: has_child(flow.pid, begun) if begun else takes(signal.SIGTERM, flow.pid), 60)
        others = psutil.Process(flow.pid).children(recursive=True)
        sent(flow)
        assert flow.wait(100) == 75
    judge(own.log_file("flows.recipe").read_text())
    wait_until(lambda: not any(process.is_running() for process in others), 60)
    assert not (toy.marks / f"start.{'end' if begun == '--single-item' else 'begin'}").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param([signal.SIGTERM], 75, id="kill"),
        pytest.param([signal.SIGINT], 75, id="an interrupt that no terminal sent"),
        pytest.param([signal.SIGINT, signal.SIGTERM], -signal.SIGTERM, id="a second signal"),
        pytest.param([signal.SIGKILL], -signal.SIGKILL, id="kill -9"),
    ],
)
def test_ending_the_flow_alone_ends_its_server_and_the_stage(toy: Toy, sent: list[signal.Signals], code: int) -> None:
    toy.order(left=(60, 0))
    alone = toy.without_server()
    with started(alone) as flow:
        wait_until(lambda: toy.began("left"), 150)
        others = psutil.Process(flow.pid).children(recursive=True)
        assert any("uvicorn" in " ".join(process.cmdline()) for process in others)
        for number in sent:
            flow.send_signal(number)
            time.sleep(0.05)
        assert flow.wait(60) == code
    wait_until(lambda: not any(process.is_running() for process in others), 30)
    printed = alone.log_file("flows.recipe").read_text()
    if code == 75:
        judge(printed)
    if sent[0] != signal.SIGKILL:
        assert f"\n{sent[0].name}: waits until all that runs is saved; a second signal ends it at once\n" in printed
    assert not (toy.marks / "left.end").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("killed", ["stage", "flow", "worker"])
def test_a_kill_loses_no_slot(toy: Toy, tmp_path: Path, killed: str) -> None:
    """Two stages share a device, and one of them, their flow or its worker is killed; the next flow shares it again."""
    shared = toy.with_devices(1, ADAPTBERT_STAGES_PER_DEVICE="2", XDG_CACHE_HOME=str(tmp_path))
    seconds = {"stage": 20.1, "flow": 20.2, "worker": 20.3}[killed]
    toy.order(left=(seconds, 0), right=(seconds, 0))
    toy.deploy()
    with shared.worker() as worker:
        assert toy.run("prefect", "deployment", "run", "recipe/local").returncode == 0
        wait_until(lambda: toy.began("left") and toy.began("right"), 150)
        assert {toy.mark(name, "devices") for name in ("left", "right")} == {"0"}
        assert len([*tmp_path.glob("adaptbert/tickets/0*")]) == 2
        stage = int(toy.mark("left", "pid"))
        dvc = psutil.Process(stage).parent()
        assert dvc is not None
        flow = dvc.ppid()
        os.kill({"stage": stage, "flow": flow, "worker": worker.pid}[killed], signal.SIGKILL)
        toy.order()
    shared.flow(timeout=280)
    assert (toy.root / "right.txt").read_text() == "right0.1"
    assert not [*tmp_path.glob("adaptbert/tickets/0*")]


def takes(number: signal.Signals, pid: int) -> bool:
    """Whether this process has a handler for a signal."""
    handled = re.search(r"SigCgt:\s+(\w+)", Path(f"/proc/{pid}/status").read_text())
    return handled is not None and bool(int(handled[1], 16) >> (number - 1) & 1)


def has_child(pid: int, word: str) -> bool:
    """Whether this process has started one with this word in its command line."""
    for process in psutil.Process(pid).children():
        with suppress(psutil.Error):  # it has just ended
            if word in " ".join(process.cmdline()):
                return True
    return False
