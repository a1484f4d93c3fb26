"""Masked-language modelling: the decoder runs at the masked positions only, on packed documents.

The objective of pretrain, domain_transfer and task_transfer (Devlin et al. 2019, section 3.1, task 1). A sentence
objective can be added; the loss is then the sum of both.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from adaptbert.config.schema.training import Training
from adaptbert.mlm.masking import Masker
from adaptbert.mlm.masking_audit import MaskingAudit
from adaptbert.mlm.sentence_pairs import PairLabels, SentencePairs, answers
from adaptbert.model.encoder import Tokens, encode
from adaptbert.model.optimizer import adamw, rate
from adaptbert.model.packing import Rows, pack
from adaptbert.model.to_device import Movable
from adaptbert.text.token_store import Documents, Flat
from adaptbert.training.document_stream import DocumentStream

NO_ANSWER = -100
CHOSEN_STEP = 16
SIDE = 8


@dataclass(frozen=True)
class MaskedBatch(Movable):
    """Documents with some tokens masked.

    Attributes:
        rows: the packed layout of the tokens.
        ids: document after document, some tokens masked, (tokens,).
        chosen: tokens to predict, (chosen,).
        expected: the original ids, or NO_ANSWER where nothing is predicted, (chosen,).
        counts: tokens, without padding, and the audit of the masks (`MaskingAudit.counts`).
        pairs: where a sentence objective is trained.
        head_only: whether the encoder is not trained.
    """

    rows: Rows
    ids: Tensor
    chosen: Tensor
    expected: Tensor
    counts: dict[str, int]
    pairs: PairLabels | None = None
    head_only: bool = False


class MaskedBatches:
    """Micro-batch k of a run: documents by `stream`, masks by `masker`, rows of `block_size` tokens.

    Args:
        classes: of tokens by id, for the audit (`token_classes`).
        pairs: reads the documents as pairs for a sentence objective; `stream` must then have its lengths.
    """

    def __init__(
        self,
        corpus: Documents,
        stream: DocumentStream,
        masker: Masker,
        block_size: int,
        classes: NDArray[np.int64] | None = None,
        pairs: SentencePairs | None = None,
    ) -> None:
        self._corpus, self._stream, self._masker = corpus, stream, masker
        self._block_size, self._pairs = block_size, pairs
        self._audit = MaskingAudit(masker.config.probability, masker.maskable, classes)

    def __call__(self, k: int) -> MaskedBatch:
        documents, passes = self._stream.batch(k)
        if self._pairs is None:
            return self._masked(self._corpus.read(documents), documents, passes)
        flat, segments, labels = self._pairs.read(documents, passes)
        batch = self._masked(flat, documents, passes)
        labelled = labels >= 0
        firsts = (np.cumsum(flat.lengths) - flat.lengths)[labelled]
        pairs = PairLabels(*(torch.from_numpy(values) for values in (segments, firsts, labels[labelled])))
        counts = {"pairs": int(labelled.sum()), "unpaired": int((~labelled).sum())}
        return replace(batch, pairs=pairs, counts={**batch.counts, **counts})

    def _masked(self, flat: Flat, documents: NDArray[np.int64], passes: NDArray[np.int64]) -> MaskedBatch:
        read = (flat.ids, flat.word_starts, flat.lengths, documents, passes)
        ids, chosen = self._masker.mask(*read)
        rows = pack(flat.lengths, self._block_size)
        # Padded to few sizes, as `pack` has few row sizes: the loss ignores the outputs at the padding.
        spare = -len(chosen) % CHOSEN_STEP
        return MaskedBatch(
            rows,
            torch.from_numpy(ids),
            torch.from_numpy(np.pad(chosen, (0, spare))),
            torch.from_numpy(np.pad(flat.ids[chosen], (0, spare), constant_values=NO_ANSWER)),
            {"tokens": len(ids), **self._audit.counts(flat.ids, flat.lengths, self._masker.units(*read), chosen)},
        )


LOSS_NAME = "train/mlm_loss"
PAIR_PARTS = (LOSS_NAME, "train/sentence_loss", "train/sentence_accuracy")


def token_scores(head: Any, hidden: Tensor) -> Tensor:
    """The masked-LM head of the stock model: scores of all tokens of the vocabulary, (positions, vocabulary).

    A GPU multiplies matrices at full speed if their sides are multiples of 8, which the 30,522 tokens of BERT are not:
    there empty columns are computed and taken away.
    """
    if hidden.device.type == "cpu" or head.decoder.out_features % SIDE == 0:
        scores: Tensor = head(hidden)
        return scores
    return scores_with_spare_columns(head, hidden)


def scores_with_spare_columns(head: Any, hidden: Tensor) -> Tensor:
    """The same scores by a product whose columns are a multiple of 8."""
    tokens = head.decoder.out_features
    spare = -tokens % SIDE
    weight, bias = functional.pad(head.decoder.weight, (0, 0, 0, spare)), functional.pad(head.decoder.bias, (0, spare))
    return functional.linear(head.transform(hidden), weight, bias)[:, :tokens]


class MaskedLM(pl.LightningModule):
    """Loss, optimizer and schedule around a Hugging Face `BertForMaskedLM`, or a `BertForPreTraining` for pairs.

    Args:
        steps: optimizer steps after the warm-up of the head.
        head_steps: optimizer steps of that warm-up; its batches have `head_only`.
    """

    def __init__(self, model: Any, optim: Training, steps: int, head_steps: int = 0) -> None:
        super().__init__()
        model.train()  # from_pretrained leaves it in eval mode and Lightning keeps it: dropout would be off
        self.model, self._optim, self._steps, self._head_steps = model, optim, steps, head_steps
        self._frozen: list[torch.nn.Parameter] = []

    def training_step(self, batch: MaskedBatch, k: int) -> Tensor | dict[str, Tensor]:
        """The loss; with pairs also its two parts and the accuracy, by the names in `PAIR_PARTS`."""
        self._frozen = list(self.model.bert.parameters()) if batch.head_only else []
        if batch.pairs is None:
            return self._masked_loss(encode(self.model.bert, batch.rows, Tokens(batch.ids), batch.chosen), batch)
        pairs = batch.pairs
        needed = torch.cat([batch.chosen, pairs.first])
        hidden = encode(self.model.bert, batch.rows, Tokens(batch.ids, pairs.segments), needed)
        hidden, first = hidden.tensor_split([len(batch.chosen)])
        scores = answers(self.model, first).float()
        pair_count = max(1, len(pairs.labels))
        masked = self._masked_loss(hidden, batch)
        sentence = functional.cross_entropy(scores, pairs.labels, reduction="sum") / pair_count
        right = (scores.argmax(-1) == pairs.labels).sum() / pair_count
        parts = zip(PAIR_PARTS, (masked.detach(), sentence.detach(), right), strict=True)
        return {"loss": masked + sentence, **dict(parts)}

    def _masked_loss(self, hidden: Tensor, batch: MaskedBatch) -> Tensor:
        logits = token_scores(self.model.cls.predictions, hidden)
        # The mean, and 0 for a batch without a mask.
        total = functional.cross_entropy(logits.float(), batch.expected, ignore_index=NO_ANSWER, reduction="sum")
        return total / (batch.expected != NO_ANSWER).sum().clamp(min=1)

    def on_after_backward(self) -> None:
        # Clipping and AdamW skip a parameter without a gradient, and AdamW keeps no means of it. The decoder is tied to
        # the embeddings and frozen with them; the head's own layers and biases are trained.
        for parameter in self._frozen:
            parameter.grad = None

    def configure_optimizers(self) -> Any:
        def of_step(step: int) -> float:
            """Two schedules in sequence: the encoder begins with a warm-up of its own."""
            left = step - self._head_steps
            return rate(self._optim, step, self._head_steps) if left < 0 else rate(self._optim, left, self._steps)

        optimizer = adamw(self.model, self._optim)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, of_step)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
