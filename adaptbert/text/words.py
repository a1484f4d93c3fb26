"""Word boundaries: determines for each token of a text whether it begins a word.

BERT's rule: white space and punctuation separate words, and each Chinese character is one. A tokenizer that splits by
it says where its words begin. In others a word is what their rules leave together, even a whole line; so the rule is
applied to the raw text, and character offsets align its words with the tokens. So do those of a segmenter, which finds
the words of Chinese.
"""

import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptbert.codes import Code
from adaptbert.config.schema.text import Segmentation
from adaptbert.errors import BadData, raise_all

if TYPE_CHECKING:
    from tokenizers import Encoding


Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

IDEOGRAPH = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)
"""A Chinese character, of those that BERT's tokenizer separates one by one."""
SPACE, ALONE, INNER = range(3)
"""Kinds of character in BERT's rule: between words, a word by itself, part of a word."""
LAST = 0x2FFFF
"""The last character of the planes that have other kinds than INNER."""


class Entry(NamedTuple):
    """A user-defined word; without a frequency the segmenter chooses one that keeps the word whole."""

    word: str
    frequency: int | None = None
    tag: str | None = None


@dataclass(frozen=True)
class Segmenter:
    """Finds words. It can be pickled into a worker process, which loads the dictionary for its first text.

    Attributes:
        name: see `Segmentation`.
        entries: user-defined words.
    """

    name: Literal["none", "rjieba"] = "none"
    entries: tuple[Entry, ...] = ()

    @classmethod
    def load(cls, config: Segmentation, dictionary: Path) -> "Segmenter":
        """The segmenter, with the words of the file `dictionary`.

        Raises:
            BadData: invalid lines of the dictionary.
        """
        return cls() if config.segmenter == "none" else cls(config.segmenter, read_dictionary(dictionary))

    @property
    def facts(self) -> dict[str, str | None]:
        """The segmenter with its version, and the sha256 of the user-defined words."""
        if self.name == "none":
            return {"segmenter": "none", "dictionary": None}
        digest = sha256(repr([tuple(entry) for entry in self.entries]).encode()).hexdigest()
        return {"segmenter": f"{self.name} {metadata.version(self.name)}", "dictionary": digest}

    def word_starts(
        self, texts: Sequence[str], encodings: "Sequence[Encoding]", splits_words: bool = True
    ) -> tuple[Bools, int]:
        """Whether a token begins a word, for the concatenated tokens of all texts.

        A token begins a word if it begins one by BERT's rule and the segmenter has a boundary between the end of the
        previous token and its start: a word is never smaller than by the rule, and a Latin word that the segmenter
        would cut stays whole. The first token of a text begins one. Where a boundary is inside a token and inside a
        word by the rule, the two are misaligned, and the text has the words of the rule.

        Args:
            texts: raw.
            encodings: of the texts, without special tokens.
            splits_words: whether the tokenizer splits by BERT's rule.

        Returns:
            (tokens,), and the number of misaligned texts.
        """
        counts = np.array([len(encoding) for encoding in encodings], np.int64)
        begins, misaligned = np.ones(int(counts.sum()), np.bool_), 0
        if splits_words:
            own = joined(encoding.word_ids for encoding in encodings)
            begins[1:] = own[1:] != own[:-1]
        if len(begins) and not (splits_words and self.name == "none"):
            lengths = np.array([len(text) for text in texts], np.int64)
            text = np.repeat(np.arange(len(texts)), counts)
            spans = joined(chain.from_iterable(encoding.offsets) for encoding in encodings).reshape(-1, 2)
            spans += (np.cumsum(lengths) - lengths)[text, None]
            # A character that is split into several tokens (Hangul syllables are) has one span for all of them.
            first, last = spans[:, 0], np.maximum(spans[:, 1] - 1, spans[:, 0])
            inner = np.ones(int(lengths.sum()) + 1, np.bool_)
            if not splits_words:
                number, is_space, inner = _words("".join(texts))
                # White space before a word belongs to it, as a part of a token or a token of its own.
                of_first = number[first] + is_space[first]
                of_last = np.maximum(number[last], of_first)
                begins[1:] = of_first[1:] != of_last[:-1]
            if self.name != "none":
                between, misaligned = self._between(texts, text, first, last, inner)
                begins &= between
        begins[(np.cumsum(counts) - counts)[counts > 0]] = True  # no word spans two texts
        return begins, misaligned

    def _between(self, texts: Sequence[str], text: Int64, first: Int64, last: Int64, inner: Bools) -> tuple[Bools, int]:
        """Whether a boundary is before each token, or its text is misaligned, (tokens,), and how many texts are.

        Args:
            text, first, last: of each token, in the characters of all texts, (tokens,).
            inner: whether a boundary before a character cuts a word, (characters + 1,).
        """
        cut = _cutter(self.entries)
        ends = np.cumsum(joined(map(len, cut(text)) for text in texts))
        boundary = np.zeros(len(inner), np.bool_)
        boundary[0] = boundary[ends] = True
        upto, cuts = np.cumsum(boundary), np.cumsum(boundary & inner)  # up to and including a character
        misaligned = np.zeros(len(texts), np.bool_)
        misaligned[text[cuts[last] > cuts[first]]] = True
        between = np.ones(len(text), np.bool_)
        between[1:] = upto[first[1:]] > upto[last[:-1]]
        return between | misaligned[text], int(misaligned.sum())


def trimmed(text: str, offsets: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The characters of each token without white space at either end; an empty range where it has no others."""
    ends = [(end - len(text[begin:end].lstrip()), end) for begin, end in offsets]
    return [(begin, begin + len(text[begin:end].rstrip())) for begin, end in ends]


def read_dictionary(path: Path) -> tuple[Entry, ...]:
    """The entries of a file, in its order.

    Raises:
        BadData: it is no file, not UTF-8, or has invalid lines; messages have line numbers, not text.
    """
    if not path.is_file():
        raise BadData(Code.FILE, path, "not a readable regular file", "write a file with one word a line")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise BadData(Code.ENCODING, path, f"byte {error.start} is not UTF-8", "save the file as UTF-8") from None
    entries, failures = [], []
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts or line.startswith("# "):
            continue
        if len(parts) > 3 or not all(part.isascii() and part.isdecimal() for part in parts[1:2]):
            problem = f"{len(parts)} parts, of which the second is a frequency if there is one"
            remedy = "write a word, or a word and a whole number"
            failures.append(BadData(Code.BAD_ROW, f"{path}:{number}", problem, remedy))
            continue
        entries.append(Entry(parts[0], int(parts[1]) if parts[1:] else None, parts[2] if parts[2:] else None))
    raise_all(failures)
    return tuple(entries)


def _words(text: str) -> tuple[Int64, Bools, Bools]:
    """For each character and one more the number of words by BERT's rule that began up to it, whether it is white
    space, and whether it continues a word."""
    codes = np.frombuffer(f"{text}\n".encode("utf-32-le"), np.uint32)
    kinds = _kinds()[np.minimum(codes, LAST)]
    continues = kinds == INNER
    continues[1:] &= kinds[:-1] == INNER
    continues[0] = False
    is_space = kinds == SPACE
    return np.cumsum(~is_space & ~continues), is_space, continues


@lru_cache(maxsize=1)
def _kinds() -> NDArray[np.uint8]:
    """The kind of each character by its number."""

    def kind(character: str) -> int:
        if character.isspace():
            return SPACE
        is_mark = unicodedata.category(character).startswith("P") or character in string.punctuation
        return ALONE if is_mark or IDEOGRAPH.match(character) else INNER

    return np.fromiter((kind(chr(number)) for number in range(LAST + 1)), np.uint8)


def joined(numbers: Iterable[Iterable[Any]]) -> Int64:
    """All numbers of all texts."""
    return np.fromiter(chain.from_iterable(numbers), np.int64)


@lru_cache(maxsize=1)
def _cutter(entries: tuple[Entry, ...]) -> Callable[[str], Iterable[str]]:
    """A function from a text to its words, which concatenate to the text; one segmenter a process."""
    import rjieba

    segmenter = rjieba.Jieba()
    for word, frequency, tag in entries:
        segmenter.add_word(word, frequency, tag)
    cut: Callable[[str], Iterable[str]] = segmenter.cut
    return cut
