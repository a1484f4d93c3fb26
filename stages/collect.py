"""Collect: read a corpus of unlabelled text into data/raw.

installed packages | the user's files | a data set of the hub -> text.parquet, unreadable.parquet, manifest.json

    dvc repro collect@domain
"""

import logging
from pathlib import Path

from adaptbert.config.schema.sources import Corpus
from adaptbert.core.files import atomic_write
from adaptbert.data.layout import CORPUS
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.stage import Stage


def collect(params: Corpus, *, corpus: str, out: Path, run: Run) -> None:
    """Read a corpus of unlabelled text into data/raw."""
    from adaptbert.data.hub import HubDataset
    from adaptbert.data.installed_docs import InstalledDocs
    from adaptbert.data.raw_writer import RawWriter
    from adaptbert.data.user_files import Files

    path = Path(params.path)
    if params.source == "installed_docs":
        source: InstalledDocs | Files | HubDataset = InstalledDocs(path)
    elif params.source == "files":
        source = Files(path, CORPUS, params)
    else:
        source = HubDataset(path, CORPUS, params)

    with atomic_write(out) as folder:
        folder.mkdir()
        with RawWriter(folder, CORPUS) as writer:
            writer.write(source.rows(), "text", path)
            demonstration = params.source == "installed_docs"
            about = {"source": params.source, "demonstration": demonstration, **source.provenance()}
            manifest = writer.finish(about, source.warnings)

    logging.info(f"{corpus}: {manifest['rows']:,} documents, {manifest['characters']:,} characters")
    for what, count in manifest["warnings"].items():
        logging.info(f"{corpus}: {what}: {count:,}")
    run.set_tags({"data": manifest["digest"]})
    run.log_metrics({key: manifest[key] for key in ("rows", "rows_in", "characters")}, step=0)
    run.log_artifact(out / "manifest.json")


STAGE = Stage(collect)

if __name__ == "__main__":
    STAGE.run()
