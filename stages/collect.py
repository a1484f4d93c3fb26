"""Collect: read a corpus of unlabelled text into data/raw.

a file or a folder -> text.parquet, unreadable.parquet, manifest.json

    dvc repro collect@domain
"""

import logging
from pathlib import Path

from adaptbert.config.schema.sources import Corpus
from adaptbert.core.files import atomic_write
from adaptbert.runtime.mlflow import Run
from adaptbert.stage import run_stage


def collect(params: Corpus, *, corpus: str, out: Path, run: Run) -> None:
    from adaptbert.data.collect import collect_corpus

    with atomic_write(out) as folder:
        folder.mkdir()
        manifest = collect_corpus(params, folder)
    logging.info(f"{corpus}: {manifest['rows']:,} documents, {manifest['characters']:,} characters")
    for what, count in manifest["warnings"].items():
        logging.info(f"{corpus}: {what}: {count:,}")
    run.set_tags({"data": manifest["digest"]})
    run.log_metrics({key: manifest[key] for key in ("rows", "rows_in", "characters")}, step=0)
    run.log_artifact(out / "manifest.json")


if __name__ == "__main__":
    run_stage(collect)
