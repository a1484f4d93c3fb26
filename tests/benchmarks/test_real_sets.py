"""Real sets: every params file is whole and valid, and differs from the others in its set only; the command says what
is missing, and keeps the results of other sets. The sets themselves are not part of the project."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from adaptbert.runtime.params import expanded_ladder
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all
from benchmarks import machine, real_sets, table
from benchmarks.real_sets import DATA, MARKS, RECIPES
from tests.support import tiny
from tests.support.imports import ROOT

NAMES = sorted(path.stem for path in RECIPES.glob("*.yaml"))
OF_THE_SET = {"collect_task", "finetune"}


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def read(name: str) -> dict[str, Any]:
    return params.read(RECIPES / f"{name}.yaml")


def test_every_set_has_a_file_and_a_mark() -> None:
    assert sorted(MARKS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_valid(name: str) -> None:
    document = read(name)
    check_all(document, RECIPES / f"{name}.yaml")
    assert list(document["collect_task"]) == [name]
    assert list(document["finetune"]) == ["all", name]
    cells = expanded_ladder.expanded(document, RECIPES / f"{name}.yaml").finetune
    assert {key: cell.rung for key, cell in cells.items()} == {f"{name}-general-encoder": "pretrain/encoder"}
    assert document["pretrain"]["all"]["budget"] == {"steps": 0}, "the encoder as it is"
    splits = [document["collect_task"][name][split] for split in ("train", "dev", "test")]
    assert len(set(splits)) == 3
    assert all(path.startswith(f"{DATA}/") for path in splits)
    assert f"finetune@{name}-general-encoder\n" in (RECIPES / f"{name}.yaml").read_text("utf-8")


@pytest.mark.parametrize("name", NAMES[1:])
def test_all_else_is_the_same(name: str) -> None:
    first, other = read(NAMES[0]), read(name)
    assert list(first) == list(other)
    for section in set(first) - OF_THE_SET:
        assert other[section] == first[section], section


def test_data_that_are_not_there_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in ((["mrpc"], "real data not found: "), (["mprc"], "unknown: mprc; there are ")):
        with pytest.raises(SystemExit):
            real_sets.main(["--data", str(tmp_path), "--encoder", str(tmp_path), *arguments])
        assert message in capsys.readouterr().err


def test_a_result_is_written_beside_those_of_the_other_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    how = {"labels": 3655, "epochs": 5.0, "learning_rate": 1e-4, "batch": 16, "seconds": 1234}
    for name, seeds in (("mrpc", 2), ("wnut17", 1), ("mrpc", 2)):
        scores = [{f"test/{metric}": 0.5 + seed / 100 for metric in MARKS[name]} for seed in range(seeds)]
        marks = {metric: vars(mark) for metric, mark in MARKS[name].items()}
        real_sets.keep(name, {**how, "marks": marks, "seeds": scores})
    results = json.loads((tmp_path / "real_sets.json").read_text("utf-8"))
    assert list(results["sets"]) == ["mrpc", "wnut17"], "in the order of the marks"
    text = table.tables(tmp_path)
    assert "| mrpc | accuracy | **0.505** (0.500 to 0.510) | 0.737 shared words | - | 3,655 | 5 |" in text
    assert "| wnut17 | f1_span | **0.500** | 0.000 entities of train | - |" in text


@pytest.mark.slow
def test_a_set_from_files_to_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `dvc repro` in a scratch project, on sentences that stand in for the real ones."""
    encoder = tmp_path / "encoder"
    tiny.pretrained(encoder)
    data = tmp_path / "data"
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
    assert result["labels"] <= 20
    assert 0 <= result["seeds"][0]["test/accuracy"] <= 1
