"""What MLflow has of a project."""

import os
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Run

from adaptbert.runtime.mlflow import EXPERIMENT


def environment(**variables: str) -> dict[str, str]:
    """Environment of a process with these variables and no other of MLflow's."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    return {**own, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONWARNINGS": "ignore", **variables}


def client(folder: Path) -> MlflowClient:
    """Client of the project's own store."""
    return MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")


def runs(folder: Path, condition: str = "") -> list[Run]:
    """Runs in the order in which they began."""
    store = client(folder)
    experiment = store.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    return list(store.search_runs([experiment.experiment_id], condition, order_by=["attributes.start_time"]))


def statuses(folder: Path) -> dict[str, str]:
    """Statuses by name, without the recipe's own."""
    return {run.info.run_name: run.info.status for run in runs(folder) if run.data.tags.get("stage") != "recipe"}
