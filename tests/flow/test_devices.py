"""Devices are shared out by slots, in turn, and given back, by threads and by processes that are killed. No device:
their number and memory are pretended."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
from filelock import FileLock, Timeout

from adaptbert.flow import devices, process
from adaptbert.flow.devices import Device, Devices, cuda_memory
from adaptbert.flow.process import StageFailed
from adaptbert.flow.recipe import Graph, Resources
from adaptbert.runtime.libraries import JOBS
from tests.support.project import ROOT, stopped_at_the_end, wait_until

GIB = 2**30
NEEDS = {"small": (1, 6 * GIB), "step": (2, 30 * GIB), "large": (4, 100 * GIB)}
TORCH = """
from types import SimpleNamespace

class cuda:
    device_count = staticmethod(lambda: {count})
    mem_get_info = {sizes}.__getitem__
    get_device_properties = staticmethod(lambda number: SimpleNamespace(uuid="{uuids}"[number]))
"""
HOLDER = """
import sys, time
from pathlib import Path
from adaptbert.flow import devices
with devices._desk():
    Path(sys.argv[1]).touch()
    time.sleep(600)
"""
STAGE = """
import sys, time
from pathlib import Path
from adaptbert.flow import devices
devices.SECONDS_BETWEEN_TRIES = 0.05
name, slots, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
device = devices.Device("0", "0")
with devices.Devices({device: 4}, {name: (1, slots)}).taken(name, lambda _: (folder / f"{name}.waits").touch()):
    (folder / name).write_text(str(time.monotonic()))
    while not (folder / f"{name}.end").exists():
        time.sleep(0.01)
(folder / f"{name}.ended").touch()
"""


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(devices, "SECONDS_BETWEEN_TRIES", 0.01)
    monkeypatch.setattr(devices, "cores", lambda: 16)
    for name in (devices.DEVICES, devices.STAGES, devices.VISIBLE):
        monkeypatch.delenv(name, raising=False)


def of(count: int, gib: int = 0, needs: Mapping[str, tuple[int, int]] = NEEDS) -> Devices:
    return Devices({Device(str(number), str(number)): gib * GIB for number in range(count)}, needs)


# ---- what a stage takes


def test_slots_by_memory_by_cores_and_by_micro_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [of(count).slots for count in (0, 1, 2, 3, 16)] == [8, 8, 4, 2, 1], "two cores for each"
    one, four = of(1, 80), of(4, 80)
    shares = {stage: one.share(stage) for stage in (*NEEDS, "of another plan")}
    assert shares == {
        "small": (1, 1),
        "step": (1, 3),
        "large": (1, 8),
        "of another plan": (1, 8),
    }
    assert [four.share(stage)[0] for stage in (*NEEDS, "of another plan")] == [1, 2, 4, 4]
    assert {of(1).share(stage) for stage in NEEDS} == {(1, 8)}, "how much is free is not known"
    for wanted, taken in (("2", 2), ("9", 4)):  # the stage itself refuses too many
        monkeypatch.setenv(devices.DEVICES, wanted)
        assert four.share("of another plan")[0] == taken


def test_slots_that_the_user_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(devices.STAGES, "4")
    shares = [of(2, 80).share(stage) for stage in ("small", "step", "large")]
    assert shares == [(1, 1), (2, 2), (2, 4)], "one that needs more has several"
    assert of(1).share("of another plan") == (1, 1), "of what is not known the user knows more"


def test_devices_are_asked_in_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a torch that says what is written here. What stages of ours use is theirs: another flow counts it as well."""

    def says(uuids: str, *free: int) -> None:
        sizes = {number: (each, 100) for number, each in enumerate(free)}
        (tmp_path / "torch.py").write_text(TORCH.format(count=len(uuids), uuids=uuids, sizes=sizes))

    def memory(names: str = "") -> dict[str, int]:
        monkeypatch.setenv(devices.VISIBLE, names)
        return {device.name: size for device, size in cuda_memory().items()}

    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # of files that have the same second and size
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    says("ab", 60, 90)
    assert memory() == {"0": 60, "1": 90}
    with Devices({Device("a", "of another flow"): 1}, {"half": (1, 1)}).taken("half"):
        assert memory() == {"0": 100, "1": 90}
        assert memory("GPU-a, GPU-b") == {"GPU-a": 100, "GPU-b": 90}, "whatever its name is"
        assert memory("MIG-1") == {"MIG-1": 60}, "its UUID may be that of the whole device"
    assert memory("0,1,7") == {"0": 60, "1": 90}, "CUDA leaves out a device that is not there"
    says("aa", 60, 60)
    assert memory("0,GPU-a") == {"0": 60}, "one device"
    says("ab", 60)  # the second raises
    assert memory("GPU-a, GPU-b") == {"GPU-a": 0, "GPU-b": 0}
    assert [device.uuid for device in cuda_memory()] == ["a", "b"]
    said: list[str] = []
    monkeypatch.chdir(tmp_path)
    assert Devices.seen(said.append).share("any") == (2, 4)
    assert said == [
        "stages share a device only if ADAPTBERT_STAGES_PER_DEVICE says so, because what they need is not known: "
        + said[0].rpartition("known: ")[2]
    ]
    says("")
    assert cuda_memory() == {}
    assert Devices.seen(said.append).ids == ()


@pytest.mark.parametrize(("count", "asked", "jobs"), [(0, None, JOBS), (1, None, 8), (4, None, 8), (1, 3, 3)])
def test_stages_side_by_side(count: int, asked: int | None, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are slots, where nobody says how many; on a processor two."""
    monkeypatch.setattr("adaptbert.flow.recipe.trainings", dict)
    monkeypatch.setattr("adaptbert.flow.recipe.get_run_logger", logging.getLogger)
    monkeypatch.setattr(Devices, "seen", lambda _: of(count, 80))
    graph = Graph({"small": []}, frozenset({"small"}), frozenset(), frozenset())
    assert Resources(graph, {"small": []}, asked, cluster=False).jobs == jobs


# ---- turns


def test_devices_are_shared_out_and_given_back() -> None:
    eight = of(8, 80)  # of one slot each
    with eight.taken("large") as one, eight.taken("step") as two:
        assert [one, two] == [{"CUDA_VISIBLE_DEVICES": "0,1,2,3"}, {"CUDA_VISIBLE_DEVICES": "4,5"}]
    with eight.taken("step") as again, of(0).taken("step") as none:
        assert (again, none) == ({"CUDA_VISIBLE_DEVICES": "0,1"}, {})
    with eight.taken("of another plan") as whole:
        assert whole == {"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}


def test_slots_of_the_emptiest_devices_first() -> None:
    two = of(2, 80)  # of four slots each
    with ExitStack() as held:
        taken = [held.enter_context(two.taken("small"))["CUDA_VISIBLE_DEVICES"] for _ in range(4)]
        assert taken == ["0", "1", "0", "1"]
        assert held.enter_context(two.taken("step")) == {"CUDA_VISIBLE_DEVICES": "0,1"}, "two slots of each"


def test_whoever_came_first_is_served_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large one waits for a small one, and a small one that comes later waits for the large one; one that wants other
    devices waits for neither."""
    said: list[str] = []
    one, order = of(1, 80), list[str]()

    def take(stage: str) -> None:
        with one.taken(stage, said.append):
            order.append(stage)
            time.sleep(0.05)

    with ThreadPoolExecutor(2) as pool:
        with one.taken("small"):
            large = pool.submit(take, "large")
            while not said:
                time.sleep(0.01)
            small = pool.submit(take, "small")
            while len(said) < 2:
                time.sleep(0.01)
            with Devices({Device("1", "1"): 0}, {}).taken("small") as other:
                assert other == {"CUDA_VISIBLE_DEVICES": "1"}
            assert order == []
        for each in (large, small):
            each.result(timeout=60)
    assert order == ["large", "small"]
    assert said == [
        "waits for 8 of 8 slots of 1 device: other stages have, or wait for, 0",
        "waits for 1 of 8 slots of 1 device: other stages have, or wait for, 0",
    ]
    with one.taken("small"), one.taken("large", is_over=lambda: True) as nothing:
        assert nothing == {"CUDA_VISIBLE_DEVICES": ""}, "another stage of its flow failed"
    monkeypatch.setattr(process, "_received", [signal.SIGINT])
    with one.taken("small"), pytest.raises(StageFailed, match="stopped by SIGINT"):
        take("large")
    with one.taken("large"):
        pass  # what a signal ended waits no longer


# ---- processes


class Processes:
    """Processes that each take slots of a device of four, and give them back when they are told to."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack

    def start(self, name: str, slots: int) -> "subprocess.Popen[bytes]":
        """Once it has its slots, or says that it waits."""
        command = [sys.executable, "-c", STAGE, name, str(slots), str(self._folder)]
        started = self._stack.enter_context(
            stopped_at_the_end(
                subprocess.Popen(command, cwd=ROOT, env=os.environ | {devices.STAGES: "4"}, start_new_session=True)
            )
        )
        wait_until(lambda: self.has(name) or (self._folder / f"{name}.waits").exists(), 60)
        return started

    def has(self, name: str) -> bool:
        """Whether it has, or had, its slots."""
        return (self._folder / name).exists()

    def end(self, name: str) -> None:
        (self._folder / f"{name}.end").touch()
        wait_until((self._folder / f"{name}.ended").exists, 60)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with ExitStack() as stack:
        yield Processes(tmp_path, stack)


def tickets() -> list[dict[str, str]]:
    """What stands on the tickets that there are."""
    with devices._desk():
        return [json.loads(path.read_text()) for path in devices._tickets()]


def test_processes_share_a_device_and_a_killed_one_has_no_slot(processes: Processes) -> None:
    """Of four slots two and one are taken side by side, in order, and then there is no room for two."""
    first = processes.start("first", 2)
    processes.start("second", 1)
    assert all(map(processes.has, ("first", "second")))
    assert tickets() == [{"0": "1/2"}, {"0": "1/4"}]
    whole = processes.start("whole", 4)
    killed = processes.start("killed", 1)
    late = processes.start("late", 1)
    assert not any(map(processes.has, ("whole", "killed", "late"))), "there is a slot, but the first in turn needs four"
    killed.kill()
    killed.wait()
    first.kill()
    first.wait()
    processes.end("second")
    wait_until(lambda: processes.has("whole"), 60)
    assert tickets() == [{"0": "1"}, {"0": "0"}]
    time.sleep(0.3)
    assert not processes.has("late")
    whole.kill()
    wait_until(lambda: processes.has("late"), 60)
    late.terminate()
    late.wait()
    assert tickets() == []


def stop_away_from_the_desk(waiting: "subprocess.Popen[bytes]") -> None:
    """Stop a process that looks for a place every second, not in the moment in which it does."""
    while True:
        waiting.send_signal(signal.SIGSTOP)
        wait_until(lambda: psutil.Process(waiting.pid).status() == psutil.STATUS_STOPPED, 60)
        with suppress(Timeout), FileLock(devices._folder() / "lock").acquire(timeout=0.5):
            return
        waiting.send_signal(signal.SIGCONT)


def test_a_stopped_process_is_passed_over_and_keeps_its_place(processes: Processes) -> None:
    """By SIGSTOP, as by Ctrl-Z. When it goes on, later ones wait for it again."""
    first = processes.start("first", 4)
    whole = processes.start("whole", 4)
    processes.start("late", 1)
    stop_away_from_the_desk(whole)
    first.kill()
    wait_until(lambda: processes.has("late"), 60)
    whole.send_signal(signal.SIGCONT)
    wait_until(lambda: psutil.Process(whole.pid).status() != psutil.STATUS_STOPPED, 60)
    processes.start("last", 1)
    assert tickets() == [{"0": "0"}, {"0": "1/4"}, {"0": "0"}]
    processes.end("late")
    wait_until(lambda: processes.has("whole"), 60)
    assert not processes.has("last")


def test_a_process_that_was_stopped_while_it_reads_tickets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others wait, a signal ends that, and they go on when it has ended."""
    one, command = of(1, 80), [sys.executable, "-c", HOLDER, str(tmp_path / "held")]
    with stopped_at_the_end(subprocess.Popen(command, cwd=ROOT)) as holder, ThreadPoolExecutor(1) as pool:
        wait_until((tmp_path / "held").exists, 60)
        holder.send_signal(signal.SIGSTOP)
        waiting = pool.submit(lambda: one.taken("small").__enter__())
        time.sleep(0.3)
        assert not waiting.done()
        with monkeypatch.context() as patch:
            patch.setattr(process, "_received", [signal.SIGINT])
            with pytest.raises(StageFailed, match="stopped by SIGINT"):
                waiting.result(timeout=60)
        holder.kill()
        with one.taken("small") as mine:
            assert mine == {"CUDA_VISIBLE_DEVICES": "0"}


def test_what_others_put_beside_the_tickets(tmp_path: Path) -> None:
    """It stays, and nobody stumbles over it."""
    folder = devices._folder()
    (folder / "000000000007.1.ticket").mkdir()
    for name in ("12", "1~", "000000000003", "000000000004.1.ticket.swp", ".nfs000000000001", "notes.ticket"):
        (folder / name).write_text("{")
    before = sorted(folder.iterdir())
    with of(1, 80).taken("small") as mine:
        assert mine == {"CUDA_VISIBLE_DEVICES": "0"}
        assert tickets() == [{"0": "1/8"}]
    assert sorted({*folder.iterdir()} - {folder / "lock"}) == before


def test_a_ticket_for_which_the_disk_was_full() -> None:
    """It is empty, until its process has failed; the others go on."""
    with devices._ticket(["0"]) as ticket:
        ticket.write_text("")
        with of(1, 80).taken("small") as mine:
            assert mine == {"CUDA_VISIBLE_DEVICES": "0"}
    assert tickets() == []
