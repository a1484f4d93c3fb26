"""Text without labels: the first rows of one corpus."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adaptbert.collection.hub import HubDataset
from adaptbert.collection.installed_docs import InstalledDocs
from adaptbert.collection.raw_writer import RawWriter
from adaptbert.collection.source_config import SourceConfig
from adaptbert.collection.user_files import Files
from adaptbert.errors import UserError
from adaptbert.project.first_rows.bad_rows import (
    Extent,
    Notice,
    share_findings,
    validation_limits,
    without_shares,
)
from adaptbert.project.first_rows.look import beginning, decided, is_small, raised, unread
from adaptbert.project.known_words import KnownWords
from adaptbert.rows.layout import CORPUS
from adaptbert.validation.contamination import ForbiddenText
from adaptbert.validation.limits import Limits


@dataclass(frozen=True)
class CorpusLook:
    """At the files, or at the list of packages or the name of a data set.

    Args:
        folder: a temporary one to write to.
    """

    name: str
    config: SourceConfig
    path: Path
    limits: Limits
    words: KnownWords
    folder: Path

    @property
    def key(self) -> str:
        return f"collect.{self.name}"

    def is_too_large(self) -> bool:
        return False

    def findings(self) -> Iterable[UserError | Notice]:
        if self.config.source == "installed_docs":
            InstalledDocs(self.path).provenance()
        elif self.config.source == "hub":
            HubDataset(self.path, CORPUS, self.config)
        else:
            yield from self._of_files()

    def _of_files(self) -> Iterator[UserError | Notice]:
        from adaptbert.validation.corpus import validate_corpus

        small = is_small([self.path])
        files = Files(self.path, CORPUS, self.config, beginning=beginning(small=small))
        with RawWriter(self.folder, CORPUS) as writer:
            failed = raised(partial(writer.write, files.rows(), "text", self.path))
        extent = Extent(writer.rows_in.get("text", 0), files.is_whole)
        if failed:
            yield from unread(failed, self.key, extent)
            return
        valid_rows = self.folder / "kept.parquet"
        whole = small and files.is_whole
        limits = validation_limits(self.limits, whole=whole)
        validated = validate_corpus(
            self.folder, valid_rows, self.folder / "rejected.parquet", ForbiddenText(()), limits
        )
        errors = validated.errors if whole else without_shares(validated.errors)
        yield from decided(errors, lambda _: str(self.path), self.key, lambda _: extent, whole=whole)
        if not whole:
            accounts, extents = {str(self.path): [validated.account]}, {str(self.path): extent}
            yield from share_findings(accounts, self.key, self.limits.max_bad_fraction, extents)
        yield from self.words.errors(self.name, valid_rows, CORPUS, str(self.path))
