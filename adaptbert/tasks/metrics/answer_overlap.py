"""Agreement of a predicted answer with the right ones, by words (SQuAD) or by characters (CMRC 2018)."""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import partial

from adaptbert.data import scripts

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_MARKS = str.maketrans("", "", string.punctuation)
_UNSPACED = re.compile(f"[{scripts.THAI_LAO}{scripts.MYANMAR_KHMER}{scripts.KANA}{scripts.CHINESE}]")
"""Characters of scripts that set no spaces between words."""


def by_characters(texts: Sequence[str]) -> bool:
    """Whether most of the texts have characters of a script without spaces; a single foreign name does not decide."""
    nonempty = [text for text in texts if text.strip()]
    return 2 * sum(_UNSPACED.search(text) is not None for text in nonempty) > len(nonempty)


def agreement_with(gold: Sequence[Sequence[str]]) -> Callable[[Sequence[str], str], tuple[float, float]]:
    """`agreement` as the script of all right answers of a set decides: by words or by characters."""
    return partial(agreement, characters=by_characters([text for answers in gold for text in answers]))


def agreement(answers: Sequence[str], text: str, characters: bool) -> tuple[float, float]:
    """F1 with the most similar right answer, and whether the prediction equals one of them.

    Right answers of only punctuation or articles are ignored, as in the script of SQuAD 2.0; a question without any
    right answer has the empty text as its answer.

    Args:
        characters: by `character_tokens`, else by `word_tokens`.
    """
    tokens = character_tokens if characters else word_tokens
    expected = [expected_tokens for answer in answers if (expected_tokens := tokens(answer))] or [[]]
    predicted = tokens(text)
    overlap = longest_run if characters else in_common
    scores = [_f1(overlap(right, predicted), len(right), len(predicted)) for right in expected]
    return max(scores), float(predicted in expected)


def word_tokens(text: str) -> list[str]:
    """Words between spaces: lower case, without ASCII punctuation and English articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_MARKS)).split()


def character_tokens(text: str) -> list[str]:
    """Each character of a script without spaces by itself, and words of other scripts whole; no punctuation or symbols.

    CMRC 2018 lists thirty marks to leave out; here it is every character that Unicode calls punctuation or a symbol.
    """
    text_without_marks = "".join(c for c in text.lower() if unicodedata.category(c)[0] not in "PS")
    return _UNSPACED.sub(lambda match: f" {match[0]} ", text_without_marks).split()


def in_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The size of the multiset intersection of both."""
    return (Counter(one) & Counter(other)).total()


def longest_run(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest contiguous run of tokens in both."""
    return SequenceMatcher(None, one, other, autojunk=False).find_longest_match().size


def _f1(shared: int, expected: int, predicted: int) -> float:
    if not expected or not predicted:
        return float(expected == predicted)
    return 2 * shared / (expected + predicted)
