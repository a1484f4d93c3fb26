"""Two labelled sets derived from numpydoc docstrings: real text, without annotation.

section: sentence -> its section (Lead, Parameters, Returns, Notes, Raises).
mention: sentence -> BIO tags of the words that its author marked up as CODE, PARAM or REF; the markup is removed.

Splits are by module, so that no function is in two splits; no sentence is in two splits either.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from adaptbert.data.hash_split import split_of
from adaptbert.data.installed_docs import InstalledDocs, Passage
from adaptbert.data.prose import Sentence, sentence_key
from adaptbert.data.readers.records import Row

SECTIONS = {
    "Lead": "Lead",
    "Parameters": "Parameters",
    "Other Parameters": "Parameters",
    "Returns": "Returns",
    "Yields": "Returns",
    "Notes": "Notes",
    "Raises": "Raises",
}
"""numpydoc section -> label. The classes are fixed here, not derived from counts."""
MENTIONS = ("CODE", "PARAM", "REF")
LABELS = {"single_sentence": sorted(set(SECTIONS.values())), "sequence_labelling": list(MENTIONS)}

SPLITS = ("train", "dev", "test")
SHARES = {"test": 0.25, "dev": 0.10}
"""Of the modules."""
TOKEN = re.compile(r"\w+(?:[.'-]\w+)*|\S")
"""A word, with inner dots, hyphens and apostrophes; or one sign."""


class DemonstrationTask:
    """The set of one task type; all splits come from one pass over the docstrings."""

    def __init__(self, listing: Path, task_type: str, caps: Mapping[str, int]) -> None:
        self.task_type, self.caps = task_type, caps
        self.labels = LABELS[task_type]
        self.docs = InstalledDocs(listing)

    @property
    def warnings(self) -> Counter[str]:
        return self.docs.warnings

    def provenance(self) -> dict[str, Any]:
        return self.docs.provenance()

    def rows(self, split: str) -> list[Row]:
        """At most `caps[split]` rows, in the order of the docstrings."""
        return choose(self._pool[split], self.caps[split])

    @cached_property
    def _pool(self) -> dict[str, list[Row]]:
        example = _section if self.task_type == "single_sentence" else _mention
        pool: dict[str, list[Row]] = defaultdict(list)
        for split, row in _once(self.docs.passages(), example):
            pool[split].append(row)
        return pool


def split_of_module(module: str) -> str:
    """By hash: the split of a module does not depend on other installed packages."""
    return split_of(module, SHARES, salt="")


def _once(
    passages: Iterable[Passage], example: Callable[[Sentence], dict[str, Any] | None]
) -> Iterable[tuple[str, Row]]:
    """Each sentence once, in the last of `SPLITS` that has it; none of the sentences that have two labels."""
    entries: dict[str, tuple[str, Row]] = {}
    labels: dict[str, set[str]] = defaultdict(set)
    for passage in passages:
        values = example(passage.sentence)
        if values is None:
            continue
        key, split = sentence_key(passage.row.values["text"]), split_of_module(passage.module)
        labels[key].add(str(values.get("label")))
        if key not in entries or SPLITS.index(split) > SPLITS.index(entries[key][0]):
            entries[key] = split, replace(passage.row, values=values)
    return [entry for key, entry in entries.items() if len(labels[key]) == 1]


def choose(pool: list[Row], cap: int) -> list[Row]:
    """Equal shares of all labels: a label with fewer rows gives all of them, the others share the rest.

    Rows of a label are selected by the hash of their ids.
    """
    by_label: dict[str, list[tuple[int, Row]]] = defaultdict(list)
    for position, row in enumerate(pool):
        by_label[str(row.values.get("label"))].append((position, row))
    chosen: list[tuple[int, Row]] = []
    smallest_first = sorted(by_label.items(), key=lambda item: (len(item[1]), item[0]))
    for done, (_, rows) in enumerate(smallest_first):
        share = (cap - len(chosen)) // (len(smallest_first) - done)
        chosen += sorted(rows, key=lambda item: _draw(item[1].id))[:share]
    return [row for _, row in sorted(chosen, key=lambda item: item[0])]


def _draw(identity: str) -> bytes:
    """Salted: fine-tuning selects rows by the plain hash of the id, which must be independent of this choice."""
    return hashlib.sha256(f"demonstration {identity}".encode()).digest()


def _section(sentence: Sentence) -> dict[str, Any] | None:
    label = SECTIONS.get(sentence.section)
    return None if label is None else {"text": sentence.text, "label": label}


def _mention(sentence: Sentence) -> dict[str, Any] | None:
    """None without a mention, and with one that has no label: formulas, names of unknown kind."""
    kinds = {segment.kind for segment in sentence.segments}
    if kinds & {"MATH", "NAME"} or not kinds & set(MENTIONS):
        return None
    tokens: list[str] = []
    tags: list[str] = []
    for kind, text in sentence.segments:
        for number, token in enumerate(TOKEN.findall(text)):
            tokens.append(token)
            tags.append("O" if not kind else f"I-{kind}" if number else f"B-{kind}")
    return {"tokens": tokens, "tags": tags}
