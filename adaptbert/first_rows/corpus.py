"""Text without labels: the first rows of one corpus."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from adaptbert.contamination import ForbiddenText
from adaptbert.corpora.files import Files
from adaptbert.corpora.hub import HubDataset
from adaptbert.corpora.installed_docs import InstalledDocs
from adaptbert.corpora.raw import RawWriter
from adaptbert.corpora.sources import SourceConfig
from adaptbert.errors import UserError
from adaptbert.first_rows.look import decided, is_small, lenient, rows_of
from adaptbert.gate.limits import Limits
from adaptbert.known_words import KnownWords
from adaptbert.layout import CORPUS


@dataclass(frozen=True)
class CorpusLook:
    """At the files, or at the list of packages or the name of a data set.

    Args:
        folder: to write to.
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

    def errors(self) -> Iterable[UserError]:
        if self.config.source == "installed_docs":
            InstalledDocs(self.path).provenance()
        elif self.config.source == "hub":
            HubDataset(self.path, CORPUS, self.config)
        else:
            yield from self._of_files()

    def _of_files(self) -> Iterable[UserError]:
        from adaptbert.gate.corpus import pass_corpus

        small = is_small([self.path])
        config, limits = lenient(self.config, self.limits, small=small)
        files = Files(self.path, CORPUS, config, most=rows_of(small=small))
        with RawWriter(self.folder, CORPUS, config.max_bad_fraction) as writer:
            writer.write(files.rows(), "text", self.path)
        kept = self.folder / "kept.parquet"
        found = pass_corpus(self.folder, kept, self.folder / "rejected.parquet", ForbiddenText(()), limits)
        yield from decided(found.errors, lambda _: str(self.path), whole=small and files.is_whole)
        yield from self.words.errors(self.name, kept, CORPUS, str(self.path))
