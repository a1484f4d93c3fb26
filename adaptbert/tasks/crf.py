"""Linear-chain conditional random field over flat batches, and the most probable legal tags.

Logits are flat, (places, tags), sequence after sequence; `counts`, (sequences,), is the number of places of each, also
0. Sums over all paths are computed place by place, for all sequences at once. Of a whole set `scores` are those of the
words of all rows, (words, tags), and `counts` the words of each row.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from adaptbert.data.tag_schemes import OUTSIDE
from adaptbert.tasks.examples import Float64, Int64, ranges

GROUP_ROWS = 256
"""Rows that are decoded together."""

NEVER = -1e4
"""Score of an illegal transition in a sum over paths: its share is 0 in float32, and its gradient is not NaN."""


class CRF(nn.Module):
    """Scores of neighbouring tags beside the logits of single ones: Lafferty et al. 2001, "Conditional Random Fields".

    All scores begin with 0, where the likelihood of a sequence is that of its tags one by one (among legal sequences).
    `state_dict` holds `start`, `between` and `end` alone: three tensors that lie beside those of a model.

    Args:
        tags: in the order of the logits.
        are_spans: in BIO; illegal sequences have no part in the likelihood and are never decoded. Else every tag may
            follow every other (parts of speech).
    """

    def __init__(self, tags: Sequence[str], are_spans: bool) -> None:
        super().__init__()

        def may_follow(one: str, other: str) -> bool:
            """Whether tags are legal in this order: in BIO `I-x` continues `B-x` or `I-x`."""
            return not (are_spans and other.startswith("I-")) or (one != OUTSIDE and one[2:] == other[2:])

        start = torch.tensor([may_follow(OUTSIDE, tag) for tag in tags])
        between = torch.tensor([[may_follow(one, other) for other in tags] for one in tags])
        self.start = nn.Parameter(torch.zeros(len(tags)))
        self.between = nn.Parameter(torch.zeros(len(tags), len(tags)))
        self.end = nn.Parameter(torch.zeros(len(tags)))
        self.legal_start: Tensor
        self.legal_between: Tensor
        self.register_buffer("legal_start", start, persistent=False)
        self.register_buffer("legal_between", between, persistent=False)

    def log_likelihood(
        self,
        logits: Tensor,
        counts: Tensor,
        targets: Tensor,
        begins: Tensor,
        ends: Tensor,
        longest: int,
    ) -> Tensor:
        """Log-likelihood of each sequence's tags, (sequences,), in the scores' precision (autocast is off); 0: no tags.

        The exponential of this for a decoded sequence is the probability that all its tags are right.

        Args:
            targets: legal tags, (places,).
            begins, ends: 1 where a sequence begins and ends a whole one; 0 where it is a window of it, to whose first
                or last tag no rule of the start or the end applies, (sequences,).
            longest: at least the largest of `counts`, which a GPU would have to be asked for.
        """
        with torch.autocast(logits.device.type, enabled=False):
            logits = logits.to(self.start.dtype)
            start, between = self._scores(NEVER)
            scores = (start * begins[:, None], between, self.end * ends[:, None])
            return _score(logits, counts, targets, *scores) - _log_partition(_Padded(logits, counts, longest), *scores)

    def marginals(self, logits: Tensor, counts: Tensor) -> Tensor:
        """The probability of each tag at each place, over all sequences of tags, (places, tags).

        It is the derivative of the logarithm of the partition function by the logit.
        """
        with torch.enable_grad(), torch.autocast(logits.device.type, enabled=False):
            logits = logits.detach().to(self.start.dtype).requires_grad_()
            start, between = self._scores(NEVER)
            starts, finals = (scores.expand(len(counts), -1) for scores in (start, self.end))
            total = _log_partition(_Padded(logits, counts), starts, between, finals).sum()
            (marginals,) = torch.autograd.grad(total, logits)
            return marginals

    def decode(self, logits: Tensor, counts: Tensor) -> Tensor:
        """The most probable legal tags, (places,)."""
        with torch.autocast(logits.device.type, enabled=False):
            return _viterbi(_Padded(logits.to(self.start.dtype), counts), *self._scores(-torch.inf), self.end)

    def _scores(self, illegal: float) -> tuple[Tensor, Tensor]:
        """Scores of the start and of transitions."""
        return (
            self.start.masked_fill(~self.legal_start, illegal),
            self.between.masked_fill(~self.legal_between, illegal),
        )


def best_legal(scores: Float64, counts: Int64, classes: Sequence[str]) -> Int64:
    """The legal BIO tags of each row with the highest sum of scores, (words,).

    Only rows whose best tags word by word are illegal need a search.
    """
    best: Int64 = scores.argmax(-1)
    crf = CRF(classes, are_spans=True).double()  # its scores are 0: of a softmax tag by tag
    start, between = crf.legal_start.numpy(), crf.legal_between.numpy()
    row = np.repeat(np.arange(len(counts)), counts)
    first = np.diff(row, prepend=-1) > 0
    illegal = first & ~start[best]
    illegal[1:] |= ~first[1:] & ~between[best[:-1], best[1:]]
    for rows, words in groups(counts, np.unique(row[illegal])):
        best[words] = crf.decode(torch.from_numpy(scores[words]), torch.from_numpy(counts[rows]))
    return best


def crf_by_rows(
    compute: Callable[[Tensor, Tensor], Tensor], scores: Float64, counts: Int64, device: torch.device
) -> NDArray[Any]:
    """The outputs of a CRF for the words of all rows, (words, ...).

    Args:
        compute: `decode` or `marginals` of the CRF, which is on `device`.
    """
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
        chosen: numbers of rows, rising.
    """
    starts = np.cumsum(counts) - counts
    order = chosen[np.argsort(counts[chosen], kind="stable")]
    for group in np.split(order, range(GROUP_ROWS, len(order), GROUP_ROWS)):
        rows = np.sort(group)
        yield rows, ranges(starts, counts, rows)


class _Padded:
    """The logits of sequences in one tensor, 0 behind the end of each.

    Attributes:
        values: (sequences, longest, tags); there is always one place.
        real: which places are, (sequences, longest).
        counts: (sequences,).
        index: of each flat place among the padded ones, (places,). Masks as indices would make a GPU wait.
    """

    def __init__(self, logits: Tensor, counts: Tensor, longest: int | None = None) -> None:
        if longest is None:
            longest = int(counts.max()) if len(counts) else 0
        longest = max(1, longest)
        # The sequence of each place; without the number of places a GPU would wait for it.
        sequence = torch.repeat_interleave(counts, output_size=len(logits))
        position = torch.arange(len(logits), device=logits.device) - (counts.cumsum(0) - counts)[sequence]
        self.counts, self.index = counts, sequence * longest + position
        self.real = torch.arange(longest, device=logits.device) < counts[:, None]
        flat = logits.new_zeros(len(counts) * longest, logits.shape[-1]).index_copy(0, self.index, logits)
        self.values = flat.view(len(counts), longest, -1) if len(counts) else flat[:, None]


def _score(logits: Tensor, counts: Tensor, targets: Tensor, start: Tensor, between: Tensor, end: Tensor) -> Tensor:
    """Score of one path a sequence, (sequences,); `start` and `end` are each sequence's, (sequences, tags)."""
    sequence = torch.repeat_interleave(counts, output_size=len(targets))
    total = logits.new_zeros(len(counts))
    if len(targets) == 0:
        return total
    places = torch.arange(len(targets), device=logits.device)
    first = torch.cat([sequence.new_ones(1), sequence.diff()]) != 0
    last = first.roll(-1)
    single = logits[places, targets] + start[sequence, targets] * first + end[sequence, targets] * last
    total = total.index_add(0, sequence, single)
    return total.index_add(0, sequence, between[targets.roll(1), targets] * ~first)


def _log_partition(padded: _Padded, start: Tensor, between: Tensor, end: Tensor) -> Tensor:
    """Logarithm of the sum over all paths of the exponential of their scores, (sequences,): the forward algorithm.

    `start` and `end` are each sequence's, (sequences, tags).
    """
    sums = start + padded.values[:, 0]
    for place in range(1, padded.values.shape[1]):
        grown = torch.logsumexp(sums[:, :, None] + between, 1) + padded.values[:, place]
        sums = torch.where(padded.real[:, place, None], grown, sums)
    return torch.where(padded.counts > 0, torch.logsumexp(sums + end, 1), sums.new_zeros(()))


@torch.no_grad()
def _viterbi(padded: _Padded, start: Tensor, between: Tensor, end: Tensor) -> Tensor:
    """The path with the highest score, (places,); of equal ones the first by the numbers of the later tags."""
    best, came_from = start + padded.values[:, 0], []
    stays = torch.arange(len(start), device=start.device).expand_as(best)
    for place in range(1, padded.values.shape[1]):
        grown, before = (best[:, :, None] + between).max(1)
        best = torch.where(padded.real[:, place, None], grown + padded.values[:, place], best)
        came_from.append(torch.where(padded.real[:, place, None], before, stays))
    tag = (best + end).argmax(1)
    path = [tag]
    for before in reversed(came_from):
        tag = before.gather(1, tag[:, None])[:, 0]
        path.append(tag)
    return torch.stack(path[::-1], 1).flatten()[padded.index]
