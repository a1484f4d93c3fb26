"""Collect a task: read a labelled set into data/raw.

installed packages | the user's files | a data set of the hub -> {train,dev,test}.parquet,
unreadable.parquet, manifest.json

    dvc repro collect_task@section
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptbert.config.schema.sources import Task
from adaptbert.core.files import atomic_write
from adaptbert.data.source_config import labelling_of, layout_of
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.stage import Stage


def collect_task(params: Task, *, task: str, out: Path, run: Run) -> None:
    """Read a labelled set (train, dev, test) into data/raw."""
    with atomic_write(out) as folder:
        folder.mkdir()
        manifest = read_into(
            folder, params, {split: Path(getattr(params, split)) for split in ("train", "dev", "test")}
        )

    counts = ", ".join(f"{count:,} {split}" for split, count in manifest["rows"].items())
    logging.info(f"{task}: {counts} rows")
    cut = manifest.get("split", {})
    if cut:
        logging.info(f"{task}: no splits of their own: " + ", ".join(f"{k} {v}" for k, v in cut.items()))
    for what, count in manifest["warnings"].items():
        logging.info(f"{task}: {what}: {count:,}")
    run.set_tags({"data": manifest["digest"]} | ({"split": json.dumps(cut)} if cut else {}))
    run.log_metrics({f"{split}/rows": count for split, count in manifest["rows"].items()}, step=0)
    run.log_artifact(out / "manifest.json")


def read_into(folder: Path, params: Task, paths: Mapping[str, Path], head: int | None = None) -> dict[str, Any]:
    """Write the rows of each split, and the errors of unreadable ones, to an empty folder; returns its manifest.

    Args:
        paths: of train, dev and test.
        head: rows that are read of each of the user's files; None: all.
    """
    from adaptbert.data.demonstration_tasks import DemonstrationTask
    from adaptbert.data.labelled_source import LabelledSource
    from adaptbert.data.raw_writer import RawWriter

    shares = params.split.shares() if params.split is not None else {}
    layout = layout_of(params)
    source: DemonstrationTask | LabelledSource
    if params.rows is not None:
        source = DemonstrationTask(paths["train"], params.shape, params.rows.model_dump())
    else:
        source = LabelledSource(paths, layout, params, shares, labelling_of(params), head)
    with RawWriter(folder, layout) as writer:
        for split, path in paths.items():
            writer.write(source.rows(split), split, path)
        labels = {"labels": source.labels} if source.labels else {}
        cut = {"split": source.cut()} if isinstance(source, LabelledSource) and shares else {}
        return writer.finish({**about(params), **labels, **cut, **source.provenance()}, source.warnings)


def about(params: Task) -> dict[str, Any]:
    """The facts about the set that validation and prediction need, and its source."""
    known = {"source": params.source, "demonstration": params.rows is not None}
    values = params.model_dump(exclude_none=True) | {"shape": params.shape, "target": params.target}
    if params.span_scheme is None:
        values.pop("tag_scheme", None)
    keys = ("replace", "shape", "target", "map_labels", "positive", "tag_scheme", "repair_tags", "no_answer", "range")
    return known | {key: values[key] for key in keys if key in values}


STAGE = Stage(collect_task)

if __name__ == "__main__":
    STAGE.run()
