"""MLflow's records -> the hours that stages took."""

from collections.abc import Collection

from adaptbert.runtime.origin import project_root, tracking_uri


def hours(stages: Collection[str]) -> float | None:
    """Hours of the last finished run of each of these stages, as DVC names them; None where MLflow lacks one of them.

    A model that came by `dvc pull` was trained elsewhere, where MLflow may have another store.
    """
    uri = tracking_uri()
    if uri.startswith("sqlite:///") and not (project_root() / "mlflow.db").is_file():  # it would be made
        return None
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    client, seconds = MlflowClient(uri), []
    try:
        experiments = [each.experiment_id for each in client.search_experiments()]
        for stage in stages:
            query = f"tags.`dvc.stage` = '{stage}' and attributes.status = 'FINISHED' and metrics.`cost/seconds` > 0"
            last = client.search_runs(experiments, query, max_results=1, order_by=["attributes.start_time DESC"])
            seconds += [run.data.metrics["cost/seconds"] for run in last]
    except MlflowException:
        return None
    return sum(seconds) / 3600 if len(seconds) == len(stages) else None
