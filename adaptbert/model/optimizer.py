"""AdamW with linear warm-up and decay: the optimizer of every step.

Loshchilov and Hutter 2019 (decoupled weight decay), with bias correction; no decay on biases and LayerNorm, as in
Devlin et al. 2019, appendix A.2.
"""

from typing import TYPE_CHECKING

from adaptbert.config.schema.training import Training
from adaptbert.model.families.family import depths

if TYPE_CHECKING:
    import torch
    from torch import nn


def rate(config: Training, step: int, steps: int) -> float:
    """The learning rate of optimizer step 0 .. steps-1 as a share of the highest: linear warm-up, then linear decay."""
    warmup = max(1, round(config.warmup_fraction * steps))
    if step < warmup:
        return (step + 1) / warmup
    return max(0.0, (steps - step) / max(1, steps - warmup))


def adamw(module: "nn.Module", config: Training) -> "torch.optim.AdamW":
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
