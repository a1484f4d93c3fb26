"""Hours by MLflow's records, in a store of its own."""

from pathlib import Path

import pytest
from mlflow import MlflowClient

from adaptbert.release.material import hours
from adaptbert.runtime.mlflow import EXPERIMENT


def finished(client: MlflowClient, stage: str, seconds: float, began: int, status: str = "FINISHED") -> None:
    run = client.create_run("1", start_time=began, tags={"dvc.stage": stage})
    client.log_metric(run.info.run_id, "cost/seconds", seconds)
    client.set_terminated(run.info.run_id, status)


def test_the_last_finished_run_of_each_stage_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlflow_tables: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert hours(["pretrain@base"]) is None, "no store"
    assert not Path("mlflow.db").exists()
    Path("mlflow.db").write_bytes(mlflow_tables)
    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert client.create_experiment(EXPERIMENT) == "1"
    finished(client, "pretrain@base", 1800, began=1000)
    finished(client, "pretrain@base", 3600, began=2000)
    finished(client, "pretrain@base", 60, began=3000, status="FAILED")
    assert hours(["finetune@mood", "pretrain@base"]) is None, "one stage was trained elsewhere"
    finished(client, "finetune@mood", 900, began=4000)
    assert hours(["finetune@mood", "pretrain@base"]) == 1.25
    assert hours([]) == 0


@pytest.mark.parametrize(
    "address",
    ["", "other://runs", "postgresql://127.0.0.1:9/runs", pytest.param("http://127.0.0.1:9", marks=pytest.mark.slow)],
)
def test_a_store_that_cannot_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    Path("mlflow.db").write_text("no tables")
    assert hours(["pretrain@base"]) is None
