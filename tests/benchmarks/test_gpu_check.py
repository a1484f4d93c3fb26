"""The check of a GPU, every part tiny on a processor: it runs to its end, says what is wrong, and goes on."""

import json
from pathlib import Path

import pytest

from benchmarks import gpu_check
from benchmarks.gpu_parts import PARTS


@pytest.mark.slow
def test_every_part_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["gpu_check", "--out", str(tmp_path), "--smoke"])
    with pytest.raises(SystemExit) as ended:
        gpu_check.main()
    text = (tmp_path / "summary.md").read_text("utf-8")
    assert ended.value.code == 0, text
    assert "**Failed.**" not in text
    assert "Not run." not in text
    assert {path.stem for path in tmp_path.glob("*.json")} == set(PARTS)


def test_bits_are_equal_and_a_difference_is_noticed(tmp_path: Path) -> None:
    gpu_check.run("right", tmp_path, smoke=True)  # a process of its own, for its environment
    checked = gpu_check.read(tmp_path, "right")
    assert checked is not None
    assert checked["right"] == {"two runs are equal": True, "a resumed run is equal": True}
    assert not gpu_check.wrong(checked)
    assert gpu_check.wrong({"right": {"two runs are equal": False}})
    assert gpu_check.wrong({"failed": ["no device"]})
    assert not gpu_check.wrong(None)


def test_a_part_that_fails_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a part that has a file run again."""
    for name in PARTS:
        (tmp_path / f"{name}.json").write_text(json.dumps({"machine": {}, "figure": 1}))
    (tmp_path / "right.json").unlink()
    ran = []

    def fail(name: str, out: Path, smoke: bool) -> None:
        ran.append(name)
        gpu_check.keep(out, name, {"failed": ["it cannot"]})

    monkeypatch.setattr(gpu_check, "run", fail)
    monkeypatch.setattr("sys.argv", ["gpu_check", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        gpu_check.main()
    assert (ended.value.code, ran) == (1, ["right"])
    assert "**Failed.**\n\n```\nit cannot" in (tmp_path / "summary.md").read_text("utf-8")
