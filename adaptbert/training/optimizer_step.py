"""The optimizer step of a rank: gradients of its micro-batches, their mean over all ranks, clipping and AdamW."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from adaptbert.core.seeds import seed_of
from adaptbert.model.device import BF16
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.buckets import Buckets
from adaptbert.training.micro_batches import MicroBatch
from adaptbert.training.ranks import Ranks


class OptimizerStep:
    """Computes optimizer steps of a module.

    Args:
        module: its `training_step` returns the loss of a micro-batch, the `mean` of a sum; or a dict with `loss` and
            the parts that `plan` names.

    Attributes:
        keeps_gradients: whether the tensors of gradients stay from step to step, and are 0 after it.
    """

    keeps_gradients = False

    def __init__(self, module: Any, plan: TrainingArguments, ranks: Ranks, optimizer: Any) -> None:
        self._module, self._plan, self._ranks, self._optimizer = module, plan, ranks, optimizer
        self._buckets = Buckets(module.parameters(), ranks) if ranks.world > 1 else None

    def __call__(self, batches: Sequence[MicroBatch], numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        """A step, of which no part waits for the device.

        Args:
            batches: the micro-batches of this rank, on its device.
            numbers: theirs in the run.

        Returns:
            The mean loss over all ranks and its parts, (1 + parts,), and the norm of the gradient before clipping.
        """
        losses = []
        if self._buckets:
            self._buckets.begin()
        for batch, number in zip(batches, numbers, strict=True):
            if self._buckets and number == numbers[-1]:
                self._buckets.begin_last()
            self.seed(number)
            losses.append(self.add_gradients(batch, len(batches)))
        norm = self.update()
        total = torch.stack(losses).sum(0)
        self._ranks.mean(total)
        return total, norm

    def close(self) -> None:
        """Leave the module without gradients and hooks."""
        self._optimizer.zero_grad(set_to_none=True)
        for hook in self._buckets.hooks if self._buckets else ():
            hook.remove()

    def seed(self, number: int) -> None:
        """Make all random numbers from here on those of a micro-batch."""
        torch.manual_seed(seed_of(self._plan.seed, "step", number))

    def add_gradients(self, batch: MicroBatch, size: int) -> Tensor:
        """Add the gradients of one of so many micro-batches; its share of the loss and its parts, (1 + parts,)."""
        module = self._module
        with torch.autocast(module.device.type, torch.bfloat16, self._plan.precision == BF16, cache_enabled=False):
            output = module.training_step(batch, 0)
        values = output if isinstance(output, dict) else {"loss": output}
        loss = values["loss"] / size
        loss.backward()
        module.on_after_backward()
        parts = [values[name].float() / size for name in self._plan.parts]
        return torch.stack([loss.detach().float(), *parts])

    def update(self) -> Tensor:
        """Change the weights by the gradients, which then end; returns their norm before clipping."""
        if self._buckets:
            self._buckets.end()
        # Every micro-batch reaches the same parameters, so all ranks have gradients of the same parameters.
        gradients = [parameter.grad for parameter in self._module.parameters() if parameter.grad is not None]
        norm, limit = nn.utils.get_total_norm(gradients), self._plan.clip_norm
        # Skip the multiplication by 1 where the norm is small, but not on a GPU: reading the norm would wait for it.
        if norm.device.type != "cpu" or norm > limit:
            nn.utils.clip_grads_with_norm_(self._module.parameters(), limit, norm)
        # The fused kernel skips the update where this is 1, and nothing waits for the device.
        self._optimizer.found_inf = (~torch.isfinite(norm)).to(torch.float32)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=not self.keeps_gradients)
        return norm
