"""Detection and warm-up of a masked-language-modelling head that was never trained.

Some public checkpoints come without that head, or with a random one. Nothing fails then, but all measures are at chance
level. Either of two signs is enough:

- weights of the head are missing from the file, so that they were drawn here;
- on every held-out text the loss is above 0.8 ln V, V the size of the vocabulary. Random weights give ln V. A model of
  token frequencies alone gives the entropy of single tokens: 0.66 to 0.70 ln V with BERT's vocabularies
  on encyclopaedic and biomedical English, mixed Chinese and Weibo posts.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from adaptbert.mlm.masked_lm import MaskedBatch

HEAD = "cls.predictions."
NEAR_CHANCE = 0.8


def is_random(drawn: Iterable[str], measured: Mapping[str, Mapping[str, float]], vocabulary: int) -> bool:
    """Whether the head was never trained.

    Args:
        drawn: names of the weights that the checkpoint lacks.
        measured: `mlm_loss` in nats a token, by held-out text.
        vocabulary: number of tokens of the decoder.
    """
    return any(name.startswith(HEAD) for name in drawn) or is_near_chance(measured, vocabulary)


def is_near_chance(measured: Mapping[str, Mapping[str, float]], vocabulary: int) -> bool:
    """Whether the loss on every text is near that of a random head."""
    return min(metrics["mlm_loss"] for metrics in measured.values()) > NEAR_CHANCE * math.log(vocabulary)


@dataclass(frozen=True)
class HeadWarmupBatches:
    """The same micro-batches; the first `count` train the head only. Still a function of k."""

    batches: Callable[[int], MaskedBatch]
    count: int

    def __call__(self, k: int) -> MaskedBatch:
        batch = self.batches(k)
        return replace(batch, head_only=True) if k < self.count else batch
