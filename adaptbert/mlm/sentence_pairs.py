"""Sentence pairs: documents cut in two between words, for a sentence objective on [CLS] beside masking.

Flat documents [CLS] a b [SEP] in; [CLS] a [SEP] b [SEP] with segment ids and labels out. Cut, partner and label are
functions of (seed, pass, document), as masks are. A document too short to be cut is unchanged and has no label.

The objective is `NextSentenceHead` (Devlin et al. 2019, section 3.1, task 2) or `SentenceOrderHead` (Lan et al. 2020,
section 3.1). Both use BERT's pooler and the `seq_relationship` head of BertForPreTraining.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from adaptbert.codes import Code
from adaptbert.core.counter_rng import mix, uniforms
from adaptbert.core.seeds import seed_of
from adaptbert.errors import BadData
from adaptbert.text.token_store import Documents, Flat

if TYPE_CHECKING:
    from torch import Tensor

SHORTEST = 8  # tokens of a document that is cut, [CLS] and [SEP] included
ENOUGH = 0.01  # least share of such documents in a corpus
NEIGHBOURS = 1_000  # documents of about the same length among which a partner is drawn

Int64 = NDArray[np.int64]
SentenceObjective = Literal["none", "nsp", "sop"]


class NextSentenceHead:
    """Does the second segment follow the first (0), or does it come from another document (1)?"""

    reads_others = True

    def arrange(
        self, first: "_Segment", second: "_Segment", foreign: "_Segment | None"
    ) -> tuple["_Segment", "_Segment"]:
        """The two segments under label 1; `foreign` is the other document."""
        assert foreign is not None
        return first, _ending(foreign, len(second))


class SentenceOrderHead:
    """Do the two segments stand in their order (0), or are they swapped (1)?"""

    reads_others = False

    def arrange(
        self, first: "_Segment", second: "_Segment", foreign: "_Segment | None"
    ) -> tuple["_Segment", "_Segment"]:
        """The two segments under label 1; there is no other document."""
        return second, first


Head = NextSentenceHead | SentenceOrderHead


def head_of(objective: SentenceObjective) -> Head | None:
    """The objective with this name in params.yaml."""
    heads: dict[str, Head | None] = {"none": None, "nsp": NextSentenceHead(), "sop": SentenceOrderHead()}
    return heads[objective]


def answers(model: Any, first: "Tensor") -> "Tensor":
    """Scores of the labels 0 and 1, (pairs, 2).

    Args:
        model: a BertForPreTraining.
        first: last hidden states of [CLS], (pairs, hidden).
    """
    scores: Tensor = model.cls.seq_relationship(model.bert.pooler(first[:, None]))
    return scores


@dataclass(frozen=True)
class PairLabels:
    """The pairs of a batch, for the encoder and the head.

    Attributes:
        segments: 0 or 1, (tokens,).
        first: the [CLS] of each pair, (pairs,).
        labels: 0 or 1, (pairs,).
    """

    segments: "Tensor"
    first: "Tensor"
    labels: "Tensor"


@dataclass(frozen=True)
class _Segment:
    """Tokens of a document, (tokens,) each."""

    ids: Int64
    word_starts: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, span: slice) -> "_Segment":
        return _Segment(self.ids[span], self.word_starts[span])


def can_pair(lengths: Int64) -> bool:
    """Whether documents of so many tokens, (documents,), give enough pairs for training or evaluation."""
    count = int((lengths >= SHORTEST).sum())
    return count >= max(2, ENOUGH * len(lengths))


class SentencePairs:
    """Builds pairs from the documents of a corpus.

    Args:
        documents: of the corpus.
        head: the objective.
        seed: of cuts, partners and labels.
        longest: most tokens of a pair; a document of that length loses its last token to the [SEP] in the middle.

    Attributes:
        lengths: tokens of each document after pairing, (documents,).

    Raises:
        BadData: too few documents are long enough.
    """

    def __init__(self, documents: Documents, head: Head, seed: int, longest: int) -> None:
        self._documents, self._head, self._longest = documents, head, longest
        self._arguments = (documents, head, seed, longest)
        self._seed = np.uint64(seed_of(seed, "pairs"))
        can_cut = documents.lengths >= SHORTEST
        count = int(can_cut.sum())
        if not can_pair(documents.lengths):
            problem = f"{count:,} of {len(can_cut):,} documents have {SHORTEST} tokens, so that they can be cut in two"
            remedy = "set sentence_objective: none for texts of one sentence"
            raise BadData(Code.NO_SENTENCE_PAIRS, "sentence_objective", problem, remedy)
        self.lengths = np.where(can_cut, np.minimum(documents.lengths + 1, longest), documents.lengths)
        # Partners are neighbours by length: otherwise the length of the second segment would predict the label.
        # Documents of one length are shuffled, because neighbours in the corpus are often chunks of one text.
        shuffled = np.random.Generator(np.random.Philox(seed_of(seed, "partners"))).permutation(np.flatnonzero(can_cut))
        self._by_length = shuffled[np.argsort(documents.lengths[shuffled], kind="stable")]
        self._rank = np.zeros(len(can_cut), np.int64)
        self._rank[self._by_length] = np.arange(count)

    def __reduce__(self) -> tuple[Any, ...]:
        """For the processes of other devices: they build the same pairs."""
        return SentencePairs, self._arguments

    def read(self, documents: Int64, passes: Int64) -> tuple[Flat, Int64, Int64]:
        """Some documents as pairs, in the requested order.

        Args:
            documents: (documents,).
            passes: the pass in which each one is read, (documents,).

        Returns:
            The documents, the segment of each token, (tokens,), and the label of each document, -1 for none,
            (documents,).
        """
        with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is intended
            key = mix(mix(self._seed + documents.astype(np.uint64)) + passes.astype(np.uint64))
        places, kinds, others = (uniforms(key, np.array(draw, np.uint64)) for draw in range(3))
        wholes = _split(self._documents.read(documents))
        cuts = [self._cut(whole, place) for whole, place in zip(wholes, places, strict=True)]
        labels = np.where(np.array(cuts) > 0, kinds < 0.5, -1).astype(np.int64)
        foreign = self._foreign(documents, others, labels) if self._head.reads_others else {}

        read, segments = [], []
        for number, (whole, cut) in enumerate(zip(wholes, cuts, strict=True)):
            if cut == 0:
                read.append(whole)
                segments.append(np.zeros(len(whole), np.int64))
                continue
            content = self._content(whole)
            first, second = content[:cut], content[cut:]
            if labels[number] == 1:
                first, second = self._head.arrange(first, second, foreign.get(number))
            read.append(_pair(whole, first, second))
            segments.append(np.repeat([0, 1], [len(first) + 2, len(second) + 1]))
        paired = Flat(
            np.concatenate([document.ids for document in read]),
            np.concatenate([document.word_starts for document in read]),
            np.array([len(document) for document in read]),
        )
        return paired, np.concatenate(segments), labels

    def _foreign(self, documents: Int64, draws: NDArray[np.float64], labels: Int64) -> dict[int, _Segment]:
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

    def _content(self, whole: _Segment) -> _Segment:
        """The tokens between [CLS] and [SEP], cut where another [SEP] would not fit."""
        return whole[1 : min(len(whole) - 1, self._longest - 2)]

    def _cut(self, whole: _Segment, place: float) -> int:
        """The index of the second segment in the content: a word start in its middle half; 0 for no cut, if there is no
        such word start or the document is too short."""
        content = self._content(whole)
        if len(whole) < SHORTEST:
            return 0
        margin = len(content) // 4  # at least 1, as SHORTEST is 8: a cut is never 0, and no segment is empty
        word_starts = np.flatnonzero(content.word_starts[margin : len(content) - margin + 1]) + margin
        return int(word_starts[int(place * len(word_starts))]) if len(word_starts) else 0


def _split(flat: Flat) -> list[_Segment]:
    ends = np.cumsum(flat.lengths)
    return [
        _Segment(flat.ids[end - length : end], flat.word_starts[end - length : end])
        for end, length in zip(ends.tolist(), flat.lengths.tolist(), strict=True)
    ]


def _ending(content: _Segment, length: int) -> _Segment:
    """The end of a document from a word start on: at most `length` tokens, unless no word starts there."""
    earliest = max(1, len(content) - length)
    begins = np.flatnonzero(content.word_starts[earliest:])  # none: one long word, which is then cut
    return content[earliest + (int(begins[0]) if len(begins) else 0) :]


def _pair(whole: _Segment, first: _Segment, second: _Segment) -> _Segment:
    """[CLS] first [SEP] second [SEP]; no word extends across a separator."""
    cls, sep = whole.ids[:1], whole.ids[-1:]
    starts = [np.ones(1, np.bool_), first.word_starts, np.ones(1, np.bool_), second.word_starts, np.ones(1, np.bool_)]
    word_starts = np.concatenate(starts)
    # A segment may begin within a word: its first token must not belong to the unit of the special token before it.
    word_starts[[1, len(first) + 2]] = True
    return _Segment(np.concatenate([cls, first.ids, sep, second.ids, sep]), word_starts)
