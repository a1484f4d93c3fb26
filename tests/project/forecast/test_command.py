"""`adaptbert forecast` as a user calls it: its table, and one message for each refusal."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.commands import run
from tests.support.forecasting import document, tokenized_project, with_general_rung


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    tokenized_project(tmp_path, document())
    return tmp_path


def test_the_table_ends_with_what_to_do(project: Path) -> None:
    with_general_rung(project)
    done = run("forecast", "--steps", "10")
    assert done.exit_code == 0, done.output
    for task in ("section", "mention"):
        assert f"trial of fine-tuning on {task}: 5 steps that do not count, then 20" in done.output
    shown = done.output[done.output.index("Forecast of the start small") :]
    for part in ("The training text", "Most frequent words in common", "Bits per character", "Price of what is not"):
        assert part in shown
    assert "There is no point estimate." in shown
    assert "- Else commit forecasts/small.json" in shown.splitlines()[-1]
    written = json.loads((project / "forecasts/small.json").read_text())
    assert written["weights"] == "models/pretrain/small"


def test_text_that_is_not_tokenised_yet(project: Path) -> None:
    shutil.rmtree(project / "data/tokenized/small/tasks/mention")
    done = run("forecast")
    assert (done.exit_code, done.stderr.count("AB-")) == (65, 1)
    assert "AB-218 data/tokenized/small: the text of this start is not tokenised" in done.stderr
    assert "dvc repro tokenize@small" in done.stderr


def test_an_unknown_start(project: Path) -> None:
    done = run("forecast", "--start", "smal")
    assert (done.exit_code, done.stderr.count("AB-")) == (78, 1)
    assert "AB-099 --start: no start 'smal' (did you mean 'small'?)" in done.stderr


def test_several_starts_and_none_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = document()["ladder"]["starts"]["small"]
    tokenized_project(tmp_path, document(starts={"small": one, "other": one}))
    done = run("forecast")
    assert (done.exit_code, done.stderr.count("AB-")) == (78, 1)
    assert "there are 2 starts: small, other" in done.stderr
    assert "adaptbert forecast --start small" in done.stderr


def test_a_damaged_forecast(project: Path) -> None:
    (project / "forecasts").mkdir()
    (project / "forecasts/small.json").write_text("{")
    done = run("forecast")
    assert (done.exit_code, done.stderr.count("AB-")) == (65, 1)
    assert "adaptbert forecast --again" in done.stderr
