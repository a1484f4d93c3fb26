"""Single sentences (sentiment, topic): [CLS] text [SEP], a linear layer on the pooled [CLS]."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.metrics import classification_metrics
from adaptbert.tasks.examples import Examples, gather
from adaptbert.tokenization import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor


class SingleSentence:
    """One label a text.

    Args:
        labels: of the task, in the order of their numbers.
    """

    metric = "f1_macro"

    def __init__(self, labels: Sequence[str]) -> None:
        self.classes = list(labels)
        self._number = {label: number for number, label in enumerate(self.classes)}

    def hugging_face_class(self) -> Any:
        """The model whose head this shape trains."""
        from transformers import BertForSequenceClassification

        return BertForSequenceClassification

    def examples(self, rows: Sequence[dict[str, Any]], tokenizer: Tokenizer, max_length: int) -> Examples:
        """Texts longer than `max_length` tokens lose their end."""
        encoded = tokenizer.encode([row["text"] for row in rows])
        room = max_length - 2
        return gather(
            [[tokenizer.cls, *encoding.ids[:room], tokenizer.sep] for encoding in encoded],
            [[0] for _ in rows],
            [[0] for _ in rows],
            [[self._number[row["label"]]] for row in rows],
            sum(len(encoding.ids) > room for encoding in encoded),
        )

    def logits(self, model: Any, hidden: "Tensor") -> "Tensor":
        """Scores of the classes, (places, classes), from the hidden states at the places."""
        pooled = model.bert.pooler(hidden[:, None])
        scores: Tensor = model.classifier(model.dropout(pooled))
        return scores

    def answers(
        self, rows: Sequence[dict[str, Any]], examples: Examples, probabilities: NDArray[np.float64]
    ) -> tuple[list[str], NDArray[np.float64]]:
        """The most probable label of each row and its probability."""
        best = probabilities.argmax(-1)
        return [self.classes[number] for number in best], probabilities.max(-1)

    def gold(self, rows: Sequence[dict[str, Any]]) -> list[str]:
        """The right answers."""
        return [row["label"] for row in rows]

    def score(self, gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
        """Metrics by name."""
        return classification_metrics(gold, predicted)

    def is_degenerate(self, predicted: Sequence[str]) -> bool:
        """Whether the model answers the same whatever it is asked."""
        return len(set(predicted)) < 2
