"""Micro-batches of labelled examples, packed into rows."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from adaptbert.model.packing import Rows, pack
from adaptbert.tasks.examples import Examples
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.micro_batches import MicroBatch
from adaptbert.training.padding import Padding

NO_TARGET = -100
"""The target of places at the padding: torch's losses of classes leave them out."""


@dataclass(frozen=True)
class LabelledBatch(MicroBatch):
    """The examples of a forward pass.

    Attributes:
        rows: the packed layout of the tokens.
        ids: (tokens,).
        segments: of each token in a pair, (tokens,); None where there is one text only.
        places: the tokens that the head reads, (places,).
        owners: the example of each place, (places,).
        targets: of each place, (places, ...); empty without labels.
        most_places: of an example.
        counts: tokens, padding not counted, examples and places.
    """

    rows: Rows
    ids: Tensor
    segments: Tensor | None
    places: Tensor
    owners: Tensor
    targets: Tensor
    most_places: int

    @property
    def size(self) -> int:
        """Number of examples, without padding."""
        return self.counts["examples"]


def batch_of(examples: Examples, block_size: int) -> LabelledBatch:
    """All examples in rows of `block_size` tokens."""
    targets = np.empty(0) if examples.targets is None else examples.targets
    return LabelledBatch(
        pack(examples.lengths, block_size),
        torch.from_numpy(examples.ids),
        None if examples.segments is None else torch.from_numpy(examples.segments),
        torch.from_numpy(examples.flat_places()),
        torch.from_numpy(examples.owners()),
        torch.from_numpy(targets),
        int(examples.counts.max(initial=0)),
        counts={"tokens": len(examples.ids), "examples": len(examples), "places": len(examples.places)},
    )


class LabelledBatches:
    """Micro-batch k of a run: examples of a stream that continues through the epochs.

    Args:
        size: examples of an optimizer step.
        parts: micro-batches of a step.
        is_static: whether they are padded to few sizes.
    """

    def __init__(
        self, examples: Examples, seed: int, size: int, block_size: int, parts: int = 1, is_static: bool = False
    ) -> None:
        self._examples, self._block_size = examples, block_size
        self._stream = DocumentStream(np.ones(len(examples), np.int64), seed, size, parts)
        self._padding = Padding.of_documents(examples.lengths, -(-size // parts)) if is_static else None
        self._one_place = bool((examples.counts == 1).all())

    def __call__(self, k: int) -> LabelledBatch:
        chosen, _ = self._stream.batch(k)
        examples = self._examples.take(chosen)
        batch = batch_of(examples, self._block_size)
        return batch if self._padding is None else self._padded(batch, self._padding.rows(examples.lengths))

    def _padded(self, batch: LabelledBatch, rows: Rows) -> LabelledBatch:
        """The same in a padded layout; where an example has several places, there is one for each token."""
        tokens = len(rows.positions) - len(batch.ids)
        places = 0 if self._one_place else len(rows.positions) - len(batch.places)
        return replace(
            batch,
            rows=rows,
            ids=pad(batch.ids, (0, tokens)),
            segments=None if batch.segments is None else pad(batch.segments, (0, tokens)),
            places=pad(batch.places, (0, places)),
            owners=pad(batch.owners, (0, places)),
            targets=batch.targets if self._one_place else pad(batch.targets, (0, places), value=NO_TARGET),
            most_places=rows.longest,
            is_static=True,
        )
