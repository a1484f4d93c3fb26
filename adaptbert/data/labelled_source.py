"""Reads the rows of train, dev and test of a labelled set from files, folders or hub splits."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Source
from adaptbert.data.hash_split import Cut
from adaptbert.data.hub import HubDataset
from adaptbert.data.layout import Layout
from adaptbert.data.readers.fields import AS_IT_IS, Labelling, check_label_kinds, no_labels
from adaptbert.data.readers.records import Row, Unreadable
from adaptbert.data.user_files import Files
from adaptbert.errors import BadData


class LabelledSource:
    """A source for each split, and the checks across splits.

    Args:
        paths: split -> its path; those of `shares` are not read.
        shares: of the splits that are cut off the training rows.
        labelling: how the files encode labels.
        beginning: rows that are read of each file, see `Files`.

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
        beginning: int | None = None,
    ) -> None:
        self.labels = labelling.known
        self._sources: dict[str, Files | HubDataset] = {
            split: Files(path, layout, config, split, labelling, beginning)
            if config.source == "files"
            else HubDataset(path, layout, config, split, labelling)
            for split, path in paths.items()
            if split not in shares
        }
        self._cut = Cut(self._sources["train"].rows, layout, shares)
        self._split_of_group: dict[str, str] = {}
        self._is_beginning = beginning is not None
        _check_different({split: source for split, source in self._sources.items() if isinstance(source, Files)})

    def rows(self, split: str) -> Iterator[Row | Unreadable]:
        """Raises BadData where a group is in two splits, and at the end of a split without labels, with labels of
        another type than those before, or of test rows that are all one group.
        """
        own = split in self._sources and not (split == "train" and self._cut.shares)
        labelled, unlabelled = 0, 0
        for row in self._sources[split].rows() if own else self._cut.rows(split):
            if isinstance(row, Row):
                labelled += 1
                self._check_group(row, split)
            else:
                unlabelled += row.problem.code == Code.LABEL_MISSING
            yield row
        if unlabelled and not labelled:
            raise no_labels(split, split)
        if split == "test" and labelled > 1 and not self._is_beginning:
            self._check_test_groups(labelled)
        kinds: dict[str, str] = {}
        for source in self._sources.values():
            kinds |= {kind: place for kind, place in source.fields.label_kinds.items() if kind not in kinds}
        check_label_kinds(kinds)

    @property
    def warnings(self) -> Counter[str]:
        return reduce(add, (source.warnings for source in self._sources.values()), Counter[str]())

    def provenance(self) -> dict[str, Any]:
        """`files` or `dataset`, by split."""
        by_kind: dict[str, dict[str, Any]] = {}
        for split, source in self._sources.items():
            for kind, value in source.provenance().items():
                by_kind.setdefault(kind, {})[split] = value
        return by_kind

    def cut(self) -> dict[str, Any]:
        """Which splits are cut off the training rows, and how; empty if there are none."""
        return self._cut.describe(self._sources["train"].fields.columns) if self._cut.shares else {}

    def _check_test_groups(self, rows: int) -> None:
        """Test rows are resampled by groups, and one group has no spread."""
        groups = sum(split == "test" for split in self._split_of_group.values())
        if groups == 1:
            problem = f"all {rows:,} test rows are of one group, so that nothing is known of other groups"
            remedy = "take rows of more groups for test, or take `group` out of `columns`"
            raise BadData(Code.ONE_TEST_GROUP, "params.yaml: tasks", problem, remedy)

    def _check_group(self, row: Row, split: str) -> None:
        if row.group is not None and (first := self._split_of_group.setdefault(row.group, split)) != split:
            problem = f"the group of row '{row.id}' is in {first}, too"
            remedy = "split by group, or drop its rows from one of the two"
            raise BadData(Code.GROUP_IN_TWO_SPLITS, f"{row.file}:{row.line}", problem, remedy)


def _check_different(splits: Mapping[str, Files]) -> None:
    first_place: dict[str, str] = {}
    for split, files in splits.items():
        files.survey()
        for name, digest in files.digests.items():
            if digest in first_place:
                problem = f"{name} has the bytes of {first_place[digest]}"
                raise BadData(Code.FILE_TWICE, files.path, problem, "a split needs a file of its own")
        first_place |= {digest: f"{split}: {name}" for name, digest in files.digests.items()}
