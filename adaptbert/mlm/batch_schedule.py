"""The batch schedule of a rung: its optimizer steps, and micro-batch k as a function of k.

Documents are read whole or as pairs for a sentence objective, as short chunks first if the rung has a length schedule,
and the first steps of all may train the head only.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adaptbert.core.seeds import seed_of
from adaptbert.mlm.length_schedule import ShortDocuments
from adaptbert.mlm.masked_lm import MaskedBatch, MaskedBatches
from adaptbert.mlm.masking import Masker
from adaptbert.mlm.masking_audit import token_classes
from adaptbert.mlm.sentence_pairs import SentencePairs
from adaptbert.training.document_stream import DocumentStream, optimizer_steps

if TYPE_CHECKING:
    from adaptbert.config.schema.mlm import MlmStep
    from adaptbert.text.token_store import Documents, TokenizedCorpus
    from adaptbert.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class ScheduledBatches:
    """Micro-batch k of two streams, one after the other.

    Attributes:
        whole: from micro-batch `short_count` on, counted from 0 there.
        short: before it.
        head_count: so many at the beginning train the head only.
    """

    whole: MaskedBatches
    short: MaskedBatches | None = None
    short_count: int = 0
    head_count: int = 0

    def __call__(self, k: int) -> MaskedBatch:
        if self.short is not None and k < self.short_count:
            batch = self.short(k)
        else:
            batch = self.whole(k - self.short_count)
        return replace(batch, head_only=True) if k < self.head_count else batch


@dataclass(frozen=True)
class BatchSchedule:
    """The micro-batches of a run.

    Attributes:
        steps: optimizer steps, those that train the head alone included.
        body_steps: without those.
        accumulate: micro-batches an optimizer step.
        batches: the k-th micro-batch.
        row: tokens of a packed row, the mean over all steps.
    """

    steps: int
    body_steps: int
    accumulate: int
    batches: ScheduledBatches
    row: float

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
        objective, classes = params.sentence_objective, token_classes(tokenizer.tokens)

        def batches_of(documents: "Documents", block_size: int, seed: int) -> MaskedBatches:
            has_pairs = objective != "none"
            pairs = SentencePairs(documents, objective, seed, min(block_size, longest)) if has_pairs else None
            stream = DocumentStream((pairs or documents).lengths, seed, params.micro_batch_tokens)
            masker = Masker(params.masking, seed, tokenizer)
            return MaskedBatches(documents, stream, masker, block_size, classes, pairs)

        body_steps = optimizer_steps(params, corpus.tokens)
        steps, accumulate = (
            params.head_warmup_steps + body_steps,
            params.global_batch_tokens // params.micro_batch_tokens,
        )
        row, head_count = float(params.block_size), params.head_warmup_steps * accumulate
        batches = ScheduledBatches(batches_of(corpus, params.block_size, seed), head_count=head_count)
        if params.lengths:
            length, short_steps = params.lengths.short_length, round(params.lengths.short_share * steps)
            short = batches_of(ShortDocuments(corpus, length), length, seed_of(seed, "short"))
            batches = replace(batches, short=short, short_count=short_steps * accumulate)
            row += (length - row) * short_steps / max(1, steps)
        return cls(steps, body_steps, accumulate, batches, row)
