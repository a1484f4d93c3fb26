"""Sentence pairs: documents cut in two between words, for a sentence objective on [CLS] beside masking.

Flat documents [CLS] a b [SEP] in; [CLS] a [SEP] b [SEP] with segment ids and labels out. Cut, partner and label are
functions of (seed, pass, document), as masks are. A document too short to be cut is unchanged and has no label.

The objective is `nsp`: does the second segment follow the first (0), or does it come from another document (1; Devlin
et al. 2019, section 3.1, task 2)? Or `sop`: do the segments stand in their order (0), or are they swapped (1; Lan et
al. 2020, section 3.1)? Both use the head `pretraining` of a family.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adaptbert.codes import Code
from adaptbert.config.schema.mlm import SentenceObjective
from adaptbert.core.counter_rng import uniforms
from adaptbert.core.seeds import seed_of
from adaptbert.errors import BadData
from adaptbert.mlm.masking import document_keys
from adaptbert.model.device import Movable
from adaptbert.text.token_store import Documents, Flat, Int64

SHORTEST = 8  # tokens of a document that is cut, [CLS] and [SEP] included
ENOUGH = 0.01  # least share of such documents in a corpus
NEIGHBOURS = 1_000  # documents of about the same length among which a partner is drawn


@dataclass(frozen=True)
class PairLabels(Movable):
    """The pairs among some documents, for the encoder and the head.

    Attributes:
        segments: 0 or 1, (tokens,).
        first: the [CLS] of each pair, (pairs,).
        labels: 0 or 1, (pairs,).
    """

    segments: Tensor
    first: Tensor
    labels: Tensor


def can_pair(lengths: Int64) -> bool:
    """Whether documents of so many tokens, (documents,), give enough pairs for training or evaluation."""
    count = int((lengths >= SHORTEST).sum())
    return count >= max(2, ENOUGH * len(lengths))


class SentencePairs:
    """Builds pairs from the documents of a corpus.

    Args:
        documents: of the corpus.
        objective: `nsp` or `sop`.
        seed: of cuts, partners and labels.
        longest: most tokens of a pair; a document of that length loses its last token to the [SEP] in the middle.

    Attributes:
        lengths: tokens of each document after pairing, (documents,).

    Raises:
        BadData: too few documents are long enough.
    """

    def __init__(self, documents: Documents, objective: SentenceObjective, seed: int, longest: int) -> None:
        self._documents, self._objective, self._longest = documents, objective, longest
        self._arguments = (documents, objective, seed, longest)
        self._seed = np.uint64(seed_of(seed, "pairs"))
        can_cut = documents.lengths >= SHORTEST
        count = int(can_cut.sum())
        if not can_pair(documents.lengths):
            problem = f"{count:,} of {len(can_cut):,} documents have {SHORTEST} tokens, so that they can be cut in two"
            remedy = "set sentence_objective: none for texts of one sentence"
            raise BadData(Code.TOO_FEW_ROWS, "sentence_objective", problem, remedy)
        self.lengths = np.where(can_cut, np.minimum(documents.lengths + 1, longest), documents.lengths)
        # Partners are neighbours by length: otherwise the length of the second segment would predict the label.
        # Documents of one length are shuffled, because neighbours in the corpus are often chunks of one text.
        shuffled = np.random.Generator(np.random.Philox(seed_of(seed, "partners"))).permutation(np.flatnonzero(can_cut))
        self._by_length = shuffled[np.argsort(documents.lengths[shuffled], kind="stable")]
        self._rank = np.zeros(len(can_cut), np.int64)
        self._rank[self._by_length] = np.arange(count)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles for the processes of other devices: they build the same pairs."""
        return SentencePairs, self._arguments

    def read(self, documents: Int64, passes: Int64) -> tuple[Flat, PairLabels]:
        """Some documents as pairs, in the requested order.

        Args:
            documents: (documents,).
            passes: the pass in which each one is read, (documents,).
        """
        key = document_keys(self._seed, documents, passes)
        places, kinds, others = (uniforms(key, np.array(draw, np.uint64)) for draw in range(3))
        wholes = _split(self._documents.read(documents))
        cuts = [self._cut(whole, place) for whole, place in zip(wholes, places, strict=True)]
        labels = np.where(np.array(cuts) > 0, kinds < 0.5, -1).astype(np.int64)
        foreign = self._foreign(documents, others, labels) if self._objective == "nsp" else {}

        read, segments = [], []
        for number, (whole, cut) in enumerate(zip(wholes, cuts, strict=True)):
            if cut == 0:
                read.append(whole)
                segments.append(np.zeros(whole.shape[1], np.int64))
                continue
            first, second = np.split(self._content(whole), [cut], axis=1)
            if labels[number] == 1:
                other = foreign.get(number)
                first, second = (second, first) if other is None else (first, _ending(other, second.shape[1]))
            read.append(_pair(whole, first, second))
            segments.append(np.repeat([0, 1], [first.shape[1] + 2, second.shape[1] + 1]))
        ids, word_starts = np.concatenate(read, axis=1)
        lengths = np.array([document.shape[1] for document in read])
        first = (np.cumsum(lengths) - lengths)[labels >= 0]
        pairs = PairLabels(*map(torch.from_numpy, (np.concatenate(segments), first, labels[labels >= 0])))
        return Flat(ids, word_starts.astype(np.bool_), lengths), pairs

    def _foreign(self, documents: Int64, draws: NDArray[np.float64], labels: Int64) -> dict[int, Int64]:
        """For each document with label 1, by its index: the content of another document of about the same length."""
        replaced = np.flatnonzero(labels == 1)
        if len(replaced) == 0:
            return {}
        rank, count = self._rank[documents[replaced]], len(self._by_length)
        # The window of possible partners is moved inwards at both ends, so that every document has equally many.
        window = min(NEIGHBOURS, count - 1)
        lowest = np.clip(rank - window // 2, 0, count - 1 - window)
        drawn = lowest + (draws[replaced] * window).astype(np.int64)
        # `drawn` counts the window without the document itself: from its own rank on, skip one.
        partners = self._by_length[drawn + (drawn >= rank)]
        contents = map(self._content, _split(self._documents.read(partners)))
        return dict(zip(replaced.tolist(), contents, strict=True))

    def _content(self, whole: Int64) -> Int64:
        """The tokens between [CLS] and [SEP], cut where another [SEP] would not fit."""
        return whole[:, 1 : min(whole.shape[1] - 1, self._longest - 2)]

    def _cut(self, whole: Int64, place: float) -> int:
        """The index of the second segment in the content: a word start in its middle half; 0 for no cut, if there is no
        such word start or the document is too short."""
        if whole.shape[1] < SHORTEST:
            return 0
        _, begins = self._content(whole)
        margin = len(begins) // 4  # at least 1, as SHORTEST is 8: a cut is never 0, and no segment is empty
        word_starts = np.flatnonzero(begins[margin : len(begins) - margin + 1]) + margin
        return int(word_starts[int(place * len(word_starts))]) if len(word_starts) else 0


def _split(flat: Flat) -> list[Int64]:
    """Each document as ids above word starts, (2, tokens)."""
    return np.split(np.stack([flat.ids, flat.word_starts]), np.cumsum(flat.lengths)[:-1], axis=1)


def _ending(content: Int64, length: int) -> Int64:
    """The end of a document from a word start on: at most `length` tokens, unless no word starts there."""
    earliest = max(1, content.shape[1] - length)
    begins = np.flatnonzero(content[1, earliest:])  # none: one long word, which is then cut
    return content[:, earliest + (int(begins[0]) if len(begins) else 0) :]


def _pair(whole: Int64, first: Int64, second: Int64) -> Int64:
    """[CLS] first [SEP] second [SEP]; no word extends across a separator."""
    pair = np.concatenate([whole[:, :1], first, whole[:, -1:], second, whole[:, -1:]], axis=1)
    # A segment may begin within a word: its first token must not belong to the unit of the special token before it.
    pair[1, [0, 1, first.shape[1] + 1, first.shape[1] + 2, -1]] = True
    return pair
