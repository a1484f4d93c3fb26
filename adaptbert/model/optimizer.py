"""AdamW with linear warm-up and decay: the optimizer of every step.

Loshchilov and Hutter 2019 (decoupled weight decay), with bias correction; no decay on biases and LayerNorm, as in
Devlin et al. 2019, appendix A.2.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from adaptbert.config.schema.training import Training

_LAYER = re.compile(r"(?:^|\.)encoder\.layer\.(\d+)\.")
_EMBEDDINGS = re.compile(r"(?:^|\.)embeddings\.")


@dataclass(frozen=True)
class Optimization:
    """The optimizer of a run and its schedule.

    Attributes:
        steps: optimizer steps after the warm-up of the head.
        head_steps: optimizer steps of that warm-up, which has a schedule of its own.
    """

    config: Training
    steps: int
    head_steps: int = 0

    def of(self, module: nn.Module) -> dict[str, Any]:
        """The two as Lightning wants them from `configure_optimizers`."""
        optimizer = adamw(module, self.config)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, self.share)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def share(self, step: int) -> float:
        """The learning rate of an optimizer step as a share of the highest."""
        left = step - self.head_steps
        return rate(self.config, step, self.head_steps) if left < 0 else rate(self.config, left, self.steps)


def rate(config: Training, step: int, steps: int) -> float:
    """The learning rate of optimizer step 0 .. steps-1 as a share of the highest: linear warm-up, then linear decay."""
    warmup = max(1, round(config.warmup_fraction * steps))
    if step < warmup:
        return (step + 1) / warmup
    return max(0.0, (steps - step) / max(1, steps - warmup))


def adamw(module: nn.Module, config: Training) -> torch.optim.AdamW:
    """The optimizer for all parameters that are trained; the first of its groups learns at the full rate."""
    norms = {id(p) for m in module.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
    groups: dict[tuple[int, bool], list[nn.Parameter]] = {}
    depth_of = _depths(name for name, _ in module.named_parameters())
    top = max(depth_of.values())
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
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


def _depths(names: Iterable[str]) -> dict[str, int]:
    """Depth by name: the embeddings are 0, layer i of n is i + 1, everything above (a pooler, a head) is n + 1."""
    by_name: dict[str, int | None] = {}
    for name in names:
        layer = _LAYER.search(name)
        by_name[name] = 1 + int(layer[1]) if layer else 0 if _EMBEDDINGS.search(name) else None
    top = 1 + max((depth for depth in by_name.values() if depth is not None), default=0)
    return {name: top if depth is None else depth for name, depth in by_name.items()}
