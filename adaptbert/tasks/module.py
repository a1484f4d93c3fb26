"""Supervised fine-tuning as Lightning's loop calls it."""

from typing import Any

import pytorch_lightning as pl
from torch import Tensor

from adaptbert.config.schema.training import Training
from adaptbert.model.optimizer import Optimization
from adaptbert.tasks.batches import LabelledBatch
from adaptbert.tasks.head import TaskHead


class FineTuning(pl.LightningModule):
    """Loss, optimizer and schedule around a Hugging Face model with a head."""

    def __init__(self, model: Any, head: TaskHead, optim: Training, steps: int) -> None:
        super().__init__()
        model.train()  # from_pretrained leaves it in eval mode and Lightning keeps it: dropout would be off
        self.model, self.head, self._optim, self._steps = model, head, optim, steps

    def training_step(self, batch: LabelledBatch, k: int) -> Tensor:
        return self.head.loss(self.head.logits(self.model, batch), batch)

    def configure_optimizers(self) -> Any:
        return Optimization(self._optim, self._steps).of(self.model)
