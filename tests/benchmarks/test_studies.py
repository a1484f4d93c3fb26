"""The studies on real text: their params are valid, and their files come from the folder of the sets as they say."""

import gzip
import json
from pathlib import Path

import pytest

from adaptbert.runtime.params import expanded_ladder
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all
from benchmarks import studies
from benchmarks.studies import FOLDER, STUDIES, prepare
from tests.support.imports import ROOT

ROWS = [
    {"id": f"r{number}", "text": "文本", "source": ("xwlb", "niutrans-modern")[number % 2]} for number in range(700)
]


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    path = FOLDER / f"{name}.yaml"
    document = params.read(path)
    check_all(document, path)
    tables = expanded_ladder.expanded(document, path)
    assert {cell.draw for cell in tables.finetune.values()} - {0} == set(range(1, document["ladder"]["draws"] + 1))
    assert document["ladder"]["draws"] >= 3
    assert len(document["finetune"]["all"]["seeds"]) >= 3
    questions = document["compare"]["questions"]
    assert all(arm in document["ladder"]["arms"] for pair in questions.values() for arm in pair)


def test_every_file_of_params_is_taken() -> None:
    for name, study in STUDIES.items():
        document = params.read(FOLDER / f"{name}.yaml")
        paths = {values["path"] for values in document["collect"].values()}
        paths |= {values[split] for values in document["collect_task"].values() for split in ("train", "dev", "test")}
        made = {*study.parts.values(), *(file for file, _ in study.parts), *study.renamed.values()}
        for path in paths:
            file = Path(path).name
            assert path == f"data/own/{file}"
            assert file in made or any(Path(file).match(pattern) for pattern in study.taken), file


def test_files_are_divided_and_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, project, run = tmp_path / "data", tmp_path / "project", list[list[str]]()
    data.mkdir()
    project.mkdir()
    with gzip.open(data / "zh_general.jsonl.gz", "wt") as rows:
        rows.writelines(json.dumps(row) + "\n" for row in ROWS)
    (data / "zh_task_ewect_usual.dev.jsonl.gz").write_bytes(b"rows")
    monkeypatch.setattr(studies.subprocess, "run", lambda command, **_: run.append(command))
    prepare("weibo", data, project)

    def read(file: str) -> list[str]:
        with gzip.open(project / f"data/own/{file}", "rt") as rows:
            return [json.loads(row)["id"] for row in rows]

    assert read("zh_general.jsonl.gz") == [row["id"] for row in ROWS if row["source"] == "xwlb"]
    assert read("zh_histories.jsonl.gz") == [row["id"] for row in ROWS if row["source"] != "xwlb"]
    assert (project / "data/own/zh_task_ewect_usual.dev.jsonl.gz").read_bytes() == b"rows"
    assert (project / "params.yaml").read_bytes() == (FOLDER / "weibo.yaml").read_bytes()
    assert [command[1:] for command in run] == [["-m", "adaptbert.cli", "ladder"]]
