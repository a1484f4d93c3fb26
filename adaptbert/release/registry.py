"""The registered models of MLflow, one for each task: a version for each release, and the alias `champion`.

A version holds the whole folder of its release, so that a champion can be challenged and served where `releases` does
not lie. Its tags are the record of the release; `sums`, the digest of SHA256SUMS, says which version a release is.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version as version_of
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from packaging.version import Version

from adaptbert.codes import Code
from adaptbert.config.schema.task_types import SPECS, TASK_TYPES
from adaptbert.core.files import file_digest
from adaptbert.errors import BadData, first_of
from adaptbert.model.checkpoint_files import CARD, read_card
from adaptbert.release.record import FILE, MODEL, PREDICTIONS, SUMS, Release
from adaptbert.runtime.mlflow import Store

CHAMPION, PROMOTED = "champion", "promoted"
"""The alias, and the tag that says why it was moved to a version."""
SERVE = f"mlflow models serve -m models:/{{}}@{CHAMPION} --env-manager local"
FORCE = "to move the alias nevertheless: --force --reason TEXT"
LIBRARIES = {"encoder": ("torch", "transformers"), "linear": ("scikit-learn", "scipy")}
"""Libraries beside adaptbert on which the answers of a kind of release depend."""
EXAMPLE = {"text": "A short text.", "texts": ["A", "short", "text", "."]}
"""Cell of an input by its type, in the example of a request."""


class Registry:
    """The registered models of a project's store, which is that of this process from now on."""

    def __init__(self, store: Store) -> None:
        import mlflow

        os.environ["MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR"] = "false"
        self._client, self._experiment = store.client, store.experiment
        mlflow.set_tracking_uri(self._client.tracking_uri)
        mlflow.set_experiment(experiment_id=self._experiment)

    def champion(self, task: str) -> Any:
        """The version of MLflow that has the alias; None without one."""
        models = self._client.search_registered_models(f"name = '{task}'")
        number = models[0].aliases.get(CHAMPION) if models else None
        return None if number is None else self._client.get_model_version(task, number)

    def crown(self, version: Any, why: str) -> None:
        """Give a version the alias, and keep why."""
        self._client.set_model_version_tag(version.name, version.version, PROMOTED, why)
        self._client.set_registered_model_alias(version.name, CHAMPION, version.version)

    def version(self, folder: Path, release: Release) -> Any:
        """The version of a release; it is registered where there is none."""
        sums = file_digest(folder / SUMS)
        known = self._client.search_model_versions(f"name = '{release.task}' and tags.sums = '{sums}'")
        return known[0] if known else self._registered(folder, release, sums)

    @contextmanager
    def evidence(self, version: Any) -> Iterator[Path]:
        """A folder with the record and the answers of a version, for as long as the block lasts.

        Raises:
            BadData: it is no release, or its files are lost.
        """
        from mlflow.artifacts import download_artifacts
        from mlflow.exceptions import MlflowException

        place = f"version {version.version} of the registered model '{version.name}'"
        if "sums" not in version.tags:
            raise BadData(Code.CHALLENGE, place, "the champion is no release of adaptbert", FORCE)
        stored = f"models:/{version.name}/{version.version}/artifacts/{version.tags['release']}"
        with TemporaryDirectory() as folder:
            for name in (FILE, PREDICTIONS):
                try:
                    file = Path(download_artifacts(artifact_uri=f"{stored}/{name}", dst_path=folder))
                except (MlflowException, OSError):
                    raise BadData(Code.CHALLENGE, place, f"the store gives no {name} of the champion", FORCE) from None
                file.replace(Path(folder, name))
            yield Path(folder)

    def run_name(self, version: Any) -> str:
        """The name of the run of its fine-tuning; empty where the store does not have it."""
        return str(self._client.get_run(version.run_id).info.run_name) if version.run_id else ""

    def _registered(self, folder: Path, release: Release, sums: str) -> Any:
        from mlflow import pyfunc
        from mlflow.models import Model

        run, name = self._run(folder, release), f"{release.task}-{release.version}"
        model = Model.log(None, pyfunc, name=name, run_id=run, **as_pyfunc(folder, release))
        if not self._client.search_registered_models(f"name = '{release.task}'"):
            self._client.create_registered_model(release.task)
        values = release.as_json() | {"release": release.version, "sums": sums}
        tags = {name: str(value) for name, value in values.items() if name not in ("version", "made_from")}
        return self._client.create_model_version(
            release.task,
            model.model_uri,
            run,
            {name: tag for name, tag in tags.items() if tag},
            model_id=model.model_id,
        )

    def _run(self, folder: Path, release: Release) -> str | None:
        """The last run of a fine-tuning that made these weights; None where the store has none."""
        card = read_card(folder / MODEL / CARD) if release.kind == "encoder" else None
        if card is None:
            return None
        condition = f"tags.stage = 'finetune' and tags.checkpoint = '{card.weights}'"
        order = ["attributes.start_time DESC"]
        runs = self._client.search_runs([self._experiment], condition, order_by=order, max_results=1)
        return str(runs[0].info.run_id) if runs else None


def as_pyfunc(folder: Path, release: Release) -> dict[str, Any]:
    """The arguments with which MLflow makes a model of a release."""
    from adaptbert.release import served

    rows = [{name: EXAMPLE[cell] for name, cell in TASK_TYPES[SPECS[release.type].task_type].inputs.items()}]
    installed = {name: Version(version_of(name)).public for name in ("adaptbert", "mlflow", *LIBRARIES[release.kind])}
    return {
        "python_model": served.__file__,
        "artifacts": {served.RELEASE: str(folder)},
        "input_example": (rows, served.PARAMS),
        "pip_requirements": [f"{name}=={number}" for name, number in installed.items()],
    }


def check_sums(folder: Path) -> None:
    """Refuse a release with a file that is not as it was written.

    Raises:
        BadData: no such release, or files that are missing, changed or not of it.
    """
    if not (folder / SUMS).is_file():
        raise BadData(Code.FILE, folder, f"no release: it has no {SUMS}", "make one: adaptbert release TASK")
    lines = (line.partition("  ") for line in (folder / SUMS).read_text(encoding="utf-8").splitlines())
    expected = {name: digest for digest, _, name in lines}
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {SUMS}
    changed = [name for name in sorted(expected.keys() & files) if file_digest(folder / name) != expected[name]]
    for names, what in (
        (changed, "changed since it was made"),
        (sorted(expected.keys() - files), "missing"),
        (sorted(files - expected.keys()), "not of this release"),
    ):
        if names:
            remedy = "restore it with `dvc checkout --force`, or make another release"
            raise BadData(Code.CHANGED_RELEASE, folder, f"{what}: {first_of(names, 3)}", remedy)
