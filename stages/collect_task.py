"""Collect a task: read a labelled set into data/raw.

a file or a folder for each split, or one for several -> {train,dev,test}.parquet, unreadable.parquet, manifest.json

    dvc repro collect_task@section
"""

import json
import logging
from pathlib import Path

from adaptbert.config.schema.sources import SPLITS, Task
from adaptbert.core.files import atomic_write
from adaptbert.runtime.mlflow import Run
from adaptbert.stage import run_stage


def collect_task(params: Task, *, task: str, out: Path, run: Run) -> None:
    from adaptbert.data import collect

    with atomic_write(out) as folder:
        folder.mkdir()
        paths = {split: Path(getattr(params, split)) for split in SPLITS}
        manifest = collect.collect_task(params, paths, folder)

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


if __name__ == "__main__":
    run_stage(collect_task)
