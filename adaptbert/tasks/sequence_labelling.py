"""Sequence labelling (NER, mentions): one tag a word, a linear layer on the first piece of each word."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.metrics import legal, span_metrics
from adaptbert.tasks.examples import Examples, gather
from adaptbert.tokenization import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor


class SequenceLabelling:
    """BIO tags of some types of entities.

    Args:
        labels: the types, without B- and I-.
    """

    metric = "f1_span"

    def __init__(self, labels: Sequence[str]) -> None:
        self.classes = ["O", *(f"{prefix}-{label}" for label in labels for prefix in ("B", "I"))]
        self._number = {tag: number for number, tag in enumerate(self.classes)}

    def hugging_face_class(self) -> Any:
        """The model whose head this shape trains."""
        from transformers import BertForTokenClassification

        return BertForTokenClassification

    def examples(self, rows: Sequence[dict[str, Any]], tokenizer: Tokenizer, max_length: int) -> Examples:
        """Words beyond `max_length` tokens, and words without a piece, have no place and are tagged O."""
        encoded = tokenizer.encode_words([row["tokens"] for row in rows])
        room, ids, places, words, targets, cut = max_length - 2, [], [], [], [], 0
        for row, encoding in zip(rows, encoded, strict=True):
            owner = [word for word in encoding.word_ids[:room] if word is not None]  # None: of a special token
            firsts = [i for i, word in enumerate(owner) if i == 0 or word != owner[i - 1]]
            ids.append([tokenizer.cls, *encoding.ids[:room], tokenizer.sep])
            places.append([1 + i for i in firsts])
            words.append([owner[i] for i in firsts])
            targets.append([self._number[row["tags"][owner[i]]] for i in firsts])
            cut += len(encoding.ids) > room
        return gather(ids, places, words, targets, cut)

    def logits(self, model: Any, hidden: "Tensor") -> "Tensor":
        """Scores of the tags, (places, tags), from the hidden states at the places."""
        scores: Tensor = model.classifier(model.dropout(hidden))
        return scores

    def answers(
        self, rows: Sequence[dict[str, Any]], examples: Examples, probabilities: NDArray[np.float64]
    ) -> tuple[list[list[str]], NDArray[np.float64]]:
        """The tags of each row, an I- that continues nothing read as B-, and the probability of its least sure tag."""
        ends = np.cumsum(examples.counts)
        best, sure = probabilities.argmax(-1), probabilities.max(-1)
        answers, confidence = [], np.ones(len(rows))
        for i, row in enumerate(rows):
            span = slice(int(ends[i] - examples.counts[i]), int(ends[i]))
            tags = ["O"] * len(row["tokens"])
            for word, number in zip(examples.words[span], best[span], strict=True):
                tags[word] = self.classes[number]
            answers.append(legal(tags))
            confidence[i] = sure[span].min(initial=1.0)
        return answers, confidence

    def gold(self, rows: Sequence[dict[str, Any]]) -> list[list[str]]:
        """The right answers."""
        return [list(row["tags"]) for row in rows]

    def score(self, gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
        """Metrics by name."""
        return span_metrics(gold, predicted)

    def is_degenerate(self, predicted: Sequence[Sequence[str]]) -> bool:
        """Whether the model never finds anything."""
        return all(tag == "O" for tags in predicted for tag in tags)
