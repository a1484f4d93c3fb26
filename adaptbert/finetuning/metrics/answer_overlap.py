"""A predicted answer and the right ones -> how far they agree, by words (SQuAD) or by characters (CMRC 2018)."""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from adaptbert.rows import scripts

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_MARKS = str.maketrans("", "", string.punctuation)
_UNSPACED = re.compile(f"[{scripts.THAI_LAO}{scripts.MYANMAR_KHMER}{scripts.KANA}{scripts.CHINESE}]")
"""Characters of scripts that set no spaces between words."""


def by_characters(texts: Sequence[str]) -> bool:
    """Whether most of the texts have characters of a script without spaces; one foreign name among many has no say."""
    told = [text for text in texts if text.strip()]
    return 2 * sum(_UNSPACED.search(text) is not None for text in told) > len(told)


def agreement(answers: Sequence[str], text: str, characters: bool) -> tuple[float, float]:
    """F1 with the nearest of the right answers, and whether one of them is met exactly.

    Right answers of nothing but punctuation or articles are none, as in SQuAD 2.0's own script; a question without any
    has the empty text as its answer.

    Args:
        characters: by `character_tokens`, else by `word_tokens`.
    """
    tokens = character_tokens if characters else word_tokens
    wanted = [found for answer in answers if (found := tokens(answer))] or [[]]
    given = tokens(text)
    overlap = longest_run if characters else in_common
    scores = [_f1(overlap(right, given), len(right), len(given)) for right in wanted]
    return max(scores), float(given in wanted)


def word_tokens(text: str) -> list[str]:
    """Words between spaces: lower case, without ASCII punctuation and English articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_MARKS)).split()


def character_tokens(text: str) -> list[str]:
    """Each character of a script without spaces by itself, and words of other scripts whole; no punctuation or symbols.

    CMRC 2018 lists thirty marks to leave out; here it is every character that Unicode calls punctuation or a symbol.
    """
    kept = "".join(c for c in text.lower() if unicodedata.category(c)[0] not in "PS")
    return _UNSPACED.sub(lambda found: f" {found[0]} ", kept).split()


def in_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Tokens of both, whatever their order; each as often as it occurs in the one with fewer."""
    return (Counter(one) & Counter(other)).total()


def longest_run(one: Sequence[str], other: Sequence[str]) -> int:
    """Tokens of the longest stretch that stands in both."""
    return SequenceMatcher(None, one, other, autojunk=False).find_longest_match().size


def _f1(shared: int, wanted: int, given: int) -> float:
    if not wanted or not given:
        return float(wanted == given)
    return 2 * shared / (wanted + given)
