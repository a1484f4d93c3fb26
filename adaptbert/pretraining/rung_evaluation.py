"""What is measured while a rung is trained, and after which steps.

Points of the curve have the measures of the held-out texts. These and some earlier steps have the fill-in curve, which
needs no other answers of the model than the same masks: masked accuracy by class of token.
"""

import math
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import BertForMaskedLM

from adaptbert.base.ladder import GENERAL
from adaptbert.pretraining.heldout_evaluation import HeldOut
from adaptbert.pretraining.metrics.fill_in import Members, accuracy
from adaptbert.pretraining.metrics.fill_in_classes import FillInClasses
from adaptbert.pretraining.metrics.heldout_measures import named
from adaptbert.pretraining.sentence_evaluation import HeldOutPairs
from adaptbert.pretraining.stop_rule import SCORE, StopConfig, score
from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus
from adaptbert.tokenization.store.tokenizer import Tokenizer

Measures = dict[str, dict[str, float]]
COUNTED_TOKENS = 1_000_000
"""Of a text, from which frequencies of tokens are estimated."""


def measured_steps(steps: int, count: int) -> list[int]:
    """At most `count` steps that grow by a constant factor up to the last one, from a tenth of the run on."""
    if steps == 0:
        return []
    if count == 1:
        return [steps]
    first = math.log(max(1.0, steps / 10))
    last = math.log(steps)
    return sorted({round(math.exp(first + (last - first) * i / (count - 1))) for i in range(count)})


def early_steps(first: int) -> list[int]:
    """1, 3, 10, 30 and so on, up to half of the first step that is measured anyway."""
    decades = range(len(str(first)))
    return [step for decade in decades for step in (10**decade, 3 * 10**decade) if 2 * step <= first]


class RungEvaluation:
    """A model on held-out text, while it is trained.

    Args:
        tokenizer: of all texts.
        pairs: where there is a sentence objective.
        stop: the stop rule, with the text that it reads in place of the rung's own held-out text, if any.
    """

    def __init__(
        self,
        model: Any,
        heldout: HeldOut,
        tokenizer: Tokenizer,
        pairs: HeldOutPairs | None,
        stop: tuple[StopConfig, TokenizedCorpus | None] | None,
    ) -> None:
        self.model, self.heldout, self._pairs = model, heldout, pairs
        self._stop = stop[0] if stop else None
        self._own = heldout.of({"own": stop[1]}) if stop and stop[1] is not None else None
        self.members = _members(heldout, tokenizer)

    def begin(self, precision: str, known: Mapping[str, dict[str, float]]) -> tuple[Measures, dict[str, float]]:
        """Measures of the texts before the first step, and the first point of the fill-in curve.

        Args:
            known: measures that the weights have already, by text.
        """
        measured, right = self.heldout.measure_tokens(self.model, precision)
        return {name: known.get(name) or of_text for name, of_text in measured.items()}, accuracy(right, self.members)

    def at_point(self, precision: str) -> dict[str, float]:
        """All measures of a point of the curve, by their names."""
        measured, right = self.heldout.measure_tokens(self.model, precision)
        sentences = self._pairs.measure(self.model, precision) if self._pairs else {}
        ruled = {}
        if self._stop is not None:
            ruled = {SCORE: score(self._stop, self.stop_bits(measured, precision))}
        return {**named(measured), **sentences, **ruled, **accuracy(right, self.members)}

    def between(self, precision: str) -> dict[str, float]:
        """The fill-in curve alone."""
        return accuracy(self.heldout.measure_tokens(self.model, precision)[1], self.members)

    def stop_bits(self, measured: Measures, precision: str) -> dict[str, float]:
        """Bits per character of the texts that the stop rule reads: general text, and the rung's own if it has one."""
        own = self._own.measure(self.model, precision) if self._own else measured
        texts = {GENERAL: measured[GENERAL], **own}
        return {name: measures["bits_per_char"] for name, measures in texts.items()}

    def untrained(self, precision: str, seed: int) -> dict[str, float]:
        """The fill-in point of random weights of the same architecture."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = BertForMaskedLM(deepcopy(self.model.config)).to(self.model.device)
        return accuracy(self.heldout.measure_tokens(model, precision)[1], self.members)

    def unigram(self, corpus: TokenizedCorpus, tokenizer: Tokenizer) -> dict[str, float]:
        """The fill-in point of always answering the most frequent token of the training text."""
        most_frequent = int(np.where(tokenizer.maskable, _counts(corpus, tokenizer.size), 0).argmax())
        right = {
            name: np.concatenate([batch.flat.ids[batch.chosen] == most_frequent for batch in self.heldout.masked(name)])
            for name in self.heldout.sets
        }
        return accuracy(right, self.members)


def _members(heldout: HeldOut, tokenizer: Tokenizer) -> Members:
    counts = {name: _counts(corpus, tokenizer.size) for name, corpus in heldout.sets.items()}
    members: dict[str, dict[str, NDArray[np.bool_]]] = {}
    for name, own in counts.items():
        general = counts.get(GENERAL) if name != GENERAL else None
        classes = FillInClasses(tokenizer.tokens, tokenizer.maskable, own, general)
        batches = [
            {kind: member[batch.chosen] for kind, member in classes.of(batch.flat.ids, batch.flat.lengths).items()}
            for batch in heldout.masked(name)
        ]
        members[name] = {kind: np.concatenate([batch[kind] for batch in batches]) for kind in batches[0]}
    return members


def _counts(corpus: TokenizedCorpus, size: int) -> NDArray[np.int64]:
    """How often each token occurs in documents from all over a text, about `COUNTED_TOKENS` of it, (vocabulary,)."""
    count = len(corpus.lengths)
    taken = min(count, max(1, COUNTED_TOKENS * count // max(1, corpus.tokens)))
    documents = np.unique(np.linspace(0, count - 1, taken).astype(np.int64))
    return np.bincount(corpus.read(documents).ids, minlength=size)
