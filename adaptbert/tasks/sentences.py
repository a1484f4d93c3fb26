"""Single sentences and sentence pairs, with any head: a linear layer on one vector.

The vector is the pooled [CLS] (Devlin et al. 2019, section 4.1). The scores of a row with several windows
are their mean.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.shape import Float64, Row, Shape
from adaptbert.tasks.targets import Head
from adaptbert.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from adaptbert.tasks.labelled_batch import LabelledBatch

Arrange = Callable[[Sequence[Row], Tokenizer, int], Examples]
"""Rows, a tokenizer and the most tokens of an example, to examples in which the head reads [CLS]."""


class Sentences(Shape):
    """The task types `single_sentence` and `sentence_pair`.

    Args:
        task: its target is scored.
        arrange: encodes rows.
        head: of the target.
    """

    def __init__(self, task: TaskDescription, arrange: Arrange, head: Head) -> None:
        super().__init__(task)
        self._arrange, self._head, self.classes = arrange, head, head.classes

    def hugging_face_class(self) -> Any:
        from transformers import BertForSequenceClassification

        return BertForSequenceClassification

    def config(self) -> dict[str, Any]:
        return self._head.config()

    def examples(self, rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Examples:
        return self._arrange(rows, tokenizer, max_length)

    def targets(self, rows: Sequence[Row], examples: Examples) -> NDArray[Any]:
        return self._head.targets(rows)[examples.rows]

    def logits(self, model: Any, hidden: "Tensor") -> "Tensor":
        return self._head.head(model, model.dropout(model.bert.pooler(hidden[:, None])))

    def loss(self, logits: "Tensor", batch: "LabelledBatch") -> "Tensor":
        return self._head.loss(logits, batch.targets)

    def log_probabilities(self, logits: "Tensor", batch: "LabelledBatch") -> "Tensor":
        return self._head.log_probabilities(logits)

    def fold_scale(self, model: Any) -> "Sentences":
        return Sentences(self._task, self._arrange, self._head.fold_scale(model))

    def answers(
        self, rows: Sequence[Row], examples: Examples, logits: Float64, tuned: Mapping[str, float]
    ) -> tuple[list[Any], Float64]:
        return self._head.answers(_means(len(rows), examples, logits))

    def details(
        self, rows: Sequence[Row], examples: Examples, logits: Float64, tuned: Mapping[str, float]
    ) -> list[dict[str, Any]]:
        if not self.classes:
            return [{} for _ in rows]
        probabilities = self._head.probabilities(_means(len(rows), examples, logits)).tolist()
        return [{"probabilities": dict(zip(self.classes, row, strict=True))} for row in probabilities]


def _means(rows: int, examples: Examples, logits: Float64) -> Float64:
    """Over the windows of each row, (rows, scores)."""
    counts = np.bincount(examples.rows, minlength=rows)
    sums = np.zeros((rows, logits.shape[1]))
    np.add.at(sums, examples.rows, logits)
    means: Float64 = sums / counts[:, None]
    return means
