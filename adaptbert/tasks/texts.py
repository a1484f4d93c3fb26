"""Texts and pairs of texts, and a linear layer on one vector.

The vector is the one that the head of the model takes, most often that of the first token (Devlin et al. 2019, section
4.1). The scores of a row with several windows are their mean.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from adaptbert.config.schema.task_types import PairOptions, TextOptions
from adaptbert.data.task_description import TaskDescription
from adaptbert.model.classes import last_linear
from adaptbert.model.encoder import Tokens, document_scores
from adaptbert.tasks.batches import LabelledBatch
from adaptbert.tasks.examples import Examples, Float64, Row, head_tail, whole, windows
from adaptbert.tasks.head import Decoded, TaskHead, Weights, cross_entropy, named, softmax
from adaptbert.text.tokenizer import Tokenizer

HALF = 0.5
FOLDED = (-1.0, 1.0)
"""The range of a regression target whose unit was folded into the weights."""


class Texts(TaskHead):
    """One vector a row; a class below for each target."""

    head = "sequence"

    def __init__(self, task: TaskDescription, options: TextOptions | PairOptions, weights: Weights = None) -> None:
        super().__init__(task, task.labels)
        self._options, self._weights = options, weights
        self._placed: dict[torch.device, Tensor] = {}

    def _encode(self, rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Examples:
        if isinstance(self._options, PairOptions):
            return self._encode_pairs(rows, tokenizer, max_length - tokenizer.extra(2))
        room = max_length - tokenizer.extra(1)
        texts = [encoding.ids for encoding in tokenizer.encode([row["text"] for row in rows])]
        if self._options.stride is None:
            parts = [(row, self._shortened(ids, room)) for row, ids in enumerate(texts)]
            cut = sum(len(ids) > room for ids in texts)
        else:
            stride, cut = self._options.stride, 0
            parts = [(row, ids[a:b]) for row, ids in enumerate(texts) for a, b in windows(len(ids), room, stride)]
        return whole([tokenizer.single(ids) for _, ids in parts], [row for row, _ in parts], cut)

    def _encode_pairs(self, rows: Sequence[Row], tokenizer: Tokenizer, room: int) -> Examples:
        """The longer text is cut first, like `longest_first` of Hugging Face."""
        firsts = [encoding.ids for encoding in tokenizer.encode([row["text_a"] for row in rows])]
        seconds = [encoding.ids for encoding in tokenizer.encode([row["text_b"] for row in rows])]
        ids, segments, cut = [], [], 0
        for a, b in zip(firsts, seconds, strict=True):
            shorter = min(len(a), len(b), room // 2)
            longer = min(max(len(a), len(b)), room - shorter)
            room_a, room_b = (longer, shorter) if len(a) > len(b) else (shorter, longer)
            cut += room_a < len(a) or room_b < len(b)
            pair, of_pair = tokenizer.pair(self._shortened(a, room_a), self._shortened(b, room_b))
            ids.append(pair)
            segments.append(of_pair)
        return whole(ids, range(len(rows)), cut, segments if tokenizer.has_segments else None)

    def _shortened(self, ids: Sequence[int], room: int) -> Sequence[int]:
        return ids[:room] if self._options.long_text == "head" else head_tail(ids, room)

    def targets(self, rows: Sequence[Row], examples: Examples) -> NDArray[Any]:
        return self._targets(rows)[examples.rows]

    def logits(self, model: Any, batch: LabelledBatch) -> Tensor:
        return document_scores(model, batch.rows, Tokens(batch.ids, batch.segments), batch.size)

    def decode(self, rows: Sequence[Row], examples: Examples, logits: Float64, tuned: Mapping[str, float]) -> Decoded:
        counts = np.bincount(examples.rows, minlength=len(rows))
        sums = np.zeros((len(rows), logits.shape[1]))
        np.add.at(sums, examples.rows, logits)
        return self._decode(sums / counts[:, None])

    @abstractmethod
    def _targets(self, rows: Sequence[Row]) -> NDArray[Any]:
        """Targets of rows, (rows,) or (rows, classes)."""

    @abstractmethod
    def _decode(self, scores: Float64) -> Decoded:
        """Answers from the scores of rows, (rows, scores)."""

    def _weights_on(self, device: torch.device) -> Tensor | None:
        """Weights, put on each device once, because a GPU would wait for a copy in every step."""
        if self._weights is not None and device not in self._placed:
            self._placed[device] = torch.tensor(self._weights, dtype=torch.float32).to(device)
        return self._placed.get(device)

    def _of_classes(self, probabilities: Float64) -> list[dict[str, Any]]:
        return [{"probabilities": dict(zip(self.classes, row, strict=True))} for row in probabilities.tolist()]


class SingleLabel(Texts):
    """One label: softmax and cross-entropy; the confidence is the probability of the label."""

    def config(self) -> dict[str, Any]:
        return named(self.classes) | {"problem_type": "single_label_classification"}

    def loss(self, logits: Tensor, batch: LabelledBatch) -> Tensor:
        """Loss, in which each row counts by the weight of its label."""
        return cross_entropy(logits, batch, self._weights_on(logits.device))

    def _targets(self, rows: Sequence[Row]) -> NDArray[Any]:
        number = {label: number for number, label in enumerate(self.classes)}
        return np.array([number[row["label"]] for row in rows], np.int64)

    def _decode(self, scores: Float64) -> Decoded:
        probabilities = softmax(scores)
        labels = [self.classes[number] for number in probabilities.argmax(-1)]
        return Decoded(labels, probabilities.max(-1), lambda: self._of_classes(probabilities))


class MultiLabel(Texts):
    """Several labels or none: a sigmoid and binary cross-entropy for each label.

    A label is predicted when its probability is above 0.5; the confidence is that of the least confident decision.
    """

    def config(self) -> dict[str, Any]:
        return named(self.classes) | {"problem_type": "multi_label_classification"}

    def loss(self, logits: Tensor, batch: LabelledBatch) -> Tensor:
        """Loss, in which a label counts by its weight where the row has it."""
        weights = self._weights_on(logits.device)
        total = functional.binary_cross_entropy_with_logits(
            logits.float(), batch.targets, pos_weight=weights, reduction="sum"
        )
        return batch.mean(total, "places", len(self.classes))

    def _targets(self, rows: Sequence[Row]) -> NDArray[Any]:
        return np.array([[label in row["labels"] for label in self.classes] for row in rows], np.float32)

    def _decode(self, scores: Float64) -> Decoded:
        from scipy.special import expit

        yes: Float64 = expit(scores)
        chosen = [sorted(label for label, sure in zip(self.classes, row, strict=True) if sure > HALF) for row in yes]
        return Decoded(chosen, np.maximum(yes, 1 - yes).min(-1), lambda: self._of_classes(yes))


class Regression(Texts):
    """A number: squared error, without confidence.

    The head is trained on values scaled to -1 to 1; `fold_scale` moves the scale into its weights, so that the saved
    model, whose task has the range `FOLDED`, predicts in the unit of the targets.
    """

    def __init__(self, task: TaskDescription, options: TextOptions | PairOptions) -> None:
        super().__init__(task, options)
        low, high = task.range or (None, None)
        assert low is not None, "validation refuses sets without rows"
        assert high is not None
        self._middle, self._half = (low + high) / 2, (high - low) / 2 or 1.0

    def config(self) -> dict[str, Any]:
        return {"num_labels": 1, "problem_type": "regression"}

    def loss(self, logits: Tensor, batch: LabelledBatch) -> Tensor:
        error: Tensor = (logits[:, 0] - batch.targets) / self._half
        return batch.mean(error.square().sum(), "places")

    def fold_scale(self, model: Any) -> "Regression":
        layer = last_linear(model)
        with torch.no_grad():
            layer.weight.mul_(self._half)
            layer.bias.mul_(self._half).add_(self._middle)
        return Regression(self._task.model_copy(update={"range": list(FOLDED)}), self._options)

    def logits(self, model: Any, batch: LabelledBatch) -> Tensor:
        scores = document_scores(model, batch.rows, Tokens(batch.ids, batch.segments), batch.size, exact=True)
        return scores * self._half + self._middle

    def _targets(self, rows: Sequence[Row]) -> NDArray[Any]:
        return np.array([row["value"] for row in rows], np.float32)

    def _decode(self, scores: Float64) -> Decoded:
        return Decoded(scores[:, 0].tolist(), np.full(len(scores), np.nan), lambda: [{} for _ in scores])
