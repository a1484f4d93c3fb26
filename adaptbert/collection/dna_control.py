"""A labelled set without any language in it: synthetic DNA whose four letters are written as four words.

`motif`: the sequence contains MOTIF; `none`: it does not. The rule decides every row, so the best possible accuracy is
1; half of the rows of each split have either label. Counts of letters alone answer two rows of three, so order has to
be read. What pre-training learnt of language cannot help, because which word stands for which letter is arbitrary
(Kao & Lee 2021, arXiv 2103.07162, on real DNA, proteins and music).
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.collection.installed_docs import read_names
from adaptbert.collection.readers.records import Row
from adaptbert.errors import BadData

LETTERS = "ACGT"
MOTIF = "GAT"
LENGTH = 12
"""Letters of a sequence."""
LABELS = ["motif", "none"]


class DnaControl:
    """The set; every row is a function of its split and number.

    Args:
        listing: candidate words, one a line; those of `words` stand for the letters.
        caps: split -> its rows.
    """

    def __init__(self, listing: Path, caps: Mapping[str, int]) -> None:
        self.labels = LABELS
        self.warnings: Counter[str] = Counter()
        self._listing, self._caps = listing, caps
        self.words = dict(zip(LETTERS, chosen(listing), strict=True))

    def rows(self, split: str) -> Iterator[Row]:
        """Labels take turns."""
        for number in range(1, self._caps[split] + 1):
            label = LABELS[number % 2]
            text = " ".join(self.words[letter] for letter in sequence(split, number, label))
            yield Row(f"synthetic-{split}-{number}", self._listing.name, number, {"text": text, "label": label})

    def provenance(self) -> dict[str, Any]:
        return {"synthetic": f"{LENGTH} random letters of DNA; motif: {MOTIF} is among them", "words": self.words}


def sequence(split: str, number: int, label: str) -> str:
    """Letters drawn at random: with the motif, at a place drawn at random, or without it anywhere."""
    draw = random.Random(f"dna {split} {number}")
    while True:
        letters = "".join(draw.choices(LETTERS, k=LENGTH))
        if label == "motif":
            place = draw.randint(0, LENGTH - len(MOTIF))
            return letters[:place] + MOTIF + letters[place + len(MOTIF) :]
        if MOTIF not in letters:
            return letters


def chosen(listing: Path) -> list[str]:
    """Four of the words, in an order that says nothing: always the same ones of a list.

    Raises:
        BadData: no file, or fewer than four words.
    """
    words = read_names(listing)
    if len(words) < len(LETTERS):
        problem, remedy = f"{len(words)} words, and DNA has {len(LETTERS)} letters", "name more, one a line"
        raise BadData(Code.EMPTY_FILE, listing, problem, remedy)
    return random.Random("dna words").sample(words, len(LETTERS))
