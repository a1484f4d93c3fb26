"""MLflow's records -> the hours that stages took."""

from collections.abc import Collection

from adaptbert.errors import Temporary
from adaptbert.runtime.mlflow import open_store
from adaptbert.runtime.origin import project_root, tracking_uri


def hours(stages: Collection[str]) -> float | None:
    """Hours of the last finished run of each of these stages, as DVC names them; None where MLflow lacks one of them,
    or cannot be asked.

    A model that came by `dvc pull` was trained elsewhere, where MLflow may have another store.
    """
    if tracking_uri().startswith("sqlite:///") and not (project_root() / "mlflow.db").is_file():  # it would be made
        return None
    seconds, done = [], "attributes.status = 'FINISHED' and metrics.`cost/seconds` > 0"
    try:
        with open_store() as store:
            for stage in stages:
                query, order = f"tags.`dvc.stage` = '{stage}' and {done}", ["attributes.start_time DESC"]
                last = store.client.search_runs([store.experiment], query, max_results=1, order_by=order)
                seconds += [run.data.metrics["cost/seconds"] for run in last]
    except Temporary:
        return None
    return sum(seconds) / 3600 if len(seconds) == len(stages) else None
