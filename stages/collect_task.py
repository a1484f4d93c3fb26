"""Collect a task: read a labelled set into data/raw.

installed packages | the user's files | a data set of the hub -> {train,dev,test}.parquet,
unreadable.parquet, manifest.json

    dvc repro collect_task@section
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction
from adaptbert.base.task_types import TARGETS_OF, Target, TaskType
from adaptbert.core.files import atomic_write
from adaptbert.data.hash_split import CutConfig
from adaptbert.data.layout import Layout
from adaptbert.data.readers.fields import Labelling
from adaptbert.data.source_config import SourceConfig
from adaptbert.data.tag_schemes import Scheme
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run

DEMONSTRATIONS = (("single_sentence", "class"), ("sequence_labelling", "spans"))
"""Shapes and targets of the sets that are made from a list of installed packages."""
OF_SOME_TARGETS = (
    "tag_scheme",
    "repair_tags",
    "no_answer",
    "range",
    "positive",
    "separator",
    "labels",
    "map_labels",
)
"""Keys that belong to some targets; `TargetSpec.takes` says to which."""


class RowsConfig(Config):
    """Most rows of each split of a demonstration task."""

    train: Annotated[int, Field(gt=0, le=bounds.ROWS)]
    dev: Annotated[int, Field(gt=0, le=bounds.ROWS)]
    test: Annotated[int, Field(gt=0, le=bounds.ROWS)]


class CollectTaskParams(SourceConfig):
    """One labelled set."""

    shape: TaskType
    target: Target
    """What is to be found. Of sentences and pairs: `class` (one label), `labels` (several, perhaps none) or `number`.
    Of `sequence_labelling`: `spans` (entities, chunks) or `tags` (each a class). Of `extractive_answer`: `answer`."""
    train: str
    dev: str
    test: str
    rows: RowsConfig | None = None
    """installed_docs only; the user's own sets are taken whole."""
    split: CutConfig | None = None
    """For a set without dev or test rows of its own."""
    labels: list[str] | None = None
    """Labels that may occur (of spans: types without B- and I-); left out: those of the training rows."""
    separator: Annotated[str, Field(min_length=1)] | None = None
    """Of target `labels`: what parts the labels of a row where they are one text, as in CSV and TSV, e.g. `';'`; blanks
    around a label are dropped. Left out: they are a list."""
    map_labels: dict[str, str] | None = None
    """A label of the files -> ours, e.g. `{Neutral: neutral}`, as rows are read; of spans the types without B- and I-.
    Left out: labels are as they are."""
    positive: str | None = None
    """Of target `class`: the label whose own F1 is reported as `f1_positive`, as GLUE does for MRPC. Left out: none."""
    tag_scheme: Scheme | None = None
    """How the file writes spans: `io`, `bio` (IOB2), `iob1` or `iobes` (BILOU, BMES); stored as bio. Required for
    target `spans`; formats that mark characters instead need none, they are read as `bio`."""
    repair_tags: bool | None = None
    """true: a row whose tags break the scheme is mended and counted; left out: it is rejected."""
    no_answer: bool | None = None
    """Whether questions may have no answer. Required for `extractive_answer`."""
    range: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    """Of target `number`: lowest and highest value; a row outside is rejected. Left out: any number."""

    def layout(self) -> Layout:
        """The columns of a row."""
        return Layout(self.shape, self.target)

    def labelling(self) -> Labelling:
        """How labels stand in the files."""
        return Labelling(self.separator, self.map_labels or {}, self.labels)

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        if self.target not in TARGETS_OF[self.shape]:
            known = ", ".join(TARGETS_OF[self.shape])
            raise contradiction(f"shape '{self.shape}' has no target '{self.target}'", f"it has {known}")
        self.check_fields(self.layout())
        target = self.layout().output
        for key in OF_SOME_TARGETS:
            is_written = getattr(self, key) is not None
            is_known = key == "tag_scheme" and self.has_character_marks
            if is_written and key not in target.takes:
                raise contradiction(f"target '{self.target}' takes no '{key}'", "leave it out")
            if key in target.needs and not is_known and not is_written:
                raise contradiction(f"target '{self.target}' needs '{key}'", "add it")
        if self.has_character_marks and self.tag_scheme not in (None, "bio"):
            problem = f"format '{self.format}' marks characters: tag_scheme is bio, not {self.tag_scheme}"
            raise contradiction(problem, "leave tag_scheme out")
        if self.range is not None and self.range[0] >= self.range[1]:
            raise contradiction(f"range: {self.range[0]} is not below {self.range[1]}", "write the lowest value first")
        return self

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if self.source == "installed_docs":
            self._check_demonstration()
        elif self.rows is not None:
            raise contradiction(f"source '{self.source}' takes no 'rows'", "see `labels` of finetune for fewer rows")
        elif self.source == "files":
            self._check_paths()
        return self

    def _check_demonstration(self) -> None:
        source = f"source '{self.source}'"
        if not self.train == self.dev == self.test:
            raise contradiction(f"{source} makes its splits from one list", "name it for train, dev and test")
        if (self.shape, self.target) not in DEMONSTRATIONS:
            known = ", and ".join(f"{shape} with {target}" for shape, target in DEMONSTRATIONS)
            problem = f"{source} has no set of shape '{self.shape}', target '{self.target}'"
            raise contradiction(problem, f"it has {known}")
        if self.rows is None:
            raise contradiction(f"{source} needs 'rows'", "add {train: ..., dev: ..., test: ...}")
        for key in ("labels", "map_labels", "split"):
            if getattr(self, key) is not None:
                raise contradiction(f"{source} has {key} of its own", f"leave '{key}' out")

    def _check_paths(self) -> None:
        """DVC needs a path for every split; that of train means that the split is cut off it."""
        cut = self.split.shares() if self.split is not None else {}
        for name in ("dev", "test"):
            same = getattr(self, name) == self.train
            if same and name not in cut:
                raise contradiction(f"train and {name} name the same file", f"`split: {{{name}: 0.1}}` cuts it")
            if not same and name in cut:
                raise contradiction(f"split.{name} cuts {name} off train, but {name} names a file of its own")
        if self.dev == self.test != self.train:
            raise contradiction("dev and test name the same file", "give each a file of its own")


def collect_task(params: CollectTaskParams, *, task: str, out: Path, run: Run) -> None:
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


def read_into(
    folder: Path, params: CollectTaskParams, paths: Mapping[str, Path], head: int | None = None
) -> dict[str, Any]:
    """Write the rows of each split, and the errors of unreadable ones, to an empty folder; returns its manifest.

    Args:
        paths: of train, dev and test.
        head: rows that are read of each of the user's files; None: all.
    """
    from adaptbert.data.demonstration_tasks import DemonstrationTask
    from adaptbert.data.labelled_source import LabelledSource
    from adaptbert.data.raw_writer import RawWriter

    shares = params.split.shares() if params.split is not None else {}
    source: DemonstrationTask | LabelledSource
    if params.rows is not None:
        source = DemonstrationTask(paths["train"], params.shape, params.rows.model_dump())
    else:
        source = LabelledSource(paths, params.layout(), params, shares, params.labelling(), head)
    with RawWriter(folder, params.layout()) as writer:
        for split, path in paths.items():
            writer.write(source.rows(split), split, path)
        labels = {"labels": source.labels} if source.labels else {}
        cut = {"split": source.cut()} if isinstance(source, LabelledSource) and shares else {}
        return writer.finish({**about(params), **labels, **cut, **source.provenance()}, source.warnings)


def about(params: CollectTaskParams) -> dict[str, Any]:
    """The facts about the set that validation and prediction need, and its source."""
    known = {"source": params.source, "demonstration": params.rows is not None}
    keys = ("shape", "target", "tag_scheme", "repair_tags", "no_answer", "range", "replace", "positive", "map_labels")
    return known | params.model_dump(include=set(keys), exclude_none=True)


STAGE = Stage(collect_task, keyed_by="task")

if __name__ == "__main__":
    STAGE.run()
