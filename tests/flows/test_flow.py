"""flows/recipe.py with a real server, a real worker and real DVC, on a toy pipeline of four stages."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from adaptbert.core.processes import cores
from flows.devices import cuda_ids
from tests.support.project import alive, free_port, stopped_at_the_end, wait_until
from tests.support.toy_flow import Toy, entry, pipeline, served


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with served(tmp_path_factory.mktemp("toy"), tmp_path_factory.mktemp("home")) as toy:
        yield toy


def test_deploys_and_runs_on_a_worker(toy: Toy) -> None:
    """The whole way of `prefect deployment run`; with a fastapi that Prefect cannot bear, the deploy fails here."""
    toy.order()
    toy.deploy()
    listed = toy.run("prefect", "deployment", "inspect", "recipe/nightly", "--output", "json")
    schedule = json.loads(listed.stdout)["schedules"][0]
    assert schedule["active"] is False

    refused = toy.run("prefect", "deployment", "run", "recipe/local", "--param", "jobs=99")
    assert refused.returncode != 0
    assert "99 is greater than the maximum of 16" in refused.stdout

    with toy.worker() as worker:
        ran = toy.run("prefect", "deployment", "run", "recipe/local", "--watch")
        assert ran.returncode == 0, ran.stdout
        worker.terminate()
        assert worker.wait(30) == 0

    assert (toy.root / "left.txt").read_text() == "left0.1"
    locked = (toy.root / "dvc.lock").read_text()
    assert all(f"  {stage}:" in locked for stage in ("start", "left", "right", "compare"))
    assert toy.moment("start", "end") <= min(toy.moment("left", "begin"), toy.moment("right", "begin"))
    first, second = sorted(("left", "right"), key=lambda stage: toy.moment(stage, "begin"))
    assert toy.moment(first, "end") <= toy.moment(second, "begin"), "the limit `gpu` has one slot"
    report = toy.artifact("report")
    assert f"(file://{toy.root.resolve()}/reports/index.html)" in report
    assert "# Which steps helped?" in report
    assert re.search(rf"{toy.root.name} [0-9a-f]{{7}} until compare", toy.run("prefect", "flow-run", "ls").stdout)


def test_what_is_up_to_date_costs_one_question(toy: Toy) -> None:
    """Of all stages DVC is asked once; then the changed ones run, and those that need them."""
    toy.order()
    toy.flow()
    again = toy.flow()
    assert "4 of 4 stages are up to date" in again
    assert "Task run" not in again
    toy.order(left=(0.2, 0))
    assert "2 of 4 stages are up to date" in toy.flow()
    assert {stage for stage in ("start", "left", "right", "compare") if toy.began(stage)} == {"left", "compare"}
    (toy.root / "right.txt").unlink()
    assert "1 of 2 stages are up to date" in toy.flow("--until", "right")
    assert toy.began("right")


def test_a_failing_stage_ends_the_flow_with_its_own_code(toy: Toy) -> None:
    """No stage starts after a failure, not even one that only waits for its slot; nothing is tried again."""
    toy.order(left=(0.2, 65), right=(0.2, 65))
    printed = toy.flow("--jobs", "4", code=65)
    assert "exited with 65" in printed
    assert "error: the reason" in printed
    assert toy.began("left") != toy.began("right"), "the second waited for the limit `gpu`"
    assert not toy.began("compare")
    assert "Retry" not in printed


@pytest.mark.slow
def test_a_failure_does_not_cut_off_what_runs(toy: Toy) -> None:
    """With two slots, a neighbour goes on to its end, and its result is kept."""
    assert toy.run("prefect", "gcl", "update", "gpu", "--limit", "2").returncode == 0
    toy.order(left=(3, 70), right=(6, 0))  # far more than lies between their starts
    toy.flow("--jobs", "2", code=70)
    assert toy.run("prefect", "gcl", "update", "gpu", "--limit", "1").returncode == 0
    assert (toy.root / "right.txt").read_text() == "right6"
    assert toy.moment("right", "begin") < toy.moment("left", "end"), "side by side"
    assert not toy.began("compare")


@pytest.mark.slow
def test_a_lock_of_another_dvc_is_waited_out(toy: Toy) -> None:
    toy.order(left=(20, 0))  # the flow begins meanwhile, also on a slow machine
    assert toy.run("dvc", "repro", "start").returncode == 0
    foreign = toy.start("dvc", "repro", "--single-item", "left")
    with stopped_at_the_end(foreign):
        wait_until(lambda: toy.began("left"), 30)
        printed = toy.flow("--until", "left")
        assert printed.count("waits for a lock of DVC\n") == 1
        assert [word for word in ("ERROR", "is busy", "DvcLocked", "Retry") if word in printed] == []
        assert foreign.wait(30) == 0
    assert not toy.began("right")


UNTIL_START = ("--until", "start")


@pytest.mark.parametrize(
    ("arguments", "file", "old", "new", "message"),
    [
        (
            ("--until", "compair"), "params.yaml", "", "",
            "no stage 'compair' (did you mean 'compare'?)\n  known: start, left, right, compare",
        ),
        (("--jobs", "0"), "params.yaml", "", "", "jobs: Input should be greater than or equal to 1"),
        (
            UNTIL_START, "params.yaml", "vocabulary_size: 8000", "lowercas: true",
            "unknown key 'lowercas' (did you mean 'lowercase'?)",
        ),
        ((), "dvc.yaml", "stages:", "stages: [", "error: AB-198 dvc.yaml: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_message_before_anything_starts(
    toy: Toy, arguments: tuple[str, ...], file: str, old: str, new: str, message: str
) -> None:
    """Also params that no stage asked for reads: the flow looks before it reads the graph."""
    toy.order()
    with toy.edited(file, old, new):
        assert message in toy.flow(*arguments, code=78)
    assert not toy.began("start")


def test_the_plan_is_made_first(toy: Toy) -> None:
    """So a name that is new in params.yaml needs no other command."""
    plan = toy.root / "plan.json"
    before = plan.read_text()
    with toy.edited("params.yaml", "replicates: 2", "replicates: 3"):
        toy.flow(*UNTIL_START)
        assert '"general-small-3"' in plan.read_text()
    plan.write_text(before)


@pytest.mark.slow
def test_runs_without_a_server(toy: Toy) -> None:
    """`python -m flows.recipe` brings a server of its own; without CUDA, stages that train share the cores."""
    toy.order(left=(3, 0), right=(3, 0))
    alone = toy.without_server()
    alone.flow("--jobs", "2")
    assert (toy.root / "right.txt").read_text() == "right3"
    if not cuda_ids():
        begins = [toy.moment(stage, "begin") for stage in ("left", "right")]
        assert max(begins) < min(toy.moment(stage, "end") for stage in ("left", "right")), "side by side"
    assert toy.mark("left", "threads") == str(max(1, cores() // 2))


@pytest.mark.slow
def test_a_dead_server_costs_half_a_minute_and_no_work(toy: Toy) -> None:
    """The stage that runs goes on; then the flow says that it lost its server."""
    toy.order(left=(3, 0), right=(3, 0))
    other = Toy(toy.root, toy.env | {"PREFECT_API_URL": f"http://127.0.0.1:{free_port()}/api"})
    with other.server() as server, stopped_at_the_end(other.start("flows.recipe", "--jobs", "1")) as flow:
        wait_until(lambda: toy.began("left") or toy.began("right"), 60)
        os.killpg(server.pid, signal.SIGKILL)
        first = "left" if toy.began("left") else "right"
        assert flow.wait(60) == 75
        waited = time.time() - toy.moment(first, "end")
    assert (toy.root / f"{first}.txt").read_text() == f"{first}3"
    assert waited < 30, f"{waited:.0f} s from the end of the stage to the end of the flow"


@pytest.mark.slow
def test_cancelling_ends_the_stage(toy: Toy) -> None:
    """Nothing is left running that nobody watches."""
    toy.order(start=(60, 0))
    toy.deploy()
    with toy.worker():
        submitted = toy.run("prefect", "deployment", "run", "recipe/local").stdout
        flow_run = re.search(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", submitted)
        assert flow_run is not None, submitted
        wait_until(lambda: toy.began("start"), 60)
        pid = int(toy.mark("start", "pid"))
        assert alive(pid)
        assert toy.run("prefect", "flow-run", "cancel", flow_run[0]).returncode == 0
        wait_until(lambda: not alive(pid), 30)
        assert not (toy.marks / "start.end").exists()


FOUR = ("a", "b", "c", "d")
PRETENDED_TORCH = """
class cuda:
    @staticmethod
    def device_count():
        return 4
"""


def test_stages_side_by_side_have_devices_of_their_own(tmp_path: Path) -> None:
    """Four stages on four slots; torch is made to say that there are four devices."""
    graph = pipeline(*(entry(name, gpu=True) for name in FOUR), entry("together", *(f"{name}.txt" for name in FOUR)))
    with served(tmp_path / "toy", tmp_path / "home", graph) as toy:
        (toy.root / "torch.py").write_text(PRETENDED_TORCH)
        toy.order(**dict.fromkeys(FOUR, (2.0, 0)), together=(0.1, 0))
        assert toy.run("prefect", "gcl", "update", "gpu", "--limit", "4").returncode == 0
        toy.flow("--until", "together", "--jobs", "4")
        assert {toy.mark(name, "devices") for name in FOUR} == {"0", "1", "2", "3"}


# Signals to a flow that somebody started in a terminal: what runs ends, nothing new starts, no slot stays taken.

AGAIN = "the same command goes on from here"


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["start", "left"])
def test_a_terminals_ctrl_c_ends_all_in_a_few_lines(toy: Toy, stage: str) -> None:
    """The signal reaches the flow, the server that it brought, DVC and the stage, which saves its state.

    `left` has a slot of the limit `gpu`, which nobody can give back to a server that has ended.
    """
    toy.order(**{stage: (60, 0)})
    alone = toy.without_server()
    with stopped_at_the_end(alone.start("flows.recipe")) as flow:
        wait_until(lambda: toy.began(stage), 60)
        pid = int(toy.mark(stage, "pid"))
        os.killpg(flow.pid, signal.SIGINT)
        assert flow.wait(60) == 75
    printed = alone.log_file("flows.recipe").read_text()
    assert AGAIN in printed
    assert "Traceback" not in printed, printed
    assert not alive(pid)
    toy.order()
    alone.flow()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_before_the_first_stage_starts_none(toy: Toy, number: signal.Signals) -> None:
    """With a server that lives on, while the flow asks DVC what is out of date."""
    toy.order(start=(60, 0))
    log = toy.log_file("flows.recipe")
    log.unlink(missing_ok=True)
    with stopped_at_the_end(toy.start("flows.recipe")) as flow:
        wait_until(lambda: has_child(flow.pid, "dvc", "status"), 60)
        os.kill(flow.pid, number)
        assert flow.wait(60) == 75
    assert AGAIN in log.read_text()
    assert "Traceback" not in log.read_text()
    assert not toy.began("start")


@pytest.mark.slow
def test_ending_the_flow_alone_ends_its_server_and_the_stage(toy: Toy) -> None:
    """As `kill` does, which sends the signal to this process and to no other."""
    toy.order(left=(60, 0))
    alone = toy.without_server()
    log = alone.log_file("flows.recipe")
    log.unlink(missing_ok=True)
    with stopped_at_the_end(alone.start("flows.recipe")) as flow:
        wait_until(lambda: toy.began("left"), 60)
        others = psutil.Process(flow.pid).children(recursive=True)
        assert any("uvicorn" in " ".join(process.cmdline()) for process in others)
        flow.terminate()
        assert flow.wait(60) == 75
    wait_until(lambda: not any(process.is_running() for process in others), 30)
    assert AGAIN in log.read_text()
    assert "Traceback" not in log.read_text()
    assert not (toy.marks / "left.end").exists()


def has_child(pid: int, *words: str) -> bool:
    """Whether this process has started one with these words in its command line."""
    for process in psutil.Process(pid).children():
        with suppress(psutil.Error):  # it has just ended
            if set(words) <= set(process.cmdline()):
                return True
    return False
