"""Signals to a flow that somebody started in a terminal: what runs ends, nothing new starts, no slot stays taken."""

import os
import signal

import psutil
import pytest

from tests.support.project import alive, stopped_at_the_end, wait_until
from tests.support.toy_flow import Toy

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
        pid = int((toy.root / f"{stage}.pid").read_text())
        os.killpg(flow.pid, signal.SIGINT)
        assert flow.wait(60) == 75
    printed = alone.log_file("flows.recipe").read_text()
    assert AGAIN in printed
    assert "Traceback" not in printed, printed
    assert not alive(pid)
    toy.order()
    again = alone.run("flows.recipe", timeout=120)
    assert again.returncode == 0, again.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_before_the_first_stage_starts_none(toy: Toy, number: signal.Signals) -> None:
    """With a server that lives on, while the flow asks DVC what is out of date."""
    toy.order(start=(60, 0))
    log = toy.log_file("flows.recipe")
    log.unlink(missing_ok=True)
    with stopped_at_the_end(toy.start("flows.recipe")) as flow:
        wait_until(lambda: child(flow.pid, "dvc", "status") is not None, 60)
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
    assert not (toy.root / "left.end").exists()


def child(pid: int, *words: str) -> psutil.Process | None:
    """The process that this one started with these words in its command line."""
    for process in psutil.Process(pid).children():
        try:
            if set(words) <= set(process.cmdline()):
                return process
        except psutil.Error:  # it has just ended
            continue
    return None
