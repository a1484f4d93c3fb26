"""A checkpoint whose head of masked-language modelling was never trained: found, told, and warmed up if asked.

Some public checkpoints come without that head, or with a random one; nothing fails then, the numbers only look as if
the model knew nothing. Two signs, either is enough:

- weights of the head are missing from the file, so that they were drawn here;
- on every held-out text the loss is above 0.8 ln V, V the size of the vocabulary. Random weights give ln V. To know no
  more than how frequent each token is gives the entropy of single tokens: 0.66 to 0.70 ln V with BERT's vocabularies
  on encyclopaedic and biomedical English, mixed Chinese and Weibo posts.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from adaptbert.pretraining.masked_lm import MaskedBatch

HEAD = "cls.predictions."
NEAR_CHANCE = 0.8


def is_random(drawn: Iterable[str], measured: Mapping[str, Mapping[str, float]], vocabulary: int) -> bool:
    """Whether the head was never trained.

    Args:
        drawn: names of the weights that the checkpoint lacks.
        measured: `mlm_loss` in nats a token, by held-out text.
        vocabulary: tokens that the decoder can tell apart.
    """
    return any(name.startswith(HEAD) for name in drawn) or is_near_chance(measured, vocabulary)


def is_near_chance(measured: Mapping[str, Mapping[str, float]], vocabulary: int) -> bool:
    """Whether the loss on every text is that of a head that knows nothing."""
    return min(metrics["mlm_loss"] for metrics in measured.values()) > NEAR_CHANCE * math.log(vocabulary)


@dataclass(frozen=True)
class HeadWarmupBatches:
    """The same micro-batches, of which the first `count` train nothing but the head: a function of k as before."""

    batches: Callable[[int], MaskedBatch]
    count: int

    def __call__(self, k: int) -> MaskedBatch:
        made = self.batches(k)
        return replace(made, head_only=True) if k < self.count else made
