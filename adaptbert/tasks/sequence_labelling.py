"""Sequence labelling (NER, chunks, POS): one tag a word, a linear layer on the first piece of each word.

Rows longer than the model reads are split into windows; each word is trained and answered once, in the window in which
it has most context, and the tags of a row are decoded as one sequence.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adaptbert import tag_schemes
from adaptbert.metrics import span_metrics, tag_metrics
from adaptbert.params import Config, contradiction
from adaptbert.tasks.examples import Batch, Examples, gather
from adaptbert.tasks.labelled import COMPARED_BY
from adaptbert.tasks.targets import cross_entropy, named, softmax
from adaptbert.tasks.windows import owners, word_windows
from adaptbert.tokenization import Tokenizer
from adaptbert.viterbi import Rules, viterbi

if TYPE_CHECKING:
    from torch import Tensor

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
OUTSIDE = "O"
STORED: tag_schemes.Scheme = "bio"
"""How the gate writes spans, whatever they are trained as."""
COMMONEST = "commonest_tag"
PREFIXES = {"io": "I", "bio": "BI", "iobes": "BIES"}


class SequenceLabellingConfig(Config):
    """How words are read and tagged."""

    stride: Annotated[int, Field(gt=0)]
    """Tokens by which a window begins after the one before it, in a row longer than `max_length`."""
    tag_scheme: Literal["io", "bio", "iobes"] | None = None
    """How spans are trained and decoded; for the target `spans`. `io` joins spans of one type that touch."""

    def check_room(self, max_length: int) -> None:
        """Refuse windows that would leave out tokens."""
        if self.stride > max_length - 2:
            raise contradiction(f"stride {self.stride} leaves out tokens: max_length {max_length} holds two less")


class SequenceLabelling:
    """Spans of some types, or a tag for every word.

    Args:
        about: `target` and `labels` of the task: types of spans, or tags.
        options: of this shape; with a `tag_scheme` for spans.
    """

    def __init__(self, about: Mapping[str, Any], options: SequenceLabellingConfig) -> None:
        target, labels = about["target"], list(about["labels"])
        self.metric = COMPARED_BY[target]
        self._scheme, self._stride = options.tag_scheme, options.stride
        if self._scheme is None:
            self.classes, self._rules = labels, None
        else:
            self.classes = [OUTSIDE, *(f"{prefix}-{label}" for label in labels for prefix in PREFIXES[self._scheme])]
            self._rules = rules(self.classes, self._scheme)
        self._number = {tag: number for number, tag in enumerate(self.classes)}

    def hugging_face_class(self) -> Any:
        from transformers import BertForTokenClassification

        return BertForTokenClassification

    def config(self) -> dict[str, Any]:
        return named(self.classes)

    def examples(self, rows: Sequence[Mapping[str, Any]], tokenizer: Tokenizer, max_length: int) -> Examples:
        """Words without a piece have no place."""
        room = max_length - 2
        ids, places, spans, numbers = [], [], [], []
        for number, encoding in enumerate(tokenizer.encode_words([row["tokens"] for row in rows])):
            words = [word for word in encoding.word_ids if word is not None]  # None: of a special token
            firsts = [i for i, word in enumerate(words) if i == 0 or word != words[i - 1]]
            for (begin, end), own in self._windows(firsts, len(words), room):
                ids.append([tokenizer.cls, *encoding.ids[begin:end], tokenizer.sep])
                places.append([1 + i - begin for i in own])
                spans.append([(words[i], words[i] + 1) for i in own])
                numbers.append(number)
        return gather(ids, places, spans, numbers, cut=0)

    def _windows(self, firsts: list[int], length: int, room: int) -> list[tuple[tuple[int, int], list[int]]]:
        """Windows of a row of `length` pieces, and the first pieces of those words that each one answers."""
        if length <= room:
            return [((0, length), firsts)]
        found = word_windows(firsts, length, room, self._stride)
        own: list[list[int]] = [[] for _ in found]
        for first, window in zip(firsts, owners(firsts, found), strict=True):
            own[window].append(first)
        return list(zip(found, own, strict=True))

    def targets(self, rows: Sequence[Mapping[str, Any]], examples: Examples) -> NDArray[Any]:
        """Numbers of the tags, (places,)."""
        numbers = [[self._number[tag] for tag in self._trained(row["tags"])] for row in rows]
        place = zip(examples.rows[examples.owners()], examples.spans[:, 0], strict=True)
        return np.array([numbers[row][word] for row, word in place], np.int64)

    def _trained(self, tags: Sequence[str]) -> Sequence[str]:
        if self._scheme in (None, STORED):
            return tags
        return tag_schemes.tags(tag_schemes.spans(tags, STORED), len(tags), self._scheme)

    def logits(self, model: Any, hidden: "Tensor") -> "Tensor":
        scores: Tensor = model.classifier(model.dropout(hidden))
        return scores

    # Another decoder, a CRF say, is another `loss` and another `_decoded`: `batch.owners` tells the sequences apart.
    def loss(self, logits: "Tensor", batch: Batch) -> "Tensor":
        return cross_entropy(logits, batch.targets)

    def settle(self, model: Any) -> "SequenceLabelling":
        return self

    def tune(self, rows: Sequence[Mapping[str, Any]], examples: Examples, logits: Float64) -> dict[str, float]:
        """The number of the commonest tag, for a word without a piece; spans need none, it is outside of them."""
        if self._rules is not None:
            return {}
        counts = Counter(tag for row in rows for tag in row["tags"])
        return {COMMONEST: float(self._number[min(counts, key=lambda tag: (-counts[tag], tag))])}

    def answers(
        self, rows: Sequence[Mapping[str, Any]], examples: Examples, logits: Float64, tuned: Mapping[str, float]
    ) -> tuple[list[list[str]], Float64]:
        """The tags of each row, spans in BIO, and the probability of its least sure tag."""
        ends = np.cumsum([len(row["tokens"]) for row in rows])
        known = (ends - [len(row["tokens"]) for row in rows])[examples.rows[examples.owners()]] + examples.spans[:, 0]
        unseen = 0 if self._rules is not None else int(tuned[COMMONEST])
        scores = np.full((int(ends[-1]), len(self.classes)), -np.inf)
        scores[:, unseen] = 0
        scores[known] = logits
        probabilities = softmax(scores)
        answers, confidence = [], np.ones(len(rows))
        for number, words in enumerate(np.split(np.arange(len(scores)), ends[:-1])):
            best = self._decoded(scores[words])
            tags = [self.classes[tag] for tag in best]
            confidence[number] = probabilities[words, best].min(initial=1.0)
            answers.append(tags if self._scheme is None else self._stored(tags, self._scheme))
        return answers, confidence

    def _decoded(self, scores: Float64) -> Int64:
        """The best sequence of tags; a row whose best tags are legal as they are needs no search."""
        best = scores.argmax(-1)
        return best if self._rules is None or self._rules.allow(best) else viterbi(scores, self._rules)

    @staticmethod
    def _stored(tags: list[str], scheme: tag_schemes.Scheme) -> list[str]:
        return tags if scheme == STORED else tag_schemes.tags(tag_schemes.spans(tags, scheme), len(tags), STORED)

    def gold(self, rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
        return [list(row["tags"]) for row in rows]

    def score(self, gold: Sequence[Sequence[str]], answers: Sequence[Sequence[str]]) -> dict[str, float]:
        return tag_metrics(gold, answers) if self._scheme is None else span_metrics(gold, answers)

    def is_degenerate(self, answers: Sequence[Sequence[str]]) -> bool:
        """Whether every word gets the same tag."""
        return len({tag for tags in answers for tag in tags}) < 2


def rules(classes: Sequence[str], scheme: tag_schemes.Scheme) -> Rules:
    """Which tag may follow which, begin a row and end it: as rows that fit the scheme do."""

    def may(before: str | None, after: str | None) -> bool:
        """Whether some row has these neighbours; None is its edge."""
        opened = [[], [f"B-{before[2:]}"]] if before else [[]]
        closed = [[], [f"E-{after[2:]}"]] if after and scheme == "iobes" else [[]]
        middle = [tag for tag in (before, after) if tag]
        return any(tag_schemes.fits([*left, *middle, *right], scheme) for left in opened for right in closed)

    def scores(allowed: Sequence[Any]) -> Float64:
        return np.where(np.array(allowed, bool), 0.0, -np.inf)

    return Rules(
        scores([[may(before, after) for after in classes] for before in classes]),
        scores([may(None, tag) for tag in classes]),
        scores([may(tag, None) for tag in classes]),
    )
