"""The table of formats: it has all that params allow, each has a name that tells it or has to be declared."""

from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from adaptbert.config.schema.sources import Format
from adaptbert.data.readers.spec import FORMATS, SUFFIXES, format_of


def test_every_format_that_params_allow_has_an_entry() -> None:
    assert list(FORMATS) == list(get_args(Format)), "adaptbert/data/readers/spec.py: FORMATS"


def test_a_suffix_means_one_format() -> None:
    counts = Counter(suffix for spec in FORMATS.values() for suffix in spec.suffixes)
    assert [suffix for suffix, count in counts.items() if count > 1] == []
    assert {format_of(Path(f"a{suffix}.gz")) for suffix in SUFFIXES} == {*SUFFIXES.values()}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_suffixes_or_is_for_labelled_sets(name: Format) -> None:
    """A corpus is read by its suffix; what a message names as the likely format has a title."""
    spec = FORMATS[name]
    assert spec.suffixes or spec.is_labelled
    assert not (spec.suffixes and spec.marks_characters), "`columns` is checked before its files are named"
    assert (spec.looks_like is not None) == bool(spec.title)
    assert spec.is_labelled or spec.task_type is None
