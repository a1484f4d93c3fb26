"""Linear-chain conditional random field over flat batches, and the most probable legal tags of a scheme.

Logits are flat, (places, tags), sequence after sequence; `counts`, (sequences,), is the number of places of each, also
0. Sums over all paths are computed place by place, for all sequences at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

Scheme = Literal["io", "bio", "iobes"]

NEVER = -1e4
"""Score of an illegal transition in a sum over paths: its share is 0 in float32, and its gradient is not NaN."""


@dataclass(frozen=True)
class Legal:
    """Which tags may begin a sequence, (tags,); follow another, (from, to); and end a sequence, (tags,)."""

    start: Tensor
    between: Tensor
    end: Tensor

    def to(self, device: torch.device) -> "Legal":
        """The same on another device."""
        return Legal(self.start.to(device), self.between.to(device), self.end.to(device))


@dataclass(frozen=True)
class _Rules:
    """Prefixes that must continue a span of their type, that leave a span open, and that may not end one."""

    goes_on: str
    leaves_open: str
    unfinished: str


_RULES: dict[Scheme, _Rules] = {
    "io": _Rules("", "", ""),
    "bio": _Rules("I", "BI", ""),
    "iobes": _Rules("IE", "BI", "BI"),
}


def legal_transitions(tags: Sequence[str], scheme: Scheme | None) -> Legal:
    """The transitions that a scheme allows.

    Args:
        tags: `O`, or a prefix, `-` and a type; any names where there is no scheme.
        scheme: None where every tag may follow every other (parts of speech).

    Raises:
        ValueError: some sequences could not be tagged at all.
    """
    rules = _RULES["io" if scheme is None else scheme]
    parts = [(tag[:1], tag[2:]) if scheme is not None and tag != "O" else ("", tag) for tag in tags]

    def may_follow(one: tuple[str, str], other: tuple[str, str]) -> bool:
        if other[0] and other[0] in rules.goes_on:
            return one[0] != "" and one[0] in rules.leaves_open and one[1] == other[1]
        return not (one[0] and one[0] in rules.unfinished)

    start = torch.tensor([not (prefix and prefix in rules.goes_on) for prefix, _ in parts])
    end = torch.tensor([not (prefix and prefix in rules.unfinished) for prefix, _ in parts])
    between = torch.tensor([[may_follow(one, other) for other in parts] for one in parts])
    if not (start & end & between.diagonal()).any():
        raise ValueError(f"no tag of {list(tags)} can stand alone: some rows would have no legal {scheme} tags")
    return Legal(start, between, end)


class CRF(nn.Module):
    """Scores of neighbouring tags beside the logits of single ones: Lafferty et al. 2001, "Conditional Random Fields".

    All scores begin with 0, where the likelihood of a sequence is that of its tags one by one (among legal sequences).
    `state_dict` holds `start`, `between` and `end` alone: three tensors that lie beside those of a model.

    Args:
        tags: in the order of the logits.
        scheme: illegal sequences have no part in the likelihood and are never decoded.
    """

    def __init__(self, tags: Sequence[str], scheme: Scheme | None) -> None:
        super().__init__()
        legal = legal_transitions(tags, scheme)
        self.start = nn.Parameter(torch.zeros(len(tags)))
        self.between = nn.Parameter(torch.zeros(len(tags), len(tags)))
        self.end = nn.Parameter(torch.zeros(len(tags)))
        self.register_buffer("legal_start", legal.start, persistent=False)
        self.register_buffer("legal_between", legal.between, persistent=False)
        self.register_buffer("legal_end", legal.end, persistent=False)

    def log_likelihood(
        self,
        logits: Tensor,
        counts: Tensor,
        targets: Tensor,
        begins: Tensor | None = None,
        ends: Tensor | None = None,
        longest: int | None = None,
    ) -> Tensor:
        """Of each sequence's tags, (sequences,), in the precision of the scores (autocast is off); 0 where it has none.

        The exponential of this for a decoded sequence is the probability that all its tags are right.

        Args:
            targets: legal tags, (places,).
            begins, ends: whether a sequence begins and ends a whole one, rather than being a window of it, to whose
                first or last tag no rule of the start or the end applies, (sequences,); all do if None.
            longest: at least the largest of `counts`; None: read from them, for which a GPU waits.
        """
        with torch.autocast(logits.device.type, enabled=False):
            logits = logits.to(self.start.dtype)
            start, between, end = self._scores(NEVER)
            starts, finals = (
                scores.expand(len(counts), -1) if applies is None else scores * applies[:, None]
                for scores, applies in ((start, begins), (end, ends))
            )
            scores = (starts, between, finals)
            return _score(logits, counts, targets, *scores) - _log_partition(_Padded(logits, counts, longest), *scores)

    def marginals(self, logits: Tensor, counts: Tensor) -> Tensor:
        """The probability of each tag at each place, over all sequences of tags, (places, tags).

        It is the derivative of the logarithm of the partition function by the logit.
        """
        with torch.enable_grad(), torch.autocast(logits.device.type, enabled=False):
            logits = logits.detach().to(self.start.dtype).requires_grad_()
            start, between, end = self._scores(NEVER)
            starts, finals = (scores.expand(len(counts), -1) for scores in (start, end))
            total = _log_partition(_Padded(logits, counts), starts, between, finals).sum()
            (marginals,) = torch.autograd.grad(total, logits)
            return marginals

    def decode(self, logits: Tensor, counts: Tensor) -> Tensor:
        """The most probable legal tags, (places,)."""
        with torch.autocast(logits.device.type, enabled=False):
            return _viterbi(_Padded(logits.to(self.start.dtype), counts), *self._scores(-torch.inf))

    def _scores(self, illegal: float) -> tuple[Tensor, Tensor, Tensor]:
        assert isinstance(self.legal_start, Tensor)
        assert isinstance(self.legal_between, Tensor)
        assert isinstance(self.legal_end, Tensor)
        return (
            self.start.masked_fill(~self.legal_start, illegal),
            self.between.masked_fill(~self.legal_between, illegal),
            self.end.masked_fill(~self.legal_end, illegal),
        )


def decode(logits: Tensor, counts: Tensor, legal: Legal) -> Tensor:
    """The legal tags with the highest sum of logits, (places,): without learned scores, of a softmax tag by tag.

    Logits and log-probabilities give the same tags.
    """
    legal = legal.to(logits.device)
    with torch.autocast(logits.device.type, enabled=False):
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        zero, never = logits.new_zeros(()), logits.new_full((), -torch.inf)
        start, between, end = (torch.where(mask, zero, never) for mask in (legal.start, legal.between, legal.end))
        return _viterbi(_Padded(logits, counts), start, between, end)


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
        sequence = _owners(counts, len(logits))
        position = torch.arange(len(logits), device=logits.device) - (counts.cumsum(0) - counts)[sequence]
        self.counts, self.index = counts, sequence * longest + position
        self.real = torch.arange(longest, device=logits.device) < counts[:, None]
        flat = logits.new_zeros(len(counts) * longest, logits.shape[-1]).index_copy(0, self.index, logits)
        self.values = flat.view(len(counts), longest, -1) if len(counts) else flat[:, None]


def _owners(counts: Tensor, places: int) -> Tensor:
    """The sequence of each place, (places,); without their number a GPU would wait for it."""
    return torch.repeat_interleave(counts, output_size=places)


def _score(logits: Tensor, counts: Tensor, targets: Tensor, start: Tensor, between: Tensor, end: Tensor) -> Tensor:
    """Of one path a sequence, (sequences,); `start` and `end` are each sequence's, (sequences, tags)."""
    sequence = _owners(counts, len(targets))
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
