"""What every trained step has: optimizer, precision, batches as rows of tokens."""

from typing import Annotated, Literal

from pydantic import Field

from adaptbert.config.schema.section import Contradiction, Section

Precision = Literal["auto", "bf16-mixed", "32-true"]
Fraction = Annotated[float, Field(ge=0, lt=1)]
Rate = Annotated[float, Field(gt=0, le=1)]


class Training(Section):
    """AdamW with its schedule, and the precision of the matrix products.

    A section that has another default declares the field again, and says its meaning only where that differs.
    """

    learning_rate: Rate
    """Highest learning rate, after the warm-up."""
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Decoupled weight decay (Loshchilov and Hutter 2019); not applied to biases and LayerNorm, as in the code of
    BERT."""
    warmup_fraction: Fraction
    """Share of the optimizer steps in which the learning rate rises from 0; 0 goes on from a stable phase."""
    schedule: Literal["linear", "wsd"] = "linear"
    """How the learning rate then falls to 0: in a line; or after a stable phase by 1 - sqrt (`wsd`; Hägele et al. 2024,
    section 3.2; as in ModernBERT, Warner et al. 2024, section 2.2.2)."""
    decay_fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of the optimizer steps in which it falls with `wsd`; 0 ends in the stable phase. Left out: 0.2 (Hägele et
    al. 2024, section 3.2: more gains little)."""
    betas: list[Fraction]
    """Decay of the running means of the gradient and of its square."""
    epsilon: Annotated[float, Field(gt=0, lt=1)]
    """Number added to the denominator of AdamW."""
    clip_norm: Annotated[float, Field(gt=0)] = 1.0
    """The gradient is scaled down to this norm."""
    layer_decay: Rate | None = None
    """The learning rate of each layer is that of the layer above times this factor; the head has the full rate (Sun et
    al. 2019, "How to Fine-Tune BERT for Text Classification?", section 5.3.4). Left out: the same rate for all."""
    block_size: Annotated[int, Field(ge=8, le=65_536)] = 128
    """Tokens of a packed row; attention does not cross documents."""
    dropout: Fraction
    precision: Precision = "auto"
    """Precision of the matrix products; weights and optimizer are float32. `auto`: the faster one on this device."""

    def _agree(self) -> None:
        if len(self.betas) != 2:
            raise Contradiction(f"betas has {len(self.betas)} values, AdamW takes 2", "write two values")
        if self.schedule == "linear" and self.decay_fraction is not None:
            raise Contradiction(f"decay_fraction {self.decay_fraction} and schedule linear", "write schedule: wsd")
        if self.warmup_fraction + self.decay_share > 1:
            problem = f"warmup_fraction {self.warmup_fraction} + decay_fraction {self.decay_share} is above 1"
            raise Contradiction(problem)

    @property
    def decay_share(self) -> float:
        """Share of the optimizer steps that are the last phase of `wsd`."""
        if self.schedule == "linear":
            return 0.0
        return 0.2 if self.decay_fraction is None else self.decay_fraction

    def check_batches(self, unit: str) -> None:
        """Refuse a batch that micro-batches do not fill."""
        whole, part = getattr(self, f"global_batch_{unit}"), getattr(self, f"micro_batch_{unit}")
        if whole % part:
            problem = f"global_batch_{unit} {whole} is not a multiple of micro_batch_{unit} {part}"
            if whole < part:
                raise Contradiction(problem, f"write micro_batch_{unit}: {whole}")
            raise Contradiction(problem, f"write global_batch_{unit}: {round(whole / part) * part}")
