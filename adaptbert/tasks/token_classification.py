"""Sequence labelling (NER, chunks, POS): one tag a word, a linear layer on the first subword token of each
word.

With a CRF, transition scores of neighbouring tags are learned too (Lafferty et al. 2001) and saved as `crf.*`. Rows
longer than `max_length` are split into windows; each word is trained and tagged once, in the window where it has most
context, and the tags of a row are decoded as one sequence.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from adaptbert.config.schema.task_types import TokenOptions
from adaptbert.data import tag_schemes
from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks.batches import LabelledBatch
from adaptbert.tasks.crf import CRF, best_legal, crf_by_rows
from adaptbert.tasks.examples import Examples, Float64, Int64, Row, gather, owned, windows
from adaptbert.tasks.head import Decoded, TaskHead, cross_entropy, named, softmax
from adaptbert.tasks.metrics.scoring import most_frequent
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.words import trimmed

SCHEME: tag_schemes.Scheme = "bio"
"""The scheme of validated sets, and the one that is trained."""
COMMONEST = "commonest_tag"
CRF_NAME = "crf"
BEGINS, ENDS = 1, 2  # bits


class TokenClassification(TaskHead):
    """Spans of some types, or a tag for every word.

    Args:
        crf: of the model whose head this is.
    """

    head = "tokens"

    def __init__(self, task: TaskDescription, options: TokenOptions, crf: CRF | None = None) -> None:
        self._options, self._crf = options, crf
        self._are_spans, classes = task.spec.output.marks_spans, task.labels
        if self._are_spans:
            prefixes = tag_schemes.PREFIXES[SCHEME]
            classes = [tag_schemes.OUTSIDE, *(f"{prefix}-{label}" for label in task.labels for prefix in prefixes)]
        super().__init__(task, classes)
        self.skips_padding = crf is None
        self._number = {tag: number for number, tag in enumerate(self.classes)}

    def extend(self, model: Any) -> "TokenClassification":
        if self._options.decoder != "crf":
            return self
        crf = CRF(self.classes, self._are_spans)
        model.add_module(CRF_NAME, crf)
        return TokenClassification(self._task, self._options, crf)

    def config(self) -> dict[str, Any]:
        return named(self.classes)

    def _encode(self, rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Examples:
        """Words are joined by spaces. The place of a word is its first token that is not a space; some have none."""
        ids, places, spans, numbers = [], [], [], []
        room, before = max_length - tokenizer.extra(1), len(tokenizer.one.before)
        texts = [" ".join(row["tokens"]) for row in rows]
        for number, (text, encoding) in enumerate(zip(texts, tokenizer.encode(texts), strict=True)):
            firsts, words = first_tokens(rows[number]["tokens"], trimmed(text, encoding.offsets))
            ranges = windows(len(encoding.ids), room, self._options.stride, sorted({0, *firsts.tolist()}))
            for (begin, end), own in zip(ranges, owned(firsts, ranges), strict=True):
                ids.append(tokenizer.single(encoding.ids[begin:end]))
                places.append(before + own - begin)
                spans.append(np.stack([words[own], words[own] + 1], 1))
                numbers.append(number)
        return gather(ids, places, spans, numbers, cut=0)

    def targets(self, rows: Sequence[Row], examples: Examples) -> NDArray[Any]:
        """Numbers of the tags, (places,).

        For a CRF (places, 2), the second whether a place begins its row (1), ends it (2), both or neither. The tags are
        those of the words that have a place, so that they are legal without the others as well.
        """
        row, words = examples.rows[examples.owners()], examples.spans[:, 0]
        if self._options.decoder != "crf":
            numbers = [[self._number[tag] for tag in record["tags"]] for record in rows]
            return np.array([numbers[one][word] for one, word in zip(row, words, strict=True)], np.int64)
        targets = np.zeros((len(words), 2), np.int64)
        for places in np.split(np.arange(len(words)), np.flatnonzero(np.diff(row)) + 1):
            if len(places):
                tags = [rows[row[places[0]]]["tags"][word] for word in words[places]]
                if self._are_spans:
                    tags = tag_schemes.legal(tags, SCHEME)
                targets[places, 0] = [self._number[tag] for tag in tags]
                targets[places[0], 1] |= BEGINS
                targets[places[-1], 1] |= ENDS
        return targets

    def loss(self, logits: Tensor, batch: LabelledBatch) -> Tensor:
        if self._crf is None:
            return cross_entropy(logits, batch)
        # Not `bincount`: a GPU would wait for the largest number.
        counts = batch.owners.new_zeros(batch.size).index_add(0, batch.owners, batch.owners.new_ones(len(batch.owners)))
        tags, edges = batch.targets.unbind(-1)
        begins, ends = (
            logits.new_zeros(batch.size).index_add(0, batch.owners, ((edges & bit) > 0).to(logits.dtype))
            for bit in (BEGINS, ENDS)
        )
        # Divided by places, not by rows: the scale of the loss, and so the learning rate, is that without a CRF.
        likelihoods = self._crf.log_likelihood(logits, counts, tags, begins, ends, batch.most_places)
        return batch.mean(-likelihoods.sum(), "places")

    def check_tuned(self, tuned: Mapping[str, float]) -> None:
        if not self._are_spans and not 0 <= tuned[COMMONEST] < len(self.classes):
            raise ValueError(f"{COMMONEST} is not the number of a label")

    def tune(self, rows: Sequence[Row], examples: Examples, logits: Float64) -> dict[str, float]:
        """The number of the most frequent tag, for words without a subword token; with spans such words are outside."""
        if self._are_spans:
            return {}
        return {COMMONEST: float(self._number[most_frequent([tag for row in rows for tag in row["tags"]])])}

    def decode(self, rows: Sequence[Row], examples: Examples, logits: Float64, tuned: Mapping[str, float]) -> Decoded:
        """The tags of each row, spans in BIO, and the probability of its least confident tag."""
        counts = np.array([len(row["tokens"]) for row in rows], np.int64)
        known = (np.cumsum(counts) - counts)[examples.rows[examples.owners()]] + examples.spans[:, 0]
        scores = np.full((int(counts.sum()), len(self.classes)), -np.inf)  # of the words of all rows
        scores[:, 0 if self._are_spans else int(tuned[COMMONEST])] = 0  # with certainty, without a subword token
        scores[known] = logits
        if self._crf is not None:
            device = self._crf.start.device
            best = crf_by_rows(self._crf.decode, scores, counts, device)
            probabilities = crf_by_rows(self._crf.marginals, scores, counts, device).astype(np.float64)
        else:
            best = best_legal(scores, counts, self.classes) if self._are_spans else scores.argmax(-1)
            probabilities = softmax(scores)
        sure = probabilities[np.arange(len(best)), best]
        of_rows = np.split(np.arange(len(best)), np.cumsum(counts)[:-1])

        def details() -> list[dict[str, Any]]:
            each = (probabilities[words].tolist() for words in of_rows)
            return [{"probabilities": [dict(zip(self.classes, word, strict=True)) for word in row]} for row in each]

        answers = [[self.classes[tag] for tag in best[words]] for words in of_rows]
        return Decoded(answers, np.array([sure[words].min(initial=1.0) for words in of_rows]), details)


def first_tokens(words: Sequence[str], spans: Sequence[tuple[int, int]]) -> tuple[Int64, Int64]:
    """The first token of each word that has one, (words,), and the word of every token, (tokens,).

    Args:
        spans: the characters of each token in the words joined by spaces; an empty range has no word.
    """
    begins = np.cumsum([0, *(len(word) + 1 for word in words)])
    characters = np.array(spans, np.int64).reshape(-1, 2)
    of_tokens = np.searchsorted(begins, characters[:, 0], side="right") - 1
    with_text = np.flatnonzero(characters[:, 1] > characters[:, 0])
    return with_text[np.flatnonzero(np.diff(of_tokens[with_text], prepend=-1))], of_tokens
