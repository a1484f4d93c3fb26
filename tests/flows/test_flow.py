"""flows/recipe.py with a real server, a real worker and real DVC, on a toy pipeline of four stages."""

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
from prefect.states import exception_to_failed_state

from adaptbert.core.processes import cores
from flows.devices import cuda_ids
from flows.recipe import DvcLocked, StageFailed, may_pass
from flows.stage_process import CommandFailed, heard
from tests.support.project import alive, free_port, stopped_at_the_end, wait_until
from tests.support.toy_flow import Toy


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
    assert re.search(r"demo [0-9a-f]{7} until compare", toy.run("prefect", "flow-run", "ls").stdout)


def test_what_is_up_to_date_costs_one_question(toy: Toy) -> None:
    """Of all stages DVC is asked once; then the changed ones run, and those that need them."""
    toy.order()
    assert toy.run("flows.recipe").returncode == 0
    again = toy.run("flows.recipe")
    assert "4 of 4 stages are up to date" in again.stdout
    assert "Task run" not in again.stdout
    toy.order(left=(0.2, 0))
    changed = toy.run("flows.recipe")
    assert "2 of 4 stages are up to date" in changed.stdout
    assert {stage for stage in ("start", "left", "right", "compare") if toy.began(stage)} == {"left", "compare"}
    (toy.root / "right.txt").unlink()
    lost = toy.run("flows.recipe", "--until", "right")
    assert "1 of 2 stages are up to date" in lost.stdout
    assert toy.began("right")


def test_a_failing_stage_ends_the_flow_with_its_own_code(toy: Toy) -> None:
    """No stage starts after a failure, not even one that only waits for its slot; nothing is tried again."""
    toy.order(left=(0.2, 65), right=(0.2, 65))
    ran = toy.run("flows.recipe", "--jobs", "4")
    assert ran.returncode == 65, ran.stdout
    assert "exited with 65" in ran.stdout
    assert "error: the reason" in ran.stdout
    assert "Traceback" not in ran.stdout
    assert toy.began("left") != toy.began("right"), "the second waited for the limit `gpu`"
    assert not toy.began("compare")
    assert "Retry" not in ran.stdout


@pytest.mark.slow
def test_a_failure_does_not_cut_off_what_runs(toy: Toy) -> None:
    """With two slots, a neighbour goes on to its end, and its result is kept."""
    assert toy.run("prefect", "gcl", "update", "gpu", "--limit", "2").returncode == 0
    toy.order(left=(3, 70), right=(6, 0))  # far more than lies between their starts
    ran = toy.run("flows.recipe", "--jobs", "2")
    assert toy.run("prefect", "gcl", "update", "gpu", "--limit", "1").returncode == 0
    assert ran.returncode == 70, ran.stdout
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
        ran = toy.run("flows.recipe", "--until", "left")
        assert ran.returncode == 0, ran.stdout
        assert ran.stdout.count("waits for a lock of DVC\n") == 1
        assert [word for word in ("ERROR", "is busy", "DvcLocked", "Retry") if word in ran.stdout] == []
        assert foreign.wait(30) == 0
    assert not toy.began("right")


UNTIL_START = ("--until", "start")
IN_DVC_YAML = "error: AB-198 dvc.yaml: "


@pytest.mark.parametrize(
    ("arguments", "file", "edit", "messages"),
    [
        (
            ("--until", "compair"), "params.yaml", str,
            ["no stage 'compair' (did you mean 'compare'?)\n  known: start, left, right, compare"],
        ),
        (("--jobs", "0"), "params.yaml", str, ["jobs: Input should be greater than or equal to 1"]),
        (
            UNTIL_START, "params.yaml", lambda text: text.replace("vocabulary_size: 8000", "lowercas: true"),
            ["unknown key 'lowercas' (did you mean 'lowercase'?)"],
        ),
        ((), "dvc.yaml", lambda _: None, [IN_DVC_YAML, "it names no stage, or is missing"]),
        ((), "dvc.yaml", lambda _: "stages: [\n", [IN_DVC_YAML, "expected node content"]),
        ((), "dvc.yaml", lambda _: "stages: 3\n", [IN_DVC_YAML, "validation failed"]),
        ((), "dvc.yaml", lambda _: "stages:\n a:\n  cmd: ${no}\n", [IN_DVC_YAML, "Could not find 'no'"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_message_before_anything_starts(
    toy: Toy, arguments: tuple[str, ...], file: str, edit: Callable[[str], str | None], messages: list[str]
) -> None:
    """Also params that no stage asked for reads: the flow looks before it reads the graph."""
    toy.order()
    path = toy.root / file
    before = path.read_text()
    after = edit(before)
    path.write_text(after) if after is not None else path.unlink()
    try:
        ran = toy.run("flows.recipe", *arguments)
    finally:
        path.write_text(before)
    assert ran.returncode == 78, ran.stdout
    assert [message for message in messages if message not in ran.stdout] == [], ran.stdout
    assert "Traceback" not in ran.stdout
    assert not toy.began("start")


def test_the_plan_is_made_first(toy: Toy) -> None:
    """So a name that is new in params.yaml needs no other command."""
    before = {path: path.read_text() for path in (toy.root / "params.yaml", toy.root / "plan.json")}
    params, plan = before
    params.write_text(before[params].replace("replicates: 2", "replicates: 3"))
    try:
        ran = toy.run("flows.recipe", *UNTIL_START)
        assert (ran.returncode, '"general-small-3"' in plan.read_text()) == (0, True), ran.stdout
    finally:
        for path, text in before.items():
            path.write_text(text)


@pytest.mark.slow
def test_runs_without_a_server(toy: Toy) -> None:
    """`python -m flows.recipe` brings a server of its own; without CUDA, stages that train share the cores."""
    toy.order(left=(3, 0), right=(3, 0))
    alone = toy.without_server()
    ran = alone.run("flows.recipe", "--jobs", "2")
    assert ran.returncode == 0, ran.stdout
    assert (toy.root / "right.txt").read_text() == "right3"
    if not cuda_ids():
        begins = [toy.moment(stage, "begin") for stage in ("left", "right")]
        assert max(begins) < min(toy.moment(stage, "end") for stage in ("left", "right")), "side by side"
    assert (toy.root / "left.threads").read_text() == str(max(1, cores() // 2))


@pytest.mark.parametrize(
    ("error", "retried"),
    [
        (DvcLocked("busy"), True),
        (ConcurrencySlotAcquisitionError("503 Service Unavailable"), True),
        (StageFailed("a stage ended badly", 65), False),
    ],
)
def test_what_is_tried_again(error: Exception, retried: bool) -> None:
    """A server that was busy for a moment ended a flow of an hour."""

    async def answer() -> bool:
        unused: Any = None
        return await may_pass(unused, unused, await exception_to_failed_state(error))

    assert asyncio.run(answer()) is retried


@pytest.mark.parametrize(
    ("printed", "kind", "shown"),
    [
        ("ERROR: failed to reproduce 'a': Unable to acquire lock. Most likely", DvcLocked, 1),
        ("ERROR: unexpected error - ('/x/.git/index', '/x/.git/index.lock'): [Errno 17] File exists", DvcLocked, 1),
        ("ERROR: failed to reproduce 'a': 'a.txt' is busy, it is being blocked by:\n  (PID 3): dvc\n", DvcLocked, 1),
        ("ERROR: failed to reproduce 'a': exited with 65", StageFailed, 2),
        (
            "ERROR: the disk is busy, it is being blocked by x\nERROR: failed to reproduce: exited with 65",
            StageFailed,
            3,
        ),
    ],
)
def test_a_lock_is_not_shown_as_an_error(printed: str, kind: type[StageFailed], shown: int) -> None:
    """It is tried again; when no try is left, the message has the lines."""

    def lines() -> Iterator[str]:
        yield from f"Running stage 'a':\n{printed}\n".splitlines(keepends=True)
        raise CommandFailed("dvc")

    said: list[str] = []
    with pytest.raises(kind) as caught:
        heard("a", lines(), said.append)
    assert (type(caught.value), len(said)) == (kind, shown)
    assert printed in str(caught.value)


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
        pid = int((toy.root / "start.pid").read_text())
        assert alive(pid)
        assert toy.run("prefect", "flow-run", "cancel", flow_run[0]).returncode == 0
        wait_until(lambda: not alive(pid), 30)
        assert not (toy.root / "start.end").exists()
