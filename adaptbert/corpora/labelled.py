"""The user's labelled set: three files, folders or hub splits -> rows of train, dev and test."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from adaptbert.corpora.fields import check_label_kinds
from adaptbert.corpora.files import Files
from adaptbert.corpora.hub import HubDataset
from adaptbert.corpora.rows import Row, Unreadable
from adaptbert.corpora.sources import SourceConfig
from adaptbert.errors import BadData


class LabelledSet:
    """A source for each split, and what must hold across them.

    Raises:
        BadData: two splits have the same bytes.
    """

    def __init__(self, paths: Mapping[str, Path], shape: str, config: SourceConfig, labels: list[str] | None) -> None:
        self.labels = labels
        reader = Files if config.source == "files" else HubDataset
        self._sources: dict[str, Files | HubDataset] = {
            split: reader(path, shape, config, split) for split, path in paths.items()
        }
        _check_different({split: source for split, source in self._sources.items() if isinstance(source, Files)})

    def rows(self, split: str) -> Iterator[Row | Unreadable]:
        """Raises BadData at the end of a split whose labels are of another type than those before."""
        yield from self._sources[split].rows()
        kinds: dict[str, str] = {}
        for source in self._sources.values():
            kinds |= {kind: place for kind, place in source.fields.label_kinds.items() if kind not in kinds}
        check_label_kinds(kinds)

    @property
    def warnings(self) -> Counter[str]:
        return reduce(add, (source.warnings for source in self._sources.values()), Counter[str]())

    def provenance(self) -> dict[str, Any]:
        """`files` or `dataset`, by split."""
        found: dict[str, dict[str, Any]] = {}
        for split, source in self._sources.items():
            for kind, value in source.provenance().items():
                found.setdefault(kind, {})[split] = value
        return found


def _check_different(splits: Mapping[str, Files]) -> None:
    met: dict[str, str] = {}
    for split, files in splits.items():
        files.survey()
        for name, digest in files.digests.items():
            if digest in met:
                raise BadData(
                    51, files.path, f"{name} has the bytes of {met[digest]}", "a split needs a file of its own"
                )
        met |= {digest: f"{split}: {name}" for name, digest in files.digests.items()}
