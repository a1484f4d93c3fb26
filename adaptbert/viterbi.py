"""The best sequence of tags: scores of each tag at each word and what may follow what, to the numbers of the tags.

Viterbi (1967), "Error bounds for convolutional codes", IEEE Trans. Inf. Theory 13(2); in the form of Rabiner (1989),
section III.B, with sums of logarithms.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Rules:
    """What is added to the scores of a sequence; -inf forbids.

    Attributes:
        follow: of a tag (row) before another (column), (tags, tags).
        begin, end: of each tag as the first and as the last, (tags,).
    """

    follow: Float64
    begin: Float64
    end: Float64

    def allow(self, path: Int64) -> bool:
        """Whether nothing in a sequence of tags, (words,), is forbidden."""
        found = self.begin[path[:1]].sum() + self.follow[path[:-1], path[1:]].sum() + self.end[path[-1:]].sum()
        return bool(found > -np.inf)


def viterbi(scores: Float64, rules: Rules) -> Int64:
    """The sequence with the highest sum; of equal ones the one whose last tags have the lower numbers.

    Args:
        scores: of each tag at each word, (words, tags).

    Returns:
        (words,).
    """
    words, tags = scores.shape
    came = np.empty((words, tags), np.int64)
    path = np.empty(words, np.int64)
    if words == 0:
        return path
    best = scores[0] + rules.begin
    for word in range(1, words):
        ways = best[:, None] + rules.follow
        came[word] = ways.argmax(0)
        best = ways.max(0) + scores[word]
    path[-1] = (best + rules.end).argmax()
    for word in range(words - 1, 0, -1):
        path[word - 1] = came[word, path[word]]
    return path
