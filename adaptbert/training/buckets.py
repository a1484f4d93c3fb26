"""Gradients of a rank in a few flat tensors, each of which is averaged over the ranks while backward goes on.

The tensors and their order are those of the model, so a sum has the same bits in a resumed run: docs/decisions/0007.
Backward reaches the last layers first, and these are in the first tensor.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from adaptbert.training.ranks import Ranks

COUNT = 4
"""Tensors: all but the last are sent while the processor, or the device, computes others."""


class Buckets:
    """The gradients of some parameters, of one type and on one device, as long as its `hooks` are there."""

    def __init__(self, parameters: Iterable[nn.Parameter], ranks: Ranks) -> None:
        self._ranks = ranks
        backwards = [each for each in parameters if each.requires_grad][::-1]
        ends = torch.tensor([each.numel() for each in backwards]).cumsum(0)
        number = ((ends - 1) * COUNT // ends[-1]).tolist()
        self._members = [[each for each, n in zip(backwards, number, strict=True) if n == k] for k in range(COUNT)]
        self._members = [members for members in self._members if members]
        self._flat = [members[0].new_zeros(sum(each.numel() for each in members)) for members in self._members]
        self._bucket = {each: k for k, members in enumerate(self._members) for each in members}
        self._reached: set[nn.Parameter] = set()
        """Parameters with a gradient in this step."""
        self._expected: set[nn.Parameter] = set()
        """Parameters with one in the step before: a bucket is complete when the last micro-batch has reached them."""
        self._missing: list[int] | None = None
        """Numbers of those that each bucket lacks, in the last micro-batch."""
        self._ends: list[Callable[[], None]] = []
        self.hooks = [each.register_post_accumulate_grad_hook(self._reach) for each in backwards]  # type: ignore[no-untyped-call]

    def begin(self) -> None:
        """Begin a step with gradients of 0."""
        self._reached, self._missing, self._ends = set(), None, []
        for members, flat in zip(self._members, self._flat, strict=True):
            flat.zero_()
            parts: Any = flat.split([each.numel() for each in members])  # type: ignore[no-untyped-call]
            for each, part in zip(members, parts, strict=True):
                each.grad = part.view_as(each)

    def begin_last(self) -> None:
        """Begin the last micro-batch of a step, after which gradients do not change."""
        self._missing = [sum(each in self._expected for each in members) for members in self._members]

    def end(self) -> None:
        """Wait until all gradients are the means over all ranks; parameters that were not reached have none."""
        self._missing = [0] * len(self._flat)
        self._send()
        for end in self._ends:
            end()
        self._ends = []  # they keep connections open, by whose end other ranks hear of an error here
        for each in self._bucket.keys() - self._reached:
            each.grad = None
        self._expected = self._reached

    def _reach(self, parameter: Tensor) -> None:
        assert isinstance(parameter, nn.Parameter)
        self._reached.add(parameter)
        if self._missing is None:
            return
        number = self._bucket[parameter]
        assert number >= len(self._ends), "a gradient came after its bucket was sent"
        self._missing[number] -= parameter in self._expected
        if self._expected:
            self._send()

    def _send(self) -> None:
        """Send the complete buckets, in their order, as all ranks do."""
        assert self._missing is not None
        while len(self._ends) < len(self._flat) and not self._missing[len(self._ends)]:
            self._ends.append(self._ranks.begin_mean(self._flat[len(self._ends)]))
