"""AdamW and the schedule of its learning rate: the optimizer of every step.

Loshchilov and Hutter 2019 (decoupled weight decay), with bias correction; no decay on biases and LayerNorm, as in
the code of BERT (google-research/bert, optimization.py).
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from adaptbert.config.schema.training import Training
from adaptbert.model.classes import layers_of


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

    @property
    def decay_begins(self) -> int:
        """The first optimizer step of the decay phase of `wsd`; the end of the run if there is none."""
        return self.head_steps + self.steps - _decay_steps(self.config, self.steps)

    def share(self, step: int) -> float:
        """The learning rate of an optimizer step as a share of the highest."""
        left = step - self.head_steps
        return rate(self.config, step, self.head_steps) if left < 0 else rate(self.config, left, self.steps)


def rate(config: Training, step: int, steps: int) -> float:
    """The learning rate of optimizer step 0 .. steps-1 as a share of the highest: linear warm-up, then its schedule."""
    warmup = max(1, round(config.warmup_fraction * steps))
    if step < warmup:
        return (step + 1) / warmup
    if config.schedule == "linear":
        return max(0.0, (steps - step) / max(1, steps - warmup))
    decay = _decay_steps(config, steps)
    return 1 - math.sqrt(min(decay, max(0, step - (steps - decay))) / max(1, decay))


def _decay_steps(config: Training, steps: int) -> int:
    return round(config.decay_share * steps)


def adamw(module: nn.Module, config: Training) -> torch.optim.AdamW:
    """The optimizer for all parameters that are trained; the first of its groups learns at the full rate."""
    norms = {id(p) for m in module.modules() if type(m).__name__.endswith("Norm") for p in m.parameters()}
    groups: dict[tuple[int, bool], list[nn.Parameter]] = {}
    depth_of = _depths(module)
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


def _depths(module: nn.Module) -> dict[str, int]:
    """Depth by name: the embeddings are 0, layer i of n is i + 1, everything above (a pooler, a head) is n + 1."""
    encoder: Any = getattr(module, "base_model", module)
    layers = layers_of(encoder)
    depth = {id(parameter): 1 + i for i, layer in enumerate(layers) for parameter in layer.parameters()}
    embeddings = (each for name, each in encoder.named_parameters() if "embed" in name)
    depth = {**{id(parameter): 0 for parameter in embeddings}, **depth}
    return {name: depth.get(id(parameter), 1 + len(layers)) for name, parameter in module.named_parameters()}
