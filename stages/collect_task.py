"""Collect a task: bring a labelled set into data/raw.

installed packages | the user's files | a data set of the hub -> {train,dev,test}.parquet, unreadable.parquet,
manifest.json

    dvc repro collect_task@section
"""

import logging
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from adaptbert.corpora.sources import Shape, SourceConfig
from adaptbert.entry import Stage
from adaptbert.outputs import whole
from adaptbert.params import Config, contradiction
from adaptbert.tracking import Run


class RowsConfig(Config):
    """Most rows of each split of a demonstration task."""

    train: Annotated[int, Field(gt=0)]
    dev: Annotated[int, Field(gt=0)]
    test: Annotated[int, Field(gt=0)]


class CollectTaskParams(SourceConfig):
    """One labelled set."""

    shape: Shape
    train: str
    dev: str
    test: str
    rows: RowsConfig | None = None
    """installed_docs only; the user's own sets are taken whole."""
    labels: list[str] | None = None
    """Labels that may occur (of sequence_labelling: types without B- and I-); left out: those of the training rows."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.check_fields(self.shape)
        same = self.train == self.dev == self.test
        if self.source == "installed_docs":
            if not same:
                raise contradiction(
                    "source 'installed_docs' splits one list by module: name it for train, dev and test"
                )
            if self.rows is None:
                raise contradiction("source 'installed_docs' needs 'rows': {train: ..., dev: ..., test: ...}")
            if self.labels is not None:
                raise contradiction("source 'installed_docs' has labels of its own: leave 'labels' out")
        elif self.rows is not None:
            raise contradiction(f"source '{self.source}' takes no 'rows'; see `labels` of finetune for fewer rows")
        elif self.source == "files" and len({self.train, self.dev, self.test}) < 3:
            raise contradiction("train, dev and test name the same file twice")
        return self


def collect_task(
    params: CollectTaskParams, *, task: str, train: Path, dev: Path, test: Path, out: Path, run: Run
) -> None:
    """Bring a labelled set (train, dev, test) into data/raw."""
    from adaptbert.corpora.demonstration_tasks import DemonstrationTask
    from adaptbert.corpora.labelled import LabelledSet
    from adaptbert.corpora.raw import RawWriter

    paths = {"train": train, "dev": dev, "test": test}
    if params.rows is not None:
        source: DemonstrationTask | LabelledSet = DemonstrationTask(train, params.shape, params.rows.model_dump())
    else:
        source = LabelledSet(paths, params.shape, params, params.labels)

    with whole(out) as folder:
        folder.mkdir()
        with RawWriter(folder, params.shape, params.max_bad_fraction) as writer:
            for split, path in paths.items():
                writer.write(source.rows(split), split, path)
            about = {"source": params.source, "demonstration": params.rows is not None, "shape": params.shape}
            labels = {"labels": source.labels} if source.labels else {}
            manifest = writer.finish({**about, **labels, **source.provenance()}, source.warnings)

    counts = ", ".join(f"{count:,} {split}" for split, count in manifest["rows"].items())
    logging.info(f"{task}: {counts} rows")
    for what, count in manifest["warnings"].items():
        logging.info(f"{task}: {what}: {count:,}")
    run.set_tags({"data": manifest["digest"]})
    run.log_metrics({f"{split}/rows": count for split, count in manifest["rows"].items()}, step=0)
    run.log_artifact(out / "manifest.json")


STAGE = Stage(collect_task, keyed_by="task")

if __name__ == "__main__":
    STAGE.run()
