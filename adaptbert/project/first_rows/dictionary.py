"""Further words for the segmenter: the file that `tokenize.<block>.words` names."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from adaptbert.errors import UserError
from adaptbert.tokenization.word_segmentation import SegmentationConfig, Segmenter

_LARGEST = 20_000_000
"""Bytes."""


@dataclass(frozen=True)
class DictionaryLook:
    """At that file, and whether the segmenter is installed."""

    config: SegmentationConfig
    key: str

    def is_too_large(self) -> bool:
        return Path(self.config.dictionary).stat().st_size > _LARGEST

    def findings(self) -> Iterable[UserError]:
        Segmenter.load(self.config, Path(self.config.dictionary))
        return ()
