"""Evaluation of the sentence objective: the same unmasked pairs of held-out text at every point of a curve.

A module of its own, because the stage `measure` does not depend on it.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from adaptbert.config.schema.mlm import SentenceObjective
from adaptbert.mlm.heldout_evaluation import HeldOut, first_documents
from adaptbert.mlm.sentence_pairs import SentencePairs, answers, can_pair
from adaptbert.model.evaluation import evaluating
from adaptbert.model.packing import pack

if TYPE_CHECKING:
    from transformers import BertForPreTraining


class HeldOutPairs:
    """Pairs of the held-out sets whose documents are long enough to be cut."""

    def __init__(self, heldout: HeldOut, objective: SentenceObjective, longest: int) -> None:
        self._block_size, self._max_tokens = max(heldout.block_size, longest), heldout.config.max_tokens
        self._sets = {
            name: SentencePairs(corpus, objective, heldout.config.seed, longest)
            for name, corpus in heldout.sets.items()
            if can_pair(corpus.lengths)
        }

    def measure(self, model: "BertForPreTraining", precision: str) -> dict[str, float]:
        """`sentence_loss/<set>` (nats a pair) and `sentence_accuracy/<set>`; the model's mode is as before."""
        with evaluating(model, precision):
            measured = {name: self._measure(model, pairs) for name, pairs in self._sets.items()}
        return {f"{metric}/{name}": value for name, values in measured.items() for metric, value in values.items()}

    def _measure(self, model: Any, pairs: SentencePairs) -> dict[str, float]:
        import torch

        from adaptbert.model.encoder import Tokens, encode

        scores, labels = [], []
        for documents in first_documents(pairs.lengths, self._max_tokens):
            flat, segments, label = pairs.read(documents, np.zeros(len(documents), np.int64))
            begins = (np.cumsum(flat.lengths) - flat.lengths)[label >= 0]
            ids, kinds, places = (torch.as_tensor(v, device=model.device) for v in (flat.ids, segments, begins))
            rows = pack(flat.lengths, max(self._block_size, int(flat.lengths.max())))
            scores.append(answers(model, encode(model.bert, rows, Tokens(ids, kinds), places)).float().cpu())
            labels.append(torch.from_numpy(label[label >= 0]))
        logits, expected = torch.cat(scores), torch.cat(labels)
        if len(expected) == 0:  # long documents of a single word
            return {}
        loss = torch.nn.functional.cross_entropy(logits, expected)
        right = (logits.argmax(-1) == expected).float().mean()
        return {"sentence_loss": float(loss), "sentence_accuracy": float(right)}
