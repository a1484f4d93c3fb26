"""Examples of a task as flat tokens, the same for every shape."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Examples:
    """Tokenised examples that lie one after the other.

    Attributes:
        ids: (tokens,).
        lengths: tokens of each example, (examples,).
        places: where in its example the head looks, (places,).
        words: the word of its example that a place stands for; 0 where it stands for the whole, (places,).
        counts: places of each example, (examples,).
        targets: the number of the right label at each place, (places,).
        cut: examples that were longer than the model reads.
    """

    ids: Int64
    lengths: Int64
    places: Int64
    words: Int64
    counts: Int64
    targets: Int64
    cut: int

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, chosen: Int64) -> "Examples":
        """Some of the examples, in the order asked for."""
        tokens = _ranges(np.cumsum(self.lengths) - self.lengths, self.lengths, chosen)
        places = _ranges(np.cumsum(self.counts) - self.counts, self.counts, chosen)
        return Examples(
            self.ids[tokens],
            self.lengths[chosen],
            self.places[places],
            self.words[places],
            self.counts[chosen],
            self.targets[places],
            self.cut,
        )

    def flat_places(self) -> Int64:
        """Where the head looks in the flat tokens, (places,)."""
        return np.repeat(np.cumsum(self.lengths) - self.lengths, self.counts) + self.places


def gather(
    ids: Sequence[Sequence[int]],
    places: Sequence[Sequence[int]],
    words: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    cut: int,
) -> Examples:
    """Examples from one list an example."""
    return Examples(
        np.array([token for example in ids for token in example], np.int64),
        np.array([len(example) for example in ids], np.int64),
        np.array([place for example in places for place in example], np.int64),
        np.array([word for example in words for word in example], np.int64),
        np.array([len(example) for example in places], np.int64),
        np.array([target for example in targets for target in example], np.int64),
        cut,
    )


def _ranges(starts: Int64, lengths: Int64, chosen: Int64) -> Int64:
    """The indices of the ranges of the chosen items, one after the other."""
    sizes = lengths[chosen]
    first: Int64 = np.repeat(starts[chosen] - (np.cumsum(sizes) - sizes), sizes)
    return first + np.arange(len(first))
