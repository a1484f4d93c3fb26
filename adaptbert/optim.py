"""AdamW with linear warm-up and decay: the optimizer of every step of the ladder.

Loshchilov and Hutter 2019 (decoupled weight decay), with bias correction; no decay on biases and LayerNorm, as in
Devlin et al. 2019, appendix A.2.
"""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from adaptbert.params import Config, contradiction

if TYPE_CHECKING:
    import torch
    from torch import nn

Beta = Annotated[float, Field(ge=0, lt=1)]


class OptimConfig(Config):
    """Values of the optimizer and its schedule."""

    learning_rate: Annotated[float, Field(gt=0, le=1)]
    """At its highest, after the warm-up."""
    weight_decay: Annotated[float, Field(ge=0, le=1)]
    warmup_fraction: Annotated[float, Field(ge=0, lt=1)]
    """Share of the optimizer steps in which the learning rate rises from 0; it then falls to 0."""
    betas: list[Beta]
    """Decay of the running means of the gradient and of its square."""
    epsilon: Annotated[float, Field(gt=0, lt=1)]
    clip_norm: Annotated[float, Field(gt=0)]
    """The gradient is scaled down to this norm."""

    @model_validator(mode="after")
    def _two(self) -> "OptimConfig":
        if len(self.betas) != 2:
            raise contradiction(f"betas has {len(self.betas)} values, AdamW takes 2")
        return self

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of optimizer step 0 .. steps-1 as a share of the highest."""
        warmup = max(1, round(self.warmup_fraction * steps))
        if step < warmup:
            return (step + 1) / warmup
        return max(0.0, (steps - step) / max(1, steps - warmup))


def adamw(module: "nn.Module", config: OptimConfig) -> "torch.optim.AdamW":
    """The optimizer for all parameters that are trained."""
    import torch
    from torch import nn

    norms = {id(p) for m in module.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
    trained = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
    plain = [p for name, p in trained if name.endswith("bias") or id(p) in norms]
    exempt = {id(p) for p in plain}
    decayed = [p for _, p in trained if id(p) not in exempt]
    return torch.optim.AdamW(
        [{"params": decayed, "weight_decay": config.weight_decay}, {"params": plain, "weight_decay": 0.0}],
        lr=config.learning_rate,
        betas=(config.betas[0], config.betas[1]),
        eps=config.epsilon,
        fused=True,
    )
