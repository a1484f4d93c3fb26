"""Short runs: of fine-tuning, with sixteen sentences a step and eight steps, and of masked-language modelling."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import torch
from transformers import BertForMaskedLM, BertForPreTraining

from adaptbert.config.schema.mlm import SentenceObjective
from adaptbert.mlm.masked_lm import MaskedBatches, MaskedLM
from adaptbert.mlm.sentence_pairs import SentencePairs
from adaptbert.model.classes import class_of
from adaptbert.model.optimizer import Optimization
from adaptbert.runtime.mlflow import Run
from adaptbert.tasks.batches import LabelledBatch, LabelledBatches, batch_of
from adaptbert.tasks.head import TaskHead
from adaptbert.tasks.heads import head_of
from adaptbert.tasks.module import FineTuning
from adaptbert.text.token_store import Documents
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.document_stream import DocumentStream
from tests.support import tiny, tiny_params, tiny_tasks

B = TypeVar("B")
STEPS = 8


def model_of(head: TaskHead, dropout: float = 0.2) -> Any:
    torch.manual_seed(0)
    config = tiny.config(dropout, classifier_dropout=dropout, **head.config())
    return class_of(config, head.head)(config)


def made(
    kind: str = "single_sentence",
    target: str = "class",
    options: Mapping[str, Any] | None = None,
    class_weights: list[float] | None = None,
    **optim: Any,
) -> tuple[FineTuning, LabelledBatches]:
    """A run on 32 rows, 16 a step, two micro-batches each."""
    head = head_of(tiny_tasks.described(kind, target), tiny_tasks.options(kind, **(options or {})), class_weights)
    model = model_of(head)
    trained = head.extend(model)
    rows = tiny_tasks.labelled("domain", kind, 32, 1, target)
    examples = trained.examples(rows, tiny.tokenizer(), 64)
    module = FineTuning(model, trained, tiny_params.optim(**optim), STEPS)
    return module, LabelledBatches(examples.labelled(trained.targets(rows, examples)), 3, 8, 64)


def plan(steps: int = STEPS) -> TrainingArguments:
    return TrainingArguments(steps, 2, 1.0, "32-true", 3, "train/loss")


def weights(module: FineTuning | MaskedLM) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone() for name, tensor in module.model.named_parameters()}


def changed(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> set[str]:
    return {name for name in one if not torch.equal(one[name], other[name])}


def masked_lm(
    steps: int, dropout: float | None = None, objective: SentenceObjective = "none", **optim: Any
) -> MaskedLM:
    torch.manual_seed(0)
    model = (BertForMaskedLM if objective == "none" else BertForPreTraining)(tiny.config(dropout))
    return MaskedLM(model, Optimization(tiny_params.optim(**optim), steps))


def masked_batches(
    corpus: Documents, tokens: int, objective: SentenceObjective = "none", **masking: Any
) -> MaskedBatches:
    pairs = None if objective == "none" else SentencePairs(corpus, objective, 0, 64)
    stream = DocumentStream((pairs or corpus).lengths, 0, tokens)
    return MaskedBatches(corpus, stream, tiny_params.masker(**masking), 64, pairs)


class Spoilt(MaskedLM):
    """Another loss at some micro-batches, which every rank knows by their ids."""

    def __init__(
        self, sound: MaskedLM, spoil: Callable[[torch.Tensor], torch.Tensor], batches: MaskedBatches, at: Iterable[int]
    ) -> None:
        super().__init__(sound.model, sound._optimization)
        self._spoil, self._ids = spoil, [batches(k).ids.tolist() for k in at]

    def training_step(self, batch: Any, k: int) -> Any:
        loss = super().training_step(batch, k)
        return self._spoil(loss) if batch.ids.tolist() in self._ids else loss


def no_number(loss: torch.Tensor) -> torch.Tensor:
    return loss * float("nan")


def flat_weights(module: torch.nn.Module) -> torch.Tensor:
    """All of them in one tensor."""
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


def first_batch(head: TaskHead, kind: str, count: int = 12, target: str | None = None) -> LabelledBatch:
    rows = tiny_tasks.labelled("domain", kind, count, 1, target)
    examples = head.examples(rows, tiny.tokenizer(), 64)
    return batch_of(examples.labelled(head.targets(rows, examples)), 64)


class Stop(BaseException):
    """An exception in place of `kill -9`, which tests/faults sends: a run ends where its batches raise this."""


def until(batches: Callable[[int], B], end: int | None) -> Callable[[int], B]:
    """The same batches, up to this one."""
    if end is None:
        return batches  # these can be sent to another process

    def batch(k: int) -> B:
        if k == end:
            raise Stop
        return batches(k)

    return batch


class LoggedRun(Run):
    """Keeps the metrics that are logged."""

    def __init__(self) -> None:
        super().__init__()
        self.metrics: list[tuple[str, float, int]] = []

    def log_metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        self.metrics += [(name, value, step) for name, value in metrics.items()]
