"""CUDA devices of stages side by side: each stage sees its own, and gives them back."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flows import devices
from flows.devices import Devices
from tests.support.toy_flow import TOY_STAGE_ENTRY, served


def test_devices_are_shared_out_and_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    eight = Devices(tuple("01234567"), slots=3)
    with eight.taken() as one, eight.taken() as two:
        assert [one, two] == [{"CUDA_VISIBLE_DEVICES": "0,1"}, {"CUDA_VISIBLE_DEVICES": "2,3"}]
    with eight.taken() as again:
        assert again == {"CUDA_VISIBLE_DEVICES": "0,1"}
    with Devices((), slots=2).taken() as none:
        assert none == {}
    assert Devices(("0",), slots=0).share == 1


def test_whoever_lacks_a_device_keeps_none_while_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two flows that each want both devices: one at a time has them, and the other says that it waits."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(devices, "SECONDS_BETWEEN_TRIES", 0.01)
    both, said = Devices(("0", "1"), slots=1), list[str]()

    def take() -> dict[str, str]:
        with both.taken(said.append) as own:
            return own

    with ThreadPoolExecutor(1) as pool:
        with Devices(("1",), slots=1).taken():
            waiting = pool.submit(take)
            while not said:
                time.sleep(0.01)
            with Devices(("0",), slots=1).taken() as other:
                assert other == {"CUDA_VISIBLE_DEVICES": "0"}, "it is free, though somebody waits for both"
            assert not waiting.done()
        assert waiting.result(timeout=10) == {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert said == ["waits for 2 free devices of 0, 1: other flows have them"]


FOUR = ("a", "b", "c", "d")
PRETENDED_TORCH = """
class cuda:
    @staticmethod
    def device_count():
        return 4
"""


def test_stages_side_by_side_have_devices_of_their_own(tmp_path: Path) -> None:
    """Four stages on four slots; torch is made to say that there are four devices."""
    stages = [
        *((name, "toy.py", "true") for name in FOUR),
        ("together", ", ".join(f"{name}.txt" for name in FOUR), "false"),
    ]
    entries = (
        TOY_STAGE_ENTRY.format(name=name, deps=deps, kind="outs", out=f"{name}.txt", gpu=gpu, option="cache: false")
        for name, deps, gpu in stages
    )
    with served(tmp_path / "toy", tmp_path / "home") as toy:
        (toy.root / "dvc.yaml").write_text("vars:\n  - toy.yaml\nstages:" + "".join(entries))
        (toy.root / "torch.py").write_text(PRETENDED_TORCH)
        toy.order(**dict.fromkeys(FOUR, (2.0, 0)), together=(0.1, 0))
        assert toy.run("prefect", "gcl", "update", "gpu", "--limit", "4").returncode == 0
        done = toy.run("flows.recipe", "--until", "together", "--jobs", "4")
        assert done.returncode == 0, done.stdout
        assert {(toy.root / f"{stage}.devices").read_text() for stage in FOUR} == {"0", "1", "2", "3"}
