"""The batch schedule of a rung: its optimizer steps, and micro-batch k as a function of k.

Documents are read whole or as pairs for a sentence objective, as short chunks first if the rung has a length schedule,
and the first steps of all may train the head only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptbert.core.seeds import seed_of
from adaptbert.mlm.length_schedule import ConcatenatedBatches, ShortDocuments
from adaptbert.mlm.masked_lm import MaskedBatch, MaskedBatches
from adaptbert.mlm.masking import Masker
from adaptbert.mlm.sentence_pairs import SentencePairs, head_of
from adaptbert.mlm.token_classes import token_classes
from adaptbert.mlm.untrained_head import HeadWarmupBatches
from adaptbert.training.document_stream import DocumentStream, optimizer_steps

if TYPE_CHECKING:
    from adaptbert.config.schema.mlm import MlmStep
    from adaptbert.text.token_store import Documents, TokenizedCorpus
    from adaptbert.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class BatchSchedule:
    """The micro-batches of a run.

    Attributes:
        steps: optimizer steps, those that train the head alone included.
        body_steps: without those.
        accumulate: micro-batches an optimizer step.
        batches: the k-th micro-batch.
        row: tokens of a packed row, the mean over all steps.
        long_row, short_row: of one that has whole documents, and of one of the first `short_steps` steps.
    """

    steps: int
    body_steps: int
    accumulate: int
    batches: Callable[[int], MaskedBatch]
    long_row: float
    short_row: float
    short_steps: int

    @property
    def row(self) -> float:
        return self.long_row + (self.short_row - self.long_row) * self.short_steps / max(1, self.steps)

    @classmethod
    def of(
        cls, corpus: "TokenizedCorpus", params: "MlmStep", tokenizer: "Tokenizer", longest: int, seed: int
    ) -> "BatchSchedule":
        """The schedule that `params` define.

        Args:
            longest: most tokens of a sentence pair.

        Raises:
            BadData: too few documents are long enough for the sentence objective.
        """
        head, classes = head_of(params.sentence_objective), token_classes(tokenizer.tokens)

        def batches_of(documents: "Documents", block_size: int, seed: int) -> MaskedBatches:
            pairs = SentencePairs(documents, head, seed, min(block_size, longest)) if head else None
            stream = DocumentStream((pairs or documents).lengths, seed, params.micro_batch_tokens)
            masker = Masker(params.masking, seed, tokenizer)
            return MaskedBatches(documents, stream, masker, block_size, classes, pairs)

        body_steps = optimizer_steps(params, corpus.tokens)
        steps = params.head_warmup_steps + body_steps
        accumulate = params.global_batch_tokens // params.micro_batch_tokens
        batches: Callable[[int], MaskedBatch] = batches_of(corpus, params.block_size, seed)
        row, short, short_steps = float(params.block_size), params.block_size, 0
        if params.lengths:
            short = params.lengths.short_length
            first = batches_of(ShortDocuments(corpus, short), short, seed_of(seed, "short"))
            short_steps = round(params.lengths.short_share * steps)
            batches = ConcatenatedBatches(first, short_steps * accumulate, batches)
        if params.head_warmup_steps:
            batches = HeadWarmupBatches(batches, params.head_warmup_steps * accumulate)
        return cls(steps, body_steps, accumulate, batches, row, short, short_steps)
