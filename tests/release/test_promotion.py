"""The champion of a task, in a real store: promoted, challenged, rolled back; and whom it refuses."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import mlflow
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from adaptbert.cli import app
from adaptbert.core.files import read_json
from adaptbert.model.checkpoint_files import CARD
from adaptbert.release.record import MODEL, PREDICTIONS
from adaptbert.release.registry import CHAMPION, PROMOTED, Registry
from adaptbert.runtime.mlflow import open_store
from tests.support import releases
from tests.support.cells import Project
from tests.support.predicting import CLASS, PAIR
from tests.support.stores import client

WORSE, BETTER, ALL = 60, 3, 150
"""Planted errors among 150 answers, of which the trained model gets nearly all right."""


@pytest.fixture(autouse=True)
def _store_of_its_own() -> Iterator[None]:
    yield
    mlflow.set_tracking_uri(None)


@pytest.fixture
def project(here: Path, trained: Project) -> Path:
    releases.in_project(here, trained, {"mood": CLASS})
    return here


def promote(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["promote", *map(str, arguments)])


def champion(project: Path) -> Any:
    return client(project).get_model_version_by_alias("mood", CHAMPION)


def code_of(done: Result) -> str:
    return done.stderr.partition("error: ")[2][:6]


@pytest.mark.slow
def test_a_champion_is_promoted_challenged_and_rolled_back(project: Path, trained: Project) -> None:
    run = finetuning_of(project, trained)
    for number, wrong in enumerate((10, WORSE, BETTER), 1):
        releases.release(project, trained, "mood", CLASS, number, wrong)
    first = promote("mood", 1)
    assert first.exit_code == 0, first.output
    assert "version 1 of the registered model 'mood', of the run 'general mood small'" in first.stdout
    assert "mlflow models serve -m models:/mood@champion" in first.stdout
    assert (str(champion(project).version), champion(project).run_id) == ("1", run)
    assert champion(project).tags[PROMOTED] == "the first"
    worse = promote("mood", 2)
    assert (worse.exit_code, code_of(worse)) == (65, "AB-232")
    assert "points (-" in worse.stdout
    assert "): loss" in worse.stdout
    assert str(champion(project).version) == "1"
    better = promote("mood")
    assert better.exit_code == 0, better.output
    assert "difference: +" in better.stdout
    assert "against release 1 (version 1): +" in champion(project).tags[PROMOTED]
    assert str(champion(project).version) == "3"
    assert promote("mood", 3).stdout.endswith("is the champion already\n")
    back = promote("mood", 1, "--force", "--reason", "3 is too slow")
    assert back.exit_code == 0, back.output
    assert str(champion(project).version) == "1"
    assert champion(project).tags[PROMOTED] == "forced: 3 is too slow"
    assert len(client(project).search_model_versions("name = 'mood'")) == 3, "none is registered twice"


def finetuning_of(project: Path, trained: Project) -> str:
    """The id of a run that made the weights of the model; a later one of other weights stands beside it."""
    weights = read_json(trained.root / f"models/finetune/{CLASS}-general" / CARD)["weights"]
    with open_store() as store:
        for checkpoint, name in ((weights, "general mood small"), ("0", "domain mood small")):
            tags = {"stage": "finetune", "checkpoint": checkpoint, "mlflow.runName": name}
            store.client.create_run(store.experiment, tags=tags)
        found = store.client.search_runs([store.experiment], f"tags.checkpoint = '{weights}'")
    return str(found[0].info.run_id)


def test_a_loss_without_an_interval(project: Path, trained: Project) -> None:
    """All answers right, then all wrong: every sample of rows has the same difference."""
    for number, wrong in ((1, 0), (2, ALL)):
        made = releases.release(project, trained, "mood", CLASS, number)
        right = [row | {"predicted": row["gold"]} for row in pq.read_table(made / PREDICTIONS).to_pylist()]
        pq.write_table(pa.Table.from_pylist(releases.planted(right, wrong)), made / PREDICTIONS)
        releases.sign(made)
    assert promote("mood", 1).exit_code == 0
    worse = promote("mood", 2)
    assert (worse.exit_code, code_of(worse)) == (65, "AB-232")
    assert "difference: -100.0 points: not_tested" in worse.stdout
    assert str(champion(project).version) == "1"


@pytest.mark.slow
def test_what_cannot_be_compared(project: Path, trained: Project) -> None:
    """Another test set, another task type, and no test rows are refused by name, and pass with a reason."""
    releases.release(project, trained, "mood", CLASS, 1)
    shutil.copytree(trained.root / "data" / PAIR, project / "data/validated/tasks/pair")
    assert promote("mood", 1).exit_code == 0
    other = releases.release(project, trained, "mood", CLASS, 2)
    table = pq.read_table(other / PREDICTIONS)
    pq.write_table(table.slice(0, len(table) - 5), other / PREDICTIONS)
    releases.sign(other)
    refused = promote("mood", 2)
    assert (refused.exit_code, code_of(refused)) == (65, "AB-232")
    assert "of its 145 rows, 145 are in data/validated/tasks/mood, of 150" in refused.stderr
    releases.release(project, trained, "mood", PAIR, 3)
    refused = promote("mood", 3)
    assert code_of(refused) == "AB-232"
    assert "its task type is text-pair-classification, that of the champion, release 1, is" in refused.stderr
    shutil.rmtree(project / "data")
    releases.release(project, trained, "mood", CLASS, 4)
    assert code_of(promote("mood", 4)) == "AB-050"
    assert str(champion(project).version) == "1"
    passed = promote("mood", 4, "--force", "--reason", "the data are elsewhere")
    assert passed.exit_code == 0, passed.output
    assert "not compared with the champion, release 1" in passed.stdout


def test_a_champion_whose_files_are_lost(project: Path, trained: Project) -> None:
    for number in (1, 2):
        releases.release(project, trained, "mood", CLASS, number)
    assert promote("mood", 1).exit_code == 0
    shutil.rmtree(project / "mlartifacts/models")
    lost = promote("mood", 2)
    assert (lost.exit_code, code_of(lost)) == (65, "AB-232")
    assert "the store gives no release.json of the champion" in lost.stderr
    passed = promote("mood", 2, "--force", "--reason", "1 is lost")
    assert passed.exit_code == 0, passed.output


def test_a_release_with_another_bit_is_not_registered(project: Path, trained: Project) -> None:
    made = releases.release(project, trained, "mood", CLASS, 1)
    file = made / MODEL / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    flipped = promote("mood", 1)
    assert (flipped.exit_code, code_of(flipped)) == (65, "AB-231")
    assert "changed since it was made: model/model.safetensors" in flipped.stderr
    file.unlink()
    assert "missing: model/model.safetensors" in promote("mood", 1).stderr
    file.write_bytes(whole)
    (made / "more.txt").write_text("")
    assert "not of this release: more.txt" in promote("mood", 1).stderr
    with open_store() as store:
        assert Registry(store).champion("mood") is None


def test_the_last_release_has_to_be_here(project: Path, trained: Project) -> None:
    """A clone that has not pulled it does not promote the one before."""
    releases.release(project, trained, "mood", CLASS, 1)
    (project / "releases/mood/2.dvc").write_text("")
    done = promote("mood")
    assert (done.exit_code, code_of(done)) == (65, "AB-050")
    assert "fetch it: dvc pull releases/mood/2.dvc" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["mood", "1"], "AB-050", "no release 1 of this task; there: none"),
        (["other"], "AB-050", "no release of this task"),
        (["mood", "--force"], "AB-111", "write both or neither"),
        (["mood", "--reason", "faster"], "AB-111", "write both or neither"),
    ],
)
def test_what_a_user_gets_wrong(project: Path, arguments: list[str], code: str, said: str) -> None:
    done = promote(*arguments)
    assert done.exit_code in (65, 78)
    assert code_of(done) == code
    assert said in done.stderr


def test_a_store_that_cannot_be_reached(project: Path, trained: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    releases.release(project, trained, "mood", CLASS, 1)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://user:secretword@127.0.0.1:9")
    gone = promote("mood", 1)
    assert (gone.exit_code, code_of(gone)) == (75, "AB-156")
    assert "secretword" not in gone.output
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    with closing(sqlite3.connect(project / "mlflow.db")) as store, store:
        store.execute("CREATE TABLE alembic_version (version_num TEXT)")
        store.execute("INSERT INTO alembic_version VALUES ('ffff')")
    assert code_of(promote("mood", 1)) == "AB-156"
