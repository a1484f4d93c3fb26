"""The cores that a process may use: of its affinity, and of the quota of its container."""

import os
from pathlib import Path

import pytest

from adaptbert.core import processes


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        pytest.param({}, 4, id="no control group"),
        pytest.param({"cpu.max": "max 100000\n"}, 4, id="no quota"),
        pytest.param({"cpu.max": "800000 100000\n"}, 4, id="more than the affinity"),
        pytest.param({"cpu.max": "150000 100000\n"}, 2, id="a part counts whole"),
        pytest.param({"cpu.max": "50000 100000\n"}, 1, id="less than one"),
        pytest.param({"cpu.max": "nonsense\n"}, 4, id="not understood"),
        pytest.param({"cpu.max": "5 0\n"}, 4, id="a period of 0"),
        pytest.param({"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2, id="version 1"),
        pytest.param({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4, id="1, no quota"),
    ],
)
def test_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], cores: int) -> None:
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(processes, "GROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 4, 5, 9}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert processes.cores() == cores
