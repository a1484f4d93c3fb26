"""Reads the rows of train, dev and test of a labelled set from files, folders or hub splits."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Source
from adaptbert.data.hash_split import cut
from adaptbert.data.hub import HubDataset
from adaptbert.data.layout import Layout
from adaptbert.data.readers.fields import AS_IT_IS, Labelling, check_label_kinds, no_labels
from adaptbert.data.readers.records import Row
from adaptbert.data.user_files import Files
from adaptbert.errors import BadData

_SECTION = "params.yaml: tasks"


class LabelledSource:
    """A source for each split, and the checks across splits.

    Args:
        paths: split -> its path; those of `shares` are not read.
        shares: of the splits that are cut off the training rows.
        labelling: how the files encode labels.
        head: rows that are read of each file, see `Files`.

    Raises:
        BadData: two splits have the same bytes.
    """

    def __init__(
        self,
        paths: Mapping[str, Path],
        layout: Layout,
        config: Source,
        shares: dict[str, float],
        labelling: Labelling = AS_IT_IS,
        head: int | None = None,
    ) -> None:
        self.labels, self._layout, self._shares, self._is_head = labelling.known, layout, shares, head is not None
        self._sources: dict[str, Files | HubDataset] = {
            split: Files(path, layout, config, split, labelling, head)
            if config.source == "files"
            else HubDataset(path, layout, config, split, labelling)
            for split, path in paths.items()
            if split not in shares
        }
        self._split_of_group: dict[str, str] = {}
        _check_different({split: source for split, source in self._sources.items() if isinstance(source, Files)})

    def rows(self, split: str) -> Iterator[Row]:
        """Raises BadData where a group is in two splits or a split is cut off too few rows, and at the end of a split
        without labels, with labels of another type than those before, or of test rows that are all one group.
        """
        is_cut = split in self._shares or (split == "train" and bool(self._shares))
        labelled, unlabelled = 0, 0
        for row in self._cut_off(split) if is_cut else self._sources[split].rows():
            if row.problem is None:
                labelled += 1
                self._check_group(row, split)
            else:
                unlabelled += row.problem.code == Code.LABEL_MISSING
            yield row
        if unlabelled and not labelled:
            raise no_labels(split, split)
        if split == "test" and labelled > 1 and not self._is_head:
            self._check_test_groups(labelled)
        kinds: dict[str, str] = {}
        for source in self._sources.values():
            for kind, place in source.fields.label_kinds.items():
                kinds.setdefault(kind, place)
        check_label_kinds(kinds)

    @property
    def warnings(self) -> Counter[str]:
        return sum((source.warnings for source in self._sources.values()), Counter[str]())

    def provenance(self) -> dict[str, Any]:
        """`files` or `dataset`, by split."""
        by_kind: dict[str, dict[str, Any]] = {}
        for split, source in self._sources.items():
            for kind, value in source.provenance().items():
                by_kind.setdefault(kind, {})[split] = value
        return by_kind

    def cut(self) -> dict[str, Any]:
        """The splits that are cut off the training rows, with their shares, and the column whose hash decides; empty if
        there are none."""
        columns = self._sources["train"].fields.columns
        by = columns["group"] if "group" in columns else " and ".join(self._layout.shared)
        return {**self._shares, "by_hash_of": by} if self._shares else {}

    @cached_property
    def _pool(self) -> dict[str, list[Row]]:
        return cut(self._sources["train"].rows(), self._layout, self._shares)

    def _cut_off(self, split: str) -> list[Row]:
        if not self._pool[split]:
            total = sum(map(len, self._pool.values()))
            problem = f"{total:,} rows cannot be split: none falls to {split}"
            raise BadData(Code.TOO_FEW_ROWS, _SECTION, problem, f"give more rows, or a file for {split}")
        return self._pool[split]

    def _check_test_groups(self, rows: int) -> None:
        """Test rows are resampled by groups, and one group has no spread."""
        groups = sum(split == "test" for split in self._split_of_group.values())
        if groups == 1:
            problem = f"all {rows:,} test rows are of one group, so that nothing is known of other groups"
            remedy = "take rows of more groups for test, or take `group` out of `columns`"
            raise BadData(Code.GROUPS, _SECTION, problem, remedy)

    def _check_group(self, row: Row, split: str) -> None:
        if row.group is not None and (first := self._split_of_group.setdefault(row.group, split)) != split:
            problem = f"the group of row '{row.id}' is in {first}, too"
            remedy = "split by group, or drop its rows from one of the two"
            raise BadData(Code.GROUPS, f"{row.file}:{row.line}", problem, remedy)


def _check_different(splits: Mapping[str, Files]) -> None:
    first_place: dict[str, str] = {}
    for split, files in splits.items():
        files.survey()
        for name, digest in files.digests.items():
            if digest in first_place:
                problem = f"{name} has the bytes of {first_place[digest]}"
                raise BadData(Code.FILE, files.path, problem, "a split needs a file of its own")
        first_place |= {digest: f"{split}: {name}" for name, digest in files.digests.items()}
