"""Releases of tiny models, as `adaptbert release` writes them, and the project that they lie in."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.core.files import file_digest
from adaptbert.data.task_description import TaskDescription
from adaptbert.release.record import FILE, MODEL, PREDICTIONS, RELEASES, SUMS, Release
from adaptbert.tasks.metrics.scoring import COMPARED_BY
from tests.support.cells import Project
from tests.support.imports import ROOT


def in_project(folder: Path, project: Project, tasks: dict[str, str]) -> None:
    """Make a folder a project with the labelled sets of these tasks: its name there -> that of the trained project."""
    shutil.copy(ROOT / "presets/smoke.yaml", folder / "params.yaml")
    for name, task in tasks.items():
        shutil.copytree(project.root / "data" / task, folder / "data/validated/tasks" / name)


def release(
    folder: Path,
    project: Project,
    name: str,
    task: str,
    number: int,
    wrong: int = 0,
    model: Path | None = None,
    **changes: Any,
) -> Path:
    """The fine-tuned model of a task as releases/NAME/NUMBER.

    Args:
        wrong: so many of its answers are planted wrong: each is another label.
    """
    made = folder / RELEASES / name / str(number)
    shutil.copytree(project.root / f"models/finetune/{task}-general", made / MODEL)
    described = TaskDescription.read(project.root / "data" / task)
    answers = pq.read_table(project.root / f"predictions/{task}-general.parquet").drop(["seed"]).to_pylist()
    pq.write_table(pa.Table.from_pylist(planted(answers, wrong)), made / PREDICTIONS)
    of_model = {"kind": "encoder", "arm": "general", "base": "small", "replicate": 0, "seed": 1, "cell": "a cell"}
    of_score = {"metric": COMPARED_BY[described.target], "score": 0.5, "low": None, "high": None, "supported": True}
    of_code = {"reason": "", "adaptbert": "0", "commit": "", "made_from": dict[str, str]()}
    values = {"task": name, "version": number, "type": described.type, **of_model, **of_score, **of_code}
    record = Release.model_validate(values | changes)
    (made / FILE).write_text(json.dumps(record.as_json()), encoding="utf-8")
    (made / "README.md").write_text("A model.\n", encoding="utf-8")
    sign(made)
    return made


def planted(answers: list[dict[str, Any]], wrong: int) -> list[dict[str, Any]]:
    """The answers, of which the first that are right are made wrong."""
    labels = sorted({answer["gold"] for answer in answers})
    for answer in [answer for answer in answers if answer["predicted"] == answer["gold"]][:wrong]:
        answer["predicted"] = next(label for label in labels if label != answer["gold"])
    return answers


def sign(made: Path) -> None:
    """Write SHA256SUMS."""
    names = sorted(
        path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file() and path.name != SUMS
    )
    (made / SUMS).write_text("".join(f"{file_digest(made / name)}  {name}\n" for name in names), encoding="utf-8")
