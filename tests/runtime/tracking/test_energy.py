"""Joules from counters as the kernel and the driver of a GPU write them."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from adaptbert.runtime.tracking.energy import EnergyMeter
from adaptbert.runtime.tracking.run import Run


def counter(powercap: Path, name: str, microjoules: int, most: int = 1_000_000_000) -> None:
    folder = powercap / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text(f"{most}\n")


def test_processors_also_after_a_counter_began_anew(tmp_path: Path) -> None:
    counter(tmp_path, "intel-rapl:0", 400_000_000)
    counter(tmp_path, "intel-rapl:1", 990_000_000)
    counter(tmp_path, "intel-rapl:0:0", 1)  # a part of the first
    meter = EnergyMeter(tmp_path)
    counter(tmp_path, "intel-rapl:0", 450_000_000)
    counter(tmp_path, "intel-rapl:1", 10_000_000)
    counter(tmp_path, "intel-rapl:0:0", 900_000)
    assert meter.read() == {"cost/joules/cpu0": 50.0, "cost/joules/cpu1": 20.0}
    counter(tmp_path, "intel-rapl:0", 451_000_000)
    assert meter.read() == {"cost/joules/cpu0": 51.0, "cost/joules/cpu1": 20.0}


def test_nothing_where_nothing_can_be_read(tmp_path: Path) -> None:
    assert EnergyMeter(tmp_path / "none").read() == {}
    counter(tmp_path, "intel-rapl:0", 5)
    (tmp_path / "intel-rapl:0/energy_uj").write_text("not a number")
    assert EnergyMeter(tmp_path).read() == {}


def test_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in of NVML, because the test machine has no GPU."""
    millijoules = [1_000, 5_000]
    nvml = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetTotalEnergyConsumption=lambda handle: millijoules[handle],
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    meter = EnergyMeter(tmp_path)
    millijoules[1] += 2_500
    assert meter.read() == {"cost/joules/gpu0": 0.0, "cost/joules/gpu1": 2.5}

    def broken(handle: int) -> int:
        raise RuntimeError("not supported")

    monkeypatch.setattr(nvml, "nvmlDeviceGetTotalEnergyConsumption", broken)
    assert meter.read() == {"cost/joules/gpu0": 0.0, "cost/joules/gpu1": 2.5}, "what was read stays"


def test_a_run_that_is_not_tracked_reads_nothing_that_fails() -> None:
    Run().log_energy()
