"""The parameters of a rung: the sections `pretrain`, `domain_transfer` and `task_transfer`."""

from typing import Annotated

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction
from adaptbert.mlm.length_schedule import LengthsConfig
from adaptbert.mlm.masking import MaskingConfig
from adaptbert.mlm.sentence_pairs import SentenceObjective
from adaptbert.model.optimizer import OptimConfig
from adaptbert.model.precision import Precision
from adaptbert.training.document_stream import BudgetConfig


class RungConfig(Config):
    """The parameters of a rung."""

    masking: MaskingConfig
    optim: OptimConfig
    budget: BudgetConfig
    global_batch_tokens: Annotated[int, Field(gt=0, le=bounds.BATCH_TOKENS)]
    """Tokens an optimizer step."""
    micro_batch_tokens: Annotated[int, Field(gt=0, le=bounds.BATCH_TOKENS)]
    """Tokens a forward pass."""
    head_warmup_steps: Annotated[int, Field(ge=0, le=bounds.STEPS)]
    """Optimizer steps before those of the budget that train the head only, for a checkpoint with a random head; 0 for
    none."""
    dropout: Annotated[float, Field(ge=0, lt=1)]
    """Of hidden states and attention. 0 learns most from few tokens (Geiping and Goldstein 2023, section 4.3)."""
    block_size: Annotated[int, Field(ge=8, le=bounds.BLOCK)]
    """Tokens of a packed row."""
    lengths: LengthsConfig | None = None
    """Short documents first; left out, documents are read whole from the first step on."""
    sentence_objective: SentenceObjective
    """An objective beside masking, on the two halves of a document: none; whether the second follows the first or is
    from another document (nsp); whether they are in order (sop). Not for texts of one sentence."""
    precision: Precision
    """Of the matrix products; weights and optimizer are float32 either way. `auto`: the faster one on this device."""
    measurements: Annotated[int, Field(ge=1, le=bounds.POINTS)]
    """Points on the curves of held-out text, at steps that grow by a constant factor; the last step is one."""

    @model_validator(mode="after")
    def _divisible(self) -> "RungConfig":
        if self.global_batch_tokens % self.micro_batch_tokens:
            nearest = max(1, round(self.global_batch_tokens / self.micro_batch_tokens)) * self.micro_batch_tokens
            raise contradiction(
                f"global_batch_tokens {self.global_batch_tokens} is not a multiple of"
                f" micro_batch_tokens {self.micro_batch_tokens}",
                f"write global_batch_tokens: {nearest}",
            )
        if self.block_size > self.micro_batch_tokens:
            raise contradiction(
                f"block_size {self.block_size} is larger than micro_batch_tokens {self.micro_batch_tokens}",
                f"write block_size: {self.micro_batch_tokens}, or less",
            )
        if self.lengths and self.lengths.short_length > self.block_size:
            raise contradiction(
                f"lengths.short_length {self.lengths.short_length} is larger than block_size {self.block_size}",
                f"write short_length: {self.block_size}, or less",
            )
        return self
