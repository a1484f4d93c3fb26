"""AdamW with linear warm-up and decay: the optimizer of every step of the ladder.

Loshchilov and Hutter 2019 (decoupled weight decay), with bias correction; no decay on biases and LayerNorm, as in
Devlin et al. 2019, appendix A.2.
"""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from adaptbert.base.config import Config, contradiction
from adaptbert.model.families.family import depths

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
    layer_decay: Annotated[float, Field(gt=0, le=1)] | None = None
    """The learning rate of each layer is that of the layer above times this factor; the head has the full rate (Sun et
    al. 2019, "How to Fine-Tune BERT for Text Classification?", section 5.3.4). Left out: the same rate for all."""

    @model_validator(mode="after")
    def _two(self) -> "OptimConfig":
        if len(self.betas) != 2:
            raise contradiction(f"betas has {len(self.betas)} values, AdamW takes 2", "write two values")
        return self

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of optimizer step 0 .. steps-1 as a share of the highest."""
        warmup = max(1, round(self.warmup_fraction * steps))
        if step < warmup:
            return (step + 1) / warmup
        return max(0.0, (steps - step) / max(1, steps - warmup))


def adamw(module: "nn.Module", config: OptimConfig) -> "torch.optim.AdamW":
    """The optimizer for all parameters that are trained; the first of its groups learns at the full rate."""
    import torch
    from torch import nn

    norms = {id(p) for m in module.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
    groups: dict[tuple[int, bool], list[nn.Parameter]] = {}
    depth_of = depths(name for name, _ in module.named_parameters())
    top = max(depth_of.values())
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            continue
        below = 0 if config.layer_decay is None else top - depth_of[name]
        is_plain = name.endswith("bias") or id(parameter) in norms
        groups.setdefault((below, is_plain), []).append(parameter)
    return torch.optim.AdamW(
        [
            {
                "params": members,
                "weight_decay": 0.0 if is_plain else config.weight_decay,
                "lr": config.learning_rate * (config.layer_decay or 1.0) ** below,
            }
            for (below, is_plain), members in sorted(groups.items(), key=lambda group: group[0])
        ],
        lr=config.learning_rate,
        betas=(config.betas[0], config.betas[1]),
        eps=config.epsilon,
        fused=True,
    )
