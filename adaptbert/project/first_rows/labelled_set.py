"""A labelled set: the first rows of its splits."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from adaptbert.base.files import read_json
from adaptbert.codes import Code
from adaptbert.collection import dna_control
from adaptbert.collection.hub import HubDataset
from adaptbert.collection.installed_docs import InstalledDocs
from adaptbert.collection.raw_writer import RawWriter
from adaptbert.collection.readers.formats.spec import FORMATS
from adaptbert.collection.user_files import Files
from adaptbert.errors import BadParams, UserError
from adaptbert.finetuning.options import class_weights
from adaptbert.project.first_rows.bad_rows import (
    Extent,
    Notice,
    share_findings,
    validation_limits,
    without_shares,
)
from adaptbert.project.first_rows.look import beginning, decided, folder, is_small, raised, unread
from adaptbert.project.known_words import KnownWords
from adaptbert.runtime.params import blocks
from adaptbert.validation.accounts import Account
from adaptbert.validation.limits import Limits

SPLITS = ("train", "dev", "test")
_LARGEST_DOCUMENT = 20_000_000
"""Bytes of a file in a format that can only be read whole."""


@dataclass(frozen=True)
class LabelledLook:
    """At the files, or at the list of packages or the name of a data set.

    Args:
        stage: the module of `collect_task`, which reads them.
        config: its section for this set.
        paths: split -> where it lies; without missing files, which have their own error.
        tuning: the section `finetune`; empty where there is none that is valid.
        file: params.yaml, for messages.
        folder: a temporary one to write to.
    """

    name: str
    stage: Any
    config: Any
    paths: Mapping[str, Path]
    limits: Limits
    words: KnownWords
    tuning: Mapping[str, Any]
    file: Path
    folder: Path

    @property
    def key(self) -> str:
        return f"collect_task.{self.name}"

    def is_too_large(self) -> bool:
        sizes = (path.stat().st_size for path in self.paths.values() if path.is_file())
        is_document = self.config.format is not None and FORMATS[self.config.format].made_of == "document"
        return is_document and max(sizes, default=0) > _LARGEST_DOCUMENT

    def findings(self) -> Iterable[UserError | Notice]:
        shares = self.config.split.shares() if self.config.split is not None else {}
        own = {split: path for split, path in self.paths.items() if split not in shares}
        if self.config.source == "installed_docs":
            for path in set(own.values()):  # one list
                InstalledDocs(path).provenance()
        elif self.config.source == "dna":
            for path in set(own.values()):
                dna_control.chosen(path)
        elif self.config.source == "hub":
            for split, path in own.items():
                HubDataset(path, self.config.layout(), self.config, split)
        else:
            yield from self._of_files(own)

    def _of_files(self, own: Mapping[str, Path]) -> Iterator[UserError | Notice]:
        """Read as `collect_task` does; where that fails, each readable split is validated by itself."""
        small = is_small(own.values())
        alone = self._raw()
        read = beginning(small=small)
        failures: dict[str, list[UserError]] = {}
        extents: dict[str, Extent] = {}
        self._one_by_one(own, alone, read, failures, extents)
        whole = small and all(extent.whole for extent in extents.values())
        if not failures and len(self.paths) == len(SPLITS):
            together = self._raw()
            failed = raised(partial(self.stage.read_into, together, self.config, self.paths, read))
            if not failed:
                yield from self._judged(together, SPLITS, extents, whole=whole)
                return
            yield from decided(failed, str, self.key, partial(self._extent, extents), whole=whole)
        for split, errors in failures.items():
            yield from unread(errors, self.key, extents[split])
        yield from self._judged(alone, own.keys() - failures.keys(), extents, whole=whole, together=False)

    def _raw(self) -> Path:
        """A new folder for rows, named after the set as that of `collect_task` is."""
        raw = folder(self.folder) / self.name
        raw.mkdir()
        return raw

    def _one_by_one(
        self,
        own: Mapping[str, Path],
        raw: Path,
        read: int,
        failures: dict[str, list[UserError]],
        extents: dict[str, Extent],
    ) -> None:
        """Reads each split by itself, so that an error of one does not hide those of the next.

        Args:
            raw: folder to write the rows to; there, splits that cannot be read are empty.
            read: rows of each file.
            failures: split -> its errors; added to.
            extents: split -> how much of it was read; added to.
        """
        layout, labels = self.config.layout(), {"labels": self.config.labels} if self.config.labels else {}
        with RawWriter(raw, layout) as writer:
            for split in SPLITS:
                if split not in own:
                    raised(partial(writer.write, (), split, ""))
                    continue
                files = Files(own[split], layout, self.config, split, self.config.labelling(), read)
                failed = raised(partial(writer.write, files.rows(), split, own[split]))
                extents[split] = Extent(writer.rows_in.get(split, 0), files.is_whole)
                failures |= {split: failed} if failed else {}
            writer.finish({**self.stage.about(self.config), **labels}, {})

    def _judged(
        self,
        raw: Path,
        splits: Collection[str],
        extents: Mapping[str, Extent],
        *,
        whole: bool,
        together: bool = True,
    ) -> Iterator[UserError | Notice]:
        """The problems that validation finds in these splits.

        Args:
            extents: split -> how much was read of its file, where it has one of its own.
            whole: whether all their rows were read.
            together: whether they are all splits, so that what one lacks is in no other.
        """
        from adaptbert.validation.labelled_set import validate_labelled_set

        valid_rows = self.folder / "kept"
        limits = validation_limits(self.limits, whole=whole)
        validated = validate_labelled_set(raw, valid_rows, self.folder / "rejected.parquet", limits)
        others = {str(raw / f"{split}.parquet") for split in set(SPLITS) - set(splits)}
        errors = [error for error in validated.errors if error.place not in others]
        has_labels = bool(self.config.labels)
        if not whole:
            errors = without_shares(errors)
        shown, extent = partial(self._place, raw), partial(self._extent, extents)
        yield from decided(errors, shown, self.key, extent, whole=whole and together, has_labels=has_labels)
        if not whole:
            yield from self._bad_rows({split: validated.accounts[split] for split in splits}, extents)
        if errors:
            return
        if whole and together:
            yield from self._rows_used(validated.accounts["train"].kept)
        weights = self._tuned().get("class_weights")
        if weights is not None and ((whole and together) or has_labels):
            labels = read_json(valid_rows / "task.json")["labels"]
            if problem := class_weights.problem(weights, self.config.target, labels):
                yield BadParams(
                    Code.CONTRADICTION,
                    self._tuning_key("class_weights"),
                    problem,
                    "give `balanced`, or each label its weight",
                )
        for split in splits:
            path = valid_rows / f"{split}.parquet"
            yield from self.words.errors(self.name, path, self.config.layout(), str(self.paths[split]))

    def _rows_used(self, rows: int) -> Iterator[Notice]:
        """A notice where `finetune` requests more rows of train than it has."""
        labels = self._tuned().get("labels", 0)
        if labels > rows:
            words = f"{labels:,}, but train of {self.name} has {rows:,} rows that are kept: all of them are used"
            yield Notice(self._tuning_key("labels"), words)

    def _tuned(self) -> dict[str, Any]:
        """The values of `finetune` for this set; those of single starts and arms are left to the stage."""
        return blocks.in_force(self.tuning, [self.name])

    def _tuning_key(self, key: str) -> str:
        return f"{self.file}: finetune.{blocks.owner(self.tuning, [self.name], [key])}.{key}"

    def _bad_rows(self, accounts: Mapping[str, Account], extents: Mapping[str, Extent]) -> Iterator[UserError | Notice]:
        by_path: dict[str, list[Account]] = {}
        for split in sorted(accounts, key=SPLITS.index):
            by_path.setdefault(str(self.paths[split]), []).append(accounts[split])  # splits may be cut off train
        read = {str(self.paths[split]): extent for split, extent in extents.items()}
        yield from share_findings(by_path, self.key, self.limits.max_bad_fraction, read)

    def _extent(self, extents: Mapping[str, Extent], shown: str) -> Extent:
        """The extent of the split in a message; for a split cut off train, or for the whole set, that of train."""
        split = Path(shown).stem
        return extents[split if split in extents else "train"]

    def _place(self, raw: Path, shown: str) -> str:
        """The user's file, or the set, in place of the temporary file or folder."""
        split = Path(shown).stem
        is_file = Path(shown) != raw and split in self.paths
        return str(self.paths[split]) if is_file else f"{self.file}: {self.key}"
