"""Real sets and studies: their params files are whole and valid, and what they bring is written beside other results.

The sets themselves are not part of the project; sentences stand in for them.
"""

import gzip
import json
from pathlib import Path

import pytest

from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all
from benchmarks import machine, real_sets, studies, table
from benchmarks.real_sets import MARKS, RECIPES
from tests.support import tiny
from tests.support.imports import ROOT

FILES = [*RECIPES.glob("*.yaml"), *studies.FOLDER.glob("*.yaml")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_valid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    check_all(params.read(path), path)
    assert path.stem in {**MARKS, **studies.STUDIES}


def test_a_result_is_written_beside_those_of_the_other_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    how = {"labels": 3655, "epochs": 5.0, "learning_rate": 1e-4, "batch": 16, "seconds": 1234}
    for name, seeds in (("mrpc", 2), ("wnut17", 1), ("mrpc", 2)):
        scores = [{f"test/{metric}": 0.5 + seed / 100 for metric in MARKS[name]} for seed in range(seeds)]
        marks = {metric: vars(mark) for metric, mark in MARKS[name].items()}
        real_sets.keep(name, {**how, "marks": marks, "seeds": scores})
    text = table.tables(tmp_path)
    assert "| mrpc | f1_positive | **0.505** (0.500 to 0.510) | 0.799 majority | 0.84 | 3,655 |" in text
    assert "| wnut17 | f1_span | **0.500** | 0.000 entities of train | - |" in text


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


def test_a_study_gets_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Divided by source, copied, and with the params of the study."""
    data, project = tmp_path / "data", tmp_path / "project"
    data.mkdir()
    project.mkdir()
    rows = [{"id": f"r{n}", "text": "文本", "source": ("xwlb", "niutrans-modern")[n % 2]} for n in range(6)]
    (data / "zh_general.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    (data / "zh_task_ewect_usual.dev.jsonl.gz").write_bytes(b"rows")
    monkeypatch.setattr("benchmarks.studies.subprocess.run", lambda *_, **__: None)
    studies.prepare("weibo", data, project)
    for file, kept in (("zh_general", rows[::2]), ("zh_histories", rows[1::2])):
        lines = gzip.decompress((project / f"data/own/{file}.jsonl.gz").read_bytes()).decode().splitlines()
        assert list(map(json.loads, lines)) == kept
    assert (project / "data/own/zh_task_ewect_usual.dev.jsonl.gz").read_bytes() == b"rows"
    assert (project / "params.yaml").read_bytes() == (studies.FOLDER / "weibo.yaml").read_bytes()
