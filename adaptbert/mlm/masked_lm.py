"""Masked-language modelling: the batches of a step and their loss, on packed documents.

The objective of pretrain, domain_transfer and task_transfer (Devlin et al. 2019, section 3.1, task 1); the decoder runs
at the masked positions only. A sentence objective can be added; the loss is then the sum of both. Before the masked
micro-batches there may be causal ones, in which the same head predicts from each token the next one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.nn import functional

from adaptbert.config.schema.mlm import MlmStep
from adaptbert.mlm.masking import Masker
from adaptbert.mlm.sentence_pairs import PairLabels, SentencePairs
from adaptbert.mlm.token_loss import NO_ANSWER, summed_loss
from adaptbert.model.encoder import Tokens, encode, pair_scores
from adaptbert.model.optimizer import Optimization
from adaptbert.model.packing import Rows, pack
from adaptbert.text.token_store import Documents
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.micro_batches import MicroBatch

CHOSEN_STEP = 16
LOSS_NAME = "train/mlm_loss"
PAIR_PARTS = (LOSS_NAME, "train/sentence_loss", "train/sentence_accuracy")


@dataclass(frozen=True)
class MaskedBatch(MicroBatch):
    """Documents with some tokens masked, or the documents themselves for causal training.

    Attributes:
        rows: the packed layout of the tokens.
        ids: document after document, some tokens masked, (tokens,).
        chosen: tokens whose vectors predict, themselves or the next one, (chosen,).
        expected: the original ids, or NO_ANSWER where nothing is predicted, (chosen,).
        counts: tokens, without padding, and the audit of the masks (`Masker.counts`), or how many are `predicted`.
        pairs: where a sentence objective is trained.
        head_only: whether the encoder is not trained.
        causal: whether each token sees those before it only.
    """

    rows: Rows
    ids: Tensor
    chosen: Tensor
    expected: Tensor
    pairs: PairLabels | None = None
    head_only: bool = False
    causal: bool = False


@dataclass(frozen=True)
class MaskedBatches:
    """Micro-batch k of a step: documents by `stream`, masks by `masker`, rows of `block_size` tokens.

    Attributes:
        pairs: reads the documents as pairs for a sentence objective; `stream` must then have its lengths.
        head_count: so many micro-batches at the beginning train the head only.
        causal_ends: from there to this micro-batch they are causal.
        decay_begins: from this micro-batch on `decay_masker` draws the masks: the same draws, with another probability.
    """

    corpus: Documents
    stream: DocumentStream
    masker: Masker
    block_size: int
    pairs: SentencePairs | None = None
    head_count: int = 0
    causal_ends: int = 0
    decay_begins: int = 0
    decay_masker: Masker | None = None

    @classmethod
    def of(
        cls, params: MlmStep, corpus: Documents, tokenizer: Tokenizer, longest: int, seed: int, steps: Optimization
    ) -> "MaskedBatches":
        """The batches that `params` define.

        Args:
            longest: most tokens of a sentence pair.
            steps: says when the warm-up of the head ends, and when the learning rate begins to fall.

        Raises:
            BadData: too few documents are long enough for the sentence objective.
        """
        objective = params.sentence_objective
        pairs = None if objective == "none" else SentencePairs(corpus, objective, seed, longest)
        stream = DocumentStream((pairs or corpus).lengths, seed, params.micro_batch())
        accumulate = params.global_batch_tokens // params.micro_batch()
        masking, probability = params.masking, params.masking.decay_probability
        decay = None if probability is None else masking.model_copy(update={"probability": probability})
        return cls(
            corpus,
            stream,
            Masker(masking, seed, tokenizer),
            params.block_size,
            pairs,
            head_count=steps.head_steps * accumulate,
            causal_ends=(steps.head_steps + causal_steps(params, steps.steps)) * accumulate,
            decay_begins=steps.decay_begins * accumulate,
            decay_masker=None if decay is None else Masker(decay, seed, tokenizer),
        )

    def __call__(self, k: int) -> MaskedBatch:
        documents, passes = self.stream.batch(k)
        pairs, of_pairs = None, {}
        if self.pairs is None:
            flat = self.corpus.read(documents)
        else:
            flat, pairs = self.pairs.read(documents, passes)
            of_pairs = {"pairs": len(pairs.labels), "unpaired": len(documents) - len(pairs.labels)}
        if causal := self.head_count <= k < self.causal_ends:
            ids, chosen = flat.ids, self.masker.before_maskable(flat)
            expected, counts = flat.ids[chosen + 1], {"predicted": len(chosen)}
        else:
            masker = self.decay_masker if self.decay_masker and k >= self.decay_begins else self.masker
            ids, chosen, begins = masker.mask(flat, documents, passes)
            expected, counts = flat.ids[chosen], masker.counts(flat, chosen, begins)
        # Padded to few sizes, as `pack` has few row sizes: the loss ignores the outputs at the padding.
        spare = -len(chosen) % CHOSEN_STEP
        return MaskedBatch(
            pack(flat.lengths, self.block_size),
            torch.from_numpy(ids),
            torch.from_numpy(np.pad(chosen, (0, spare))),
            torch.from_numpy(np.pad(expected, (0, spare), constant_values=NO_ANSWER)),
            counts={"tokens": len(ids), **counts, **of_pairs},
            pairs=pairs,
            head_only=k < self.head_count,
            causal=causal,
        )


def causal_steps(params: MlmStep, steps: int) -> int:
    """The causal ones of so many optimizer steps; the last is masked."""
    return max(0, min(round(params.causal_share * steps), steps - 1))


class MaskedLM(pl.LightningModule):
    """The loss of a model with the head `masked_lm`, or `pretraining` for pairs, and its optimizer."""

    def __init__(self, model: Any, optimization: Optimization) -> None:
        super().__init__()
        model.train()  # from_pretrained leaves it in eval mode and Lightning keeps it: dropout would be off
        self.model, self._optimization = model, optimization
        self._frozen: list[nn.Parameter] = []

    def training_step(self, batch: MaskedBatch, k: int) -> Tensor | dict[str, Tensor]:
        """The loss; with pairs also its two parts and the accuracy, by the names in `PAIR_PARTS`."""
        encoder, pairs = self.model.base_model, batch.pairs
        self._frozen = list(encoder.parameters()) if batch.head_only else []
        if pairs is None:
            hidden = encode(encoder, batch.rows, Tokens(batch.ids), batch.chosen, causal=batch.causal)
            return self._token_loss(hidden, batch)
        needed = torch.cat([batch.chosen, pairs.first])
        hidden = encode(encoder, batch.rows, Tokens(batch.ids, pairs.segments), needed)
        hidden, first = hidden.tensor_split([len(batch.chosen)])
        scores = pair_scores(self.model, first).float()
        pair_count = batch.mean_count("pairs")
        masked = self._token_loss(hidden, batch)
        sentence = functional.cross_entropy(scores, pairs.labels, reduction="sum") / pair_count
        right = (scores.argmax(-1) == pairs.labels).sum() / pair_count
        parts = zip(PAIR_PARTS, (masked.detach(), sentence.detach(), right), strict=True)
        return {"loss": masked + sentence, **dict(parts)}

    def _token_loss(self, hidden: Tensor, batch: MaskedBatch) -> Tensor:
        total = summed_loss(self.model, hidden, batch.expected)
        count = batch.mean_count("predicted" if batch.causal else "chosen")
        return total / total.new_full((), count)  # a GPU would multiply by the inverse of a number

    def on_after_backward(self) -> None:
        # Clipping and AdamW skip a parameter without a gradient, and AdamW keeps no means of it. The decoder is tied to
        # the embeddings and frozen with them; the head's own layers and biases are trained.
        for parameter in self._frozen:
            parameter.grad = None

    def configure_optimizers(self) -> Any:
        return self._optimization.of(self.model)
