"""The folder of a release: written whole beside its place, then renamed; an earlier one is never touched."""

import shutil
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pyarrow.parquet as pq

from adaptbert.comparison.records import Arm, Comparison
from adaptbert.config.plan import Plan
from adaptbert.core.files import atomic_write, file_digest, write_json
from adaptbert.release.card import cards
from adaptbert.release.choice import Choice
from adaptbert.release.material import Material
from adaptbert.release.record import FILE, MODEL, PREDICTIONS, RELEASES, SUMS, Release
from adaptbert.runtime.origin import commit


def write_release(choice: Choice, comparison: Comparison, plan: Plan, material: Material) -> Path:
    """Write the next release of a task, and return its folder.

    Raises:
        Unwritable: there is no room for it.
    """
    record = _record(choice, material)
    files = material.files(record.task, plan)
    target = RELEASES / record.task / str(record.version)
    with atomic_write(target) as part:
        shutil.copytree(choice.folder, part / MODEL)
        pq.write_table(material.answers, part / PREDICTIONS)
        write_json(part / FILE, record.as_json())
        for name, text in cards(record, choice, comparison, material, files):
            (part / name).write_text(text, encoding="utf-8")
        (part / SUMS).write_text("".join(_sums(part)), encoding="utf-8")
    return target


def _record(choice: Choice, material: Material) -> Release:
    is_arm, task, score = isinstance(choice.model, Arm), choice.task, choice.score
    return Release(
        task=task.task,
        version=max(Release.numbers(task.task), default=0) + 1,
        kind="encoder" if is_arm else "linear",
        arm=choice.name,
        base=task.base if is_arm else "",
        replicate=choice.replicate,
        seed=material.seed,
        cell=choice.folder.name if is_arm else "",
        type=task.type,
        metric=task.metric,
        score=score.mean,
        low=score.low,
        high=score.high,
        supported=choice.is_supported,
        reason=choice.reason,
        adaptbert=metadata.version("adaptbert"),
        commit=commit(),
        made_from=dict(material.made_from),
    )


def unrecorded(folder: Path) -> list[Path]:
    """The releases of a task that DVC has no record of: the last, and one after which the command was killed."""
    versions = [path for path in folder.iterdir() if path.name.isdecimal()]
    return sorted(path for path in versions if not path.with_name(f"{path.name}.dvc").is_file())


def _sums(folder: Path) -> Iterator[str]:
    """The lines of `sha256sum` for all files of a folder."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield f"{file_digest(path)}  {path.relative_to(folder).as_posix()}\n"
