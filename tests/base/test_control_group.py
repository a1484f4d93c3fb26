"""The processor time that the control group of a process leaves to it, as Linux writes it in files."""

from math import inf
from pathlib import Path

import pytest

from adaptbert.base import control_group, processes
from adaptbert.base.control_group import processor_limit, times_throttled


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the hierarchies of a pretended system; the process is in the group /jobs/one."""
    monkeypatch.setattr(control_group, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(control_group, "HIERARCHIES", tmp_path / "fs")
    (tmp_path / "cgroup").write_text("0::/jobs/one\n")
    (tmp_path / "fs" / "jobs" / "one").mkdir(parents=True)
    return tmp_path / "fs"


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        pytest.param({}, inf, id="none"),
        pytest.param({"jobs/one/cpu.max": "max 100000\n"}, inf, id="not limited"),
        pytest.param({"jobs/one/cpu.max": "150000 100000\n"}, 1.5, id="limited"),
        pytest.param({"jobs/one/cpu.max": "max 100000\n", "jobs/cpu.max": "50000 100000\n"}, 0.5, id="by its parent"),
        pytest.param({"jobs/one/cpu.max": "50000 100000\n", "cpu.max": "200000 100000\n"}, 0.5, id="the least"),
        pytest.param({"jobs/one/cpu.max": "nonsense\n"}, inf, id="not understood"),
        pytest.param({"jobs/one/cpu.max": "5 0\n"}, inf, id="a period of 0"),
        pytest.param({"jobs/one/cpu.max": f"{10**400} 1\n"}, inf, id="more than a float holds"),
    ],
)
def test_the_limit_of_version_2(system: Path, files: dict[str, str], limit: float) -> None:
    for name, text in files.items():
        (system / name).write_text(text)
    assert processor_limit() == limit


@pytest.mark.parametrize(("quota", "limit"), [("200000", 2.0), ("-1", inf)])
def test_the_limit_of_version_1_seen_from_a_container(system: Path, quota: str, limit: float) -> None:
    """The group has the name that the host knows; the container sees it as the root."""
    control_group.GROUPS.write_text("5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n")
    folder = system / "cpu,cpuacct"
    folder.mkdir()
    (folder / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (folder / "cpu.cfs_period_us").write_text("100000\n")
    (folder / "cpu.stat").write_text("nr_periods 9\nnr_throttled 3\nthrottled_time 7\n")
    assert (processor_limit(), times_throttled()) == (limit, 3)


def test_every_group_above_holds_back_too(system: Path) -> None:
    for name, times in {"jobs/one": 2, "jobs": 5}.items():
        (system / name / "cpu.stat").write_text(f"usage_usec 9\nnr_throttled {times}\n")
    (system / "cpu.stat").write_text("usage_usec 9\n")
    assert times_throttled() == 7


def test_no_control_groups(system: Path) -> None:
    control_group.GROUPS.unlink()
    assert (processor_limit(), times_throttled()) == (inf, 0)


@pytest.mark.parametrize(("limit", "cores"), [(inf, 4), (8.0, 4), (2.0, 2), (1.5, 2), (0.6, 1)])
def test_cores_count_a_part_whole(monkeypatch: pytest.MonkeyPatch, limit: float, cores: int) -> None:
    monkeypatch.setattr(processes.os, "sched_getaffinity", lambda _: {3, 4, 5, 9}, raising=False)
    monkeypatch.setattr(processes.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(processes, "processor_limit", lambda: limit)
    assert processes.cores() == cores
