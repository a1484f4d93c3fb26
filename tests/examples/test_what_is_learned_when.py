"""The example trains, and measures what it says at the steps that it says."""

from pathlib import Path

import pytest

from examples import what_is_learned_when
from tests.support import tiny


@pytest.mark.slow
def test_what_is_learned_when(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(tiny.sentences("general", 600)), encoding="utf-8")
    table = what_is_learned_when.main(text, 40)
    assert [*table] == ["masked", "frequent", "0", "1", "3", "10", "30", "40"]
    assert table["masked"]["all"] > table["masked"]["frequent"] > 20
    assert table["0"]["all"] < 0.1, "random weights"
    assert table["40"]["all"] > table["3"]["all"]
    assert table["frequent"]["frequent"] > table["frequent"]["all"] > table["frequent"].get("rare", 0.0) == 0
    rows = capsys.readouterr().out.splitlines()[-8:]
    assert any(row.startswith("punctuation ") for row in rows)
