"""Energy that processors and GPUs of this machine took, where their counters can be read.

Processors: the packages of Linux's powercap (RAPL of Intel and AMD), which most systems let only root read. GPUs: NVML,
through the package nvidia-ml-py. The counters are the machine's: what else runs on it is in them.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")


class EnergyMeter:
    """Joules since it was made.

    A counter of a processor begins anew after some 260,000 J, at 100 W after three quarters of an hour, so it has to be
    read more often than that.

    Args:
        powercap: the folder of the kernel's counters.
    """

    def __init__(self, powercap: Path = POWERCAP) -> None:
        self._packages = [path for path in sorted(powercap.glob("*rapl:?")) if _number(path / "energy_uj") is not None]
        self._last = dict(self._counters())
        self._joules = dict.fromkeys(self._last, 0.0)

    def read(self) -> dict[str, float]:
        """`cost/joules/cpu0` ..., `cost/joules/gpu0` ...; empty where nothing can be read."""
        for name, (now, most) in self._counters():
            if name in self._last:
                before, _ = self._last[name]
                self._joules[name] += (now - before if now >= before else now + most - before) / 1e6
            self._last[name] = now, most
        return {f"cost/joules/{name}": joules for name, joules in self._joules.items()}

    def _counters(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Device -> microjoules, and where its counter begins anew."""
        for number, package in enumerate(self._packages):
            now, most = _number(package / "energy_uj"), _number(package / "max_energy_range_uj")
            if now is not None and most is not None:
                yield f"cpu{number}", (now, most)
        for number, millijoules in enumerate(_gpus()):
            yield f"gpu{number}", (1000 * millijoules, 0)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _gpus() -> list[int]:
    """Millijoules of each since its driver was loaded."""
    with suppress(Exception):  # no package, no driver, no GPU, or one without a counter
        import pynvml

        pynvml.nvmlInit()
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return [int(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)) for handle in handles]
    return []
