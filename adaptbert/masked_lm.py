"""Masked-language modelling: the decoder runs at the masked positions only, and no position is padding for long.

The objective of pretrain, domain_transfer and task_transfer alike (Devlin et al. 2019, section 3.1, task 1).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from adaptbert.batch import pinned, to
from adaptbert.encoder import encode
from adaptbert.masking import Masker
from adaptbert.masking_audit import MaskingAudit
from adaptbert.optim import OptimConfig, adamw
from adaptbert.packing import Rows, pack
from adaptbert.stream import DocumentStream
from adaptbert.token_store import TokenizedCorpus


@dataclass(frozen=True)
class MaskedBatch:
    """Documents with some tokens hidden.

    Attributes:
        rows: where attention lays the tokens.
        ids: document after document, some tokens hidden, (tokens,).
        chosen: tokens to predict, (chosen,).
        expected: the ids that stood there, (chosen,).
        counts: tokens, padding not counted, and what the masks really were (`MaskingAudit.counts`).
    """

    rows: Rows
    ids: Tensor
    chosen: Tensor
    expected: Tensor
    counts: dict[str, int]

    def to(self, device: torch.device) -> "MaskedBatch":
        """The same on another device."""
        return to(self, device)

    def pin_memory(self) -> "MaskedBatch":
        """The same in memory that a CUDA device reads by itself."""
        return pinned(self)


class MaskedBatches:
    """Micro-batch k of a run: documents by `stream`, masks by `masker`, rows of `block_size` tokens.

    Args:
        classes: of tokens by id, for the audit (`adaptbert.token_classes`).
    """

    def __init__(
        self,
        corpus: TokenizedCorpus,
        stream: DocumentStream,
        masker: Masker,
        block_size: int,
        classes: NDArray[np.int64] | None = None,
    ) -> None:
        self._corpus, self._stream, self._masker = corpus, stream, masker
        self._block_size = block_size
        self._audit = MaskingAudit(masker.config.probability, masker.maskable, classes)

    def __call__(self, k: int) -> MaskedBatch:
        documents, passes = self._stream.batch(k)
        flat = self._corpus.read(documents)
        read = (flat.ids, flat.word_starts, flat.lengths, documents, passes)
        ids, chosen = self._masker.mask(*read)
        rows = pack(flat.lengths, self._block_size)
        return MaskedBatch(
            rows,
            torch.from_numpy(ids),
            torch.from_numpy(chosen),
            torch.from_numpy(flat.ids[chosen]),
            {"tokens": len(ids), **self._audit.counts(flat.ids, flat.lengths, self._masker.units(*read), chosen)},
        )


class MaskedLM(pl.LightningModule):
    """Loss, optimizer and schedule around a Hugging Face `BertForMaskedLM`."""

    def __init__(self, model: Any, optim: OptimConfig, steps: int) -> None:
        super().__init__()
        model.train()  # from_pretrained leaves it in eval mode and Lightning keeps it: dropout would be off
        self.model, self._optim, self._steps = model, optim, steps

    def training_step(self, batch: MaskedBatch, k: int) -> Tensor:
        hidden = encode(self.model.bert, batch.rows, batch.ids, batch.chosen)
        logits = self.model.cls(hidden)
        # The mean, and 0 for a batch without a mask.
        return functional.cross_entropy(logits.float(), batch.expected, reduction="sum") / max(1, len(batch.expected))

    def configure_optimizers(self) -> Any:
        optimizer = adamw(self.model, self._optim)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: self._optim.rate(step, self._steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
