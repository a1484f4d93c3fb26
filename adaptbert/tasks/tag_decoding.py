"""Decoding of the tags of rows: the best legal tags by softmax scores, and a CRF on groups of rows of similar
length."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.tasks.examples import ranges

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
GROUP_ROWS = 256
"""Rows that are decoded together."""


def best_legal(scores: Float64, counts: Int64, classes: Sequence[str]) -> Int64:
    """The legal BIO tags of each row with the highest sum of scores, (words,).

    Only rows whose best tags word by word are illegal need a search.

    Args:
        scores: of the words of all rows, (words, tags).
        counts: words of each row, (rows,).
    """
    import torch

    from adaptbert.tasks.crf import decode, legal_transitions

    best: Int64 = scores.argmax(-1)
    legal = legal_transitions(classes)
    start, between = (part.numpy() for part in legal)
    row = np.repeat(np.arange(len(counts)), counts)
    first = np.diff(row, prepend=-1) > 0
    illegal = first & ~start[best]
    illegal[1:] |= ~first[1:] & ~between[best[:-1], best[1:]]
    for rows, words in groups(counts, np.unique(row[illegal])):
        best[words] = decode(torch.from_numpy(scores[words]), torch.from_numpy(counts[rows]), legal)
    return best


def crf_by_rows(
    compute: "Callable[[Tensor, Tensor], Tensor]", scores: Float64, counts: Int64, device: "torch.device"
) -> NDArray[Any]:
    """The outputs of a CRF for the words of all rows, (words, ...).

    Args:
        compute: `decode` or `marginals` of the CRF.
        scores: of the words of all rows, (words, tags).
        counts: words of each row, (rows,).
        device: of the CRF.
    """
    import torch

    outputs, places = [], []
    for rows, words in groups(counts, np.arange(len(counts))):
        values = (torch.from_numpy(part).to(device) for part in (scores[words], counts[rows]))
        outputs.append(compute(*values).cpu().numpy())
        places.append(words)
    together: NDArray[Any] = np.concatenate(outputs)
    return together[np.argsort(np.concatenate(places))]


def groups(counts: Int64, chosen: Int64) -> Iterator[tuple[Int64, Int64]]:
    """Groups of rows of similar length: the rows, rising, and the indices of their words.

    The memory of a group does not depend on the size of the set.

    Args:
        counts: words of each row of the set, (rows,).
        chosen: numbers of rows, rising.
    """
    starts = np.cumsum(counts) - counts
    order = chosen[np.argsort(counts[chosen], kind="stable")]
    for group in np.split(order, range(GROUP_ROWS, len(order), GROUP_ROWS)):
        rows = np.sort(group)
        yield rows, ranges(starts, counts, rows)
