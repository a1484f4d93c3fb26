"""The check of one set: its first rows go through the readers and through validation, into a temporary folder."""

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.core.files import read_json
from adaptbert.data.hub import HubDataset
from adaptbert.data.installed_docs import InstalledDocs
from adaptbert.data.layout import CORPUS
from adaptbert.data.leaks import ForbiddenText
from adaptbert.data.limits import Limits
from adaptbert.data.raw_writer import RawWriter
from adaptbert.data.source_config import SourceConfig
from adaptbert.data.user_files import Files
from adaptbert.errors import BadParams
from adaptbert.project.first_rows.judging import (
    Extent,
    Finding,
    bad_rows,
    decided,
    is_small,
    raised,
    unread,
    validation_limits,
)
from adaptbert.runtime.params import blocks
from adaptbert.tasks.options import class_weights

SPLITS = ("train", "dev", "test")
ROWS = 200
"""Of each file of a set that is not small."""


class Look(NamedTuple):
    """What the checks of all sets share.

    Attributes:
        file: params.yaml, for messages.
        limits: of validation.
        folder: a temporary one.
    """

    file: Path
    limits: Limits
    folder: Path

    def new_folder(self) -> Path:
        return Path(mkdtemp(dir=self.folder))


def _head(*, small: bool) -> int:
    """Rows that are read of each file."""
    return sys.maxsize if small else ROWS


def of_corpus(look: Look, key: str, config: SourceConfig, path: Path) -> Iterator[Finding]:
    """Text without labels."""
    from adaptbert.data.validate_corpus import validate_corpus

    if config.source == "installed_docs":
        InstalledDocs(path).provenance()
        return
    if config.source == "hub":
        HubDataset(path, CORPUS, config)
        return
    small = is_small([path])
    files = Files(path, CORPUS, config, head=_head(small=small))
    folder = look.new_folder()
    with RawWriter(folder, CORPUS) as writer:
        failed = raised(partial(writer.write, files.rows(), "text", path))
    extent = Extent(writer.rows_in.get("text", 0), files.is_whole)
    if failed:
        yield from unread(failed, key, extent)
        return
    whole = small and files.is_whole
    limits = validation_limits(look.limits, whole=whole)
    kept, rejected = folder / "kept.parquet", folder / "rejected.parquet"
    validated = validate_corpus(folder, kept, rejected, ForbiddenText(()), limits)
    yield from decided(validated.errors, lambda _: str(path), key, lambda _: extent, whole=whole)
    if not whole:
        place = str(path)
        yield from bad_rows({place: [validated.account]}, key, look.limits.max_bad_fraction, {place: extent})


class LabelledLook:
    """A labelled set.

    Args:
        stage: the module of `collect_task`, which reads its rows.
        config: its section for this set.
        paths: split -> where it lies.
        tuning: the section `finetune`.
    """

    def __init__(
        self, look: Look, name: str, stage: Any, config: Any, paths: Mapping[str, Path], tuning: Mapping[str, Any]
    ) -> None:
        self._look, self._name, self._stage, self._config = look, name, stage, config
        self._paths, self._tuning, self._key = paths, tuning, f"collect_task.{name}"
        shares = config.split.shares() if config.split is not None else {}
        self._own = {split: path for split, path in paths.items() if split not in shares}

    def findings(self) -> Iterator[Finding]:
        for split, path in self._own.items():
            if self._config.source == "installed_docs":
                InstalledDocs(path).provenance()
            elif self._config.source == "hub":
                HubDataset(path, self._config.layout(), self._config, split)
        if self._config.source == "files":
            yield from self._of_files()

    def _of_files(self) -> Iterator[Finding]:
        """Each split is read by itself first, so that an error of one does not hide those of the next."""
        small = is_small(self._own.values())
        config, read = self._config, _head(small=small)
        extents: dict[str, Extent] = {}
        failures: list[Finding] = []
        with RawWriter(self._look.new_folder(), config.layout()) as writer:
            for split, path in self._own.items():
                files = Files(path, config.layout(), config, split, config.labelling(), read)
                failed = raised(partial(writer.write, files.rows(), split, path))
                extents[split] = Extent(writer.rows_in.get(split, 0), files.is_whole)
                failures += unread(failed, self._key, extents[split])
        yield from failures
        if failures:
            return
        whole = small and all(extent.whole for extent in extents.values())
        raw = self._look.new_folder() / self._name
        raw.mkdir()
        if failed := raised(partial(self._stage.read_into, raw, config, self._paths, read)):
            yield from decided(failed, str, self._key, partial(self._extent, extents), whole=whole)
        else:
            yield from self._validated(raw, extents, whole=whole)

    def _validated(self, raw: Path, extents: Mapping[str, Extent], *, whole: bool) -> Iterator[Finding]:
        """The problems that validation finds."""
        from adaptbert.data.validate_set import validate_labelled_set

        kept = raw.parent / "kept"
        limits = validation_limits(self._look.limits, whole=whole)
        validated = validate_labelled_set(raw, kept, raw.parent / "rejected.parquet", limits)
        shown, extent = partial(self._place, raw), partial(self._extent, extents)
        has_labels = bool(self._config.labels)
        yield from decided(validated.errors, shown, self._key, extent, whole=whole, has_labels=has_labels)
        if not whole:
            accounts = {
                str(path): [validated.accounts[split] for split in SPLITS if self._paths[split] == path]
                for path in self._paths.values()
            }
            read = {str(self._paths[split]): each for split, each in extents.items()}
            yield from bad_rows(accounts, self._key, self._look.limits.max_bad_fraction, read)
        if not validated.errors:
            labels = read_json(kept / "task.json")["labels"] if whole or has_labels else None
            yield from self._tuned(labels, validated.accounts["train"].kept if whole else None)

    def _tuned(self, labels: list[str] | None, rows: int | None) -> Iterator[Finding]:
        """What `finetune` says of these labels and rows; values of single starts and arms are left to the stage."""
        values = blocks.in_force(self._tuning, [self._name])

        def key(name: str) -> str:
            return f"{self._look.file}: finetune.{blocks.owner(self._tuning, [self._name], [name])}.{name}"

        if rows is not None and values.get("labels", 0) > rows:
            few = f"train of {self._name} has {rows:,} rows that are kept: all of them are used"
            yield f"{key('labels')}: {values['labels']:,}, but {few}"
        weights = values.get("class_weights")
        if labels is None or weights is None:
            return
        if problem := class_weights.problem(weights, self._config.target, labels):
            remedy = "give `balanced`, or each label its weight"
            yield BadParams(Code.CONTRADICTION, key("class_weights"), problem, remedy)

    def _extent(self, extents: Mapping[str, Extent], shown: str) -> Extent:
        """Of the split in a message; of one that is cut off train, or of the whole set, that of train."""
        split = Path(shown).stem
        return extents[split if split in extents else "train"]

    def _place(self, raw: Path, shown: str) -> str:
        """The user's file, or the set, in place of the temporary file or folder."""
        split = Path(shown).stem
        is_file = Path(shown) != raw and split in self._paths
        return str(self._paths[split]) if is_file else f"{self._look.file}: {self._key}"
