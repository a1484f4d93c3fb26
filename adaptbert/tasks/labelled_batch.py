"""Examples of a forward pass, packed into rows."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from adaptbert.model.packing import Rows, pack
from adaptbert.model.to_device import Movable
from adaptbert.tasks.examples import Examples


@dataclass(frozen=True)
class LabelledBatch(Movable):
    """Concatenated examples.

    Attributes:
        rows: the packed layout of the tokens.
        ids: (tokens,).
        segments: of each token in a pair, (tokens,); None where there is one text only.
        places: the tokens that the head reads, (places,).
        owners: the example of each place, (places,).
        targets: of each place, (places, ...).
        most_places: of an example.
        counts: tokens, padding not counted, and places.
        frozen: number of the lowest depths (adaptbert.model.families.family.depths) that are not trained on this batch;
            None: no change.
    """

    rows: Rows
    ids: Tensor
    segments: Tensor | None
    places: Tensor
    owners: Tensor
    targets: Tensor
    most_places: int
    counts: dict[str, int]
    frozen: int | None = None

    @property
    def size(self) -> int:
        """Examples."""
        return len(self.rows.bounds) - 1


def batch_of(examples: Examples, block_size: int) -> LabelledBatch:
    """All `examples` in rows of `block_size` tokens; without labels the targets are empty."""
    targets = np.empty(0) if examples.targets is None else examples.targets
    return LabelledBatch(
        pack(examples.lengths, block_size),
        torch.from_numpy(examples.ids),
        None if examples.segments is None else torch.from_numpy(examples.segments),
        torch.from_numpy(examples.flat_places()),
        torch.from_numpy(examples.owners()),
        torch.from_numpy(targets),
        int(examples.counts.max(initial=0)),
        {"tokens": len(examples.ids), "places": len(examples.places)},
    )
