"""Real sets and studies: their params are whole and valid, and what they bring is written beside other results.

The sets themselves are not part of the project; sentences stand in for them.
"""

import gzip
import json
from pathlib import Path

import pytest

from adaptbert.planning.rules import checked
from benchmarks import machine, real_sets, studies
from tests.support import tiny
from tests.support.imports import ROOT


@pytest.mark.parametrize("name", [*real_sets.SETS, *studies.STUDIES])
def test_valid(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    if name in studies.STUDIES:
        path = studies.FOLDER / f"{name}.yaml"
    else:
        path = tmp_path / "params.yaml"
        real_sets.main(["--show", name])
        path.write_text(capsys.readouterr().out, encoding="utf-8")
    checked(path)


@pytest.mark.slow
def test_a_set_from_files_to_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `dvc repro` in a scratch project."""
    encoder, data = tmp_path / "encoder", tmp_path / "data"
    tiny.pretrained(encoder)
    data.mkdir()
    for number, file in enumerate(real_sets.files("sst2", data)):
        rows = [
            json.dumps({"id": f"{number}-{row}", "text": f"{number} {text}", "label": row % 2})
            for row, text in enumerate(tiny.sentences("domain", 20, number))
        ]
        file.write_bytes(gzip.compress("\n".join(rows).encode()))
    monkeypatch.setattr(machine, "RESULTS", tmp_path / "results")
    real_sets.main(["--data", str(data), "--encoder", str(encoder), "sst2"])
    (result,) = json.loads((tmp_path / "results/real_sets.json").read_text("utf-8"))["sets"].values()
    assert 0 <= result["seeds"][0]["test/accuracy"] <= 1
