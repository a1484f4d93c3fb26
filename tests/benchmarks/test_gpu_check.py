"""The check of a GPU, every part tiny on a processor: it runs to its end, says what is wrong, and goes on."""

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
    gpu_check.run("right", tmp_path, ["--smoke"])  # a process of its own, for its environment
    checked = gpu_check.read(tmp_path, "right")
    assert checked is not None
    assert checked["right"] == {"tiny: two runs are equal": True, "tiny: a resumed run is equal": True}
    assert gpu_check.UNFINISHED not in checked
    assert not gpu_check.wrong(checked)
    assert gpu_check.wrong({"right": {"two runs are equal": False}})
    assert gpu_check.wrong({"failed": ["no device"]})
    assert not gpu_check.wrong(None)
