"""Question answering: a question and its context in windows, a start and an end, or no answer.

Devlin et al. 2019, sections 4.2 and 4.3: a span counts by the sum of its two scores, and no answer is the span of
the first token, a special one. Answers are character ranges of the original context.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from adaptbert.config.schema.task_types import AnswerOptions
from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks.batches import LabelledBatch
from adaptbert.tasks.examples import Examples, Float64, Int64, Row, gather, windows
from adaptbert.tasks.head import Decoded, TaskHead
from adaptbert.tasks.metrics.answer_overlap import agreement_with
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.words import trimmed

THRESHOLD = "no_answer_threshold"
CUT = 2**62
"""The place of an answer's start and end in a window that does not contain all of it."""


class QuestionAnswering(TaskHead):
    """A part of the context, or no answer where a set has questions without one (`no_answer` of the task)."""

    head = "spans"
    skips_padding = False

    def __init__(self, task: TaskDescription, options: AnswerOptions) -> None:
        super().__init__(task)
        self._options, self._may_be_none = options, bool(task.no_answer)

    def config(self) -> dict[str, Any]:
        return {"num_labels": 2}

    def _encode(self, rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Examples:
        """Each context is tokenised once, although several questions may share it."""
        questions, contexts = tokenizer.encode([row["question"] for row in rows]), _contexts(rows, tokenizer)
        ids, spans, segments, owners, cut = [], [], [], [], 0
        space, after = max_length - tokenizer.extra(2), len(tokenizer.two.after)
        most = min(self._options.max_question, space - 1)
        for number, (row, question) in enumerate(zip(rows, questions, strict=True)):
            cut += len(question.ids) > most
            question_ids = question.ids[:most]
            tokens, characters = contexts[row["context"]]
            room = space - len(question_ids)
            for begin, end in windows(len(tokens), room, self._options.stride):
                window, of_window = tokenizer.pair(question_ids, tokens[begin:end])
                ids.append(window)
                spans.append(np.pad(characters[begin:end], ((len(window) - after - (end - begin), after), (0, 0))))
                segments.append(of_window)
                owners.append(number)
        # Every token is a place, special tokens and question too: the softmax of the loss is over the whole window.
        places = [np.arange(len(window)) for window in ids]
        return gather(ids, places, spans, owners, cut, segments if tokenizer.has_segments else None)

    def targets(self, rows: Sequence[Row], examples: Examples) -> NDArray[Any]:
        """1 where the first answer of a row starts and ends; both at the first token in a window that lacks some of it.

        Where every question has an answer, the windows of a row have no targets if none of them contains its answer:
        the first token as target would train the model to give no answer.

        Returns:
            (places, 2).
        """
        starts, ends = borders([character_range(row["answers"]) for row in rows], examples)
        contains, start_of_text = starts < CUT, np.cumsum(examples.counts) - examples.counts
        targets = np.zeros((len(examples.places), 2), np.float32)
        targets[np.where(contains, starts, start_of_text), 0] = 1
        targets[np.where(contains, ends, start_of_text), 1] = 1
        if not self._may_be_none:
            known = np.bincount(examples.rows[contains], minlength=len(rows)) > 0
            targets[~known[examples.rows[examples.owners()]]] = 0
        return targets

    def unanswerable(self, rows: Sequence[Row], examples: Examples) -> dict[str, int]:
        """Counts of rows with an answer: `answers_cut_away`, where no window contains one, and `answers_too_long`,
        where all contained ones have more than `max_answer` tokens.
        """
        whole, short = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
        # A row may have several right answers; any of them will do. Pass `number` tests the answer at that index.
        for number in range(max((len(row["answers"]) for row in rows), default=0)):
            starts, ends = borders([character_range(row["answers"][number:]) for row in rows], examples)
            whole[examples.rows[starts < CUT]] = True
            short[examples.rows[(starts < CUT) & (ends - starts < self._options.max_answer)]] = True
        answerable = np.array([bool(row["answers"]) for row in rows], np.bool_)
        return {
            "answers_cut_away": int((answerable & ~whole).sum()),
            "answers_too_long": int((whole & ~short).sum()),
        }

    def loss(self, logits: Tensor, batch: LabelledBatch) -> Tensor:
        """Mean cross-entropy of start and end over all tokens of a window; a window without targets adds 0."""
        scores = logits.float()
        right = (scores * batch.targets).sum()
        target_counts = scores.new_zeros((batch.size, 2)).index_add(0, batch.owners, batch.targets)
        # Cross-entropy is log-sum-exp minus the score of the target. `target_counts` is 0 for a window without targets,
        # whose log-sum-exp must not be lowered.
        total = (_log_sums(scores, batch.owners, batch.size) * target_counts).sum() - right
        return batch.mean(total, "examples", 2)

    def check_tuned(self, tuned: Mapping[str, float]) -> None:
        if self._may_be_none and THRESHOLD not in tuned:
            raise KeyError(THRESHOLD)

    def tune(self, rows: Sequence[Row], examples: Examples, logits: Float64) -> dict[str, float]:
        """The threshold on (score of no answer - score of the best span) with the highest mean F1 on these rows."""
        if not self._may_be_none:
            return {}
        spans = best_spans(examples, logits, len(rows), self._options.max_answer)
        margin = np.array([best.none - best.score for best in spans])
        texts = [_answer_text(row, best) for row, best in zip(rows, spans, strict=True)]
        agree = agreement_with(gold := self.gold(rows))
        answered = [agree(*pair)[0] for pair in zip(gold, texts, strict=True)]
        silent = [agree(rights, "")[0] for rights in gold]
        return {THRESHOLD: best_threshold(margin, np.array(answered), np.array(silent))}

    def decode(self, rows: Sequence[Row], examples: Examples, logits: Float64, tuned: Mapping[str, float]) -> Decoded:
        """The best span as in the context, or an empty text; and the probability of its start times that of its end.

        Details are `start` and `end`, first and last + 1 character in the context, None where there is no answer; and
        `no_answer_score`, the score of no answer minus that of the best span, None where the context has no span.
        """
        spans = best_spans(examples, logits, len(rows), self._options.max_answer)
        threshold = tuned[THRESHOLD] if self._may_be_none else np.inf
        margins = [best.none - best.score for best in spans]
        silent = [margin > threshold for margin in margins]

        def details() -> list[dict[str, Any]]:
            borders = [(None, None) if no else best.span for best, no in zip(spans, silent, strict=True)]
            return [
                {"start": start, "end": end, "no_answer_score": margin if np.isfinite(margin) else None}
                for (start, end), margin in zip(borders, margins, strict=True)
            ]

        texts = ["" if no else _answer_text(row, best) for row, best, no in zip(rows, spans, silent, strict=True)]
        sure = [best.sure_none if no else best.sure for best, no in zip(spans, silent, strict=True)]
        return Decoded(texts, np.array(sure), details)


def _contexts(rows: Sequence[Row], tokenizer: Tokenizer) -> dict[str, tuple[list[int], Int64]]:
    """The subword tokens of each context, (tokens,), and their character ranges, (tokens, 2)."""
    texts = list(dict.fromkeys(row["context"] for row in rows))
    contexts = {}
    for text, encoding in zip(texts, tokenizer.encode(texts), strict=True):
        characters = np.array(whole_characters(text, encoding.offsets), np.int64).reshape(-1, 2)
        contexts[text] = (encoding.ids, characters)
    return contexts


def whole_characters(context: str, offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The characters of each token, without white space at either end, and including combining marks after its last
    one, which a tokenizer may have dropped."""
    ranges, spans = trimmed(context, offsets), []
    if context.isascii():
        return ranges
    for (begin, end), (limit, _) in pairwise([*ranges, (len(context), 0)]):
        while end < limit and unicodedata.category(context[end]).startswith("M"):
            end += 1
        spans.append((begin, end))
    return spans


def borders(answers: Sequence[tuple[int, int]], examples: Examples) -> tuple[Int64, Int64]:
    """The places where the answer of its row starts and ends in each window, (windows,); CUT where some of it is cut.

    Args:
        answers: the characters of one answer of each row; see `character_range`.
    """
    owners = examples.owners()
    row = examples.rows[owners]
    first, last = np.array(answers, np.int64).reshape(-1, 2)[row].T
    begin, end = examples.spans.T
    # Places whose characters overlap the answer. The last condition excludes the empty spans of special tokens and the
    # question.
    inside = np.flatnonzero((begin < last) & (end > first) & (end > begin))
    # The answer's first and last subword token in the whole context, by characters: a window must contain both.
    low, high = np.full(len(answers), CUT), np.full(len(answers), -1)
    np.minimum.at(low, row[inside], begin[inside])
    np.maximum.at(high, row[inside], end[inside])
    starts, ends = np.full(len(examples), CUT), np.full(len(examples), -1)
    beginning = inside[begin[inside] == low[row[inside]]]
    ending = inside[end[inside] == high[row[inside]]]
    # Several tokens may stand for the same characters: the answer starts at the first and ends at the last of them.
    np.minimum.at(starts, owners[beginning], beginning)
    np.maximum.at(ends, owners[ending], ending)
    cut = (starts == CUT) | (ends < 0)
    return np.where(cut, CUT, starts), np.where(cut, CUT, ends)


def character_range(answers: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """First character and last + 1 of the first answer; an empty range if there is none."""
    if not answers:
        return CUT, -1
    return answers[0]["start"], answers[0]["start"] + len(answers[0]["text"])


def _answer_text(row: Row, best: "BestSpan") -> str:
    text: str = row["context"][slice(*best.span)]
    return text


def _log_sums(scores: Tensor, owners: Tensor, size: int) -> Tensor:
    """log(sum(exp)) over the places of each window, (windows, 2)."""
    index = owners[:, None].expand_as(scores)
    # Subtracting the maximum avoids overflow; it is detached, as it cancels out of the gradient.
    top = scores.new_full((size, scores.shape[1]), -np.inf).scatter_reduce(0, index, scores.detach(), "amax")
    sums = scores.new_zeros(top.shape).index_add(0, owners, (scores - top[owners]).exp())
    return top + sums.log()


@dataclass(frozen=True)
class BestSpan:
    """The best span of a window or row, and the scores of no answer.

    Attributes:
        span: characters of the context, first and last + 1.
        score, none: sums of the start's and the end's score.
        sure, sure_none: products of their probabilities.
    """

    span: tuple[int, int] = (0, 0)
    score: float = -np.inf
    none: float = np.inf
    sure: float = 0.0
    sure_none: float = 1.0


def best_spans(examples: Examples, logits: Float64, rows: int, max_answer: int) -> list[BestSpan]:
    """For each row: the best span over its windows, and the lowest score of no answer."""
    of_rows = [BestSpan()] * rows
    ends = np.cumsum(examples.counts)
    for row, begin, end in zip(examples.rows, ends - examples.counts, ends, strict=True):
        of_window, so_far = _of_window(examples.spans[begin:end], logits[begin:end], max_answer), of_rows[row]
        best = of_window if of_window.score > so_far.score else so_far
        none = of_window if of_window.none < so_far.none else so_far
        of_rows[row] = BestSpan(best.span, best.score, none.none, best.sure, none.sure_none)
    return of_rows


def _of_window(spans: Int64, logits: Float64, max_answer: int) -> BestSpan:
    """Best span of one window; only its first token and those of the context count."""
    inside = np.flatnonzero(spans[:, 1] > spans[:, 0])
    legal = logits[np.concatenate([[0], inside])]
    logs = legal - np.logaddexp.reduce(legal, 0)
    none, sure_none = float(legal[0].sum()), float(np.exp(logs[0].sum()))
    if len(inside) == 0:
        return BestSpan(none=none, sure_none=sure_none)
    starts, ends = legal[1:, 0], legal[1:, 1]
    before = np.concatenate([np.full(max_answer - 1, -np.inf), starts])
    reach = np.lib.stride_tricks.sliding_window_view(before, max_answer)  # for each end the allowed starts
    sums = reach.max(1) + ends
    last = int(sums.argmax())
    first = last - (max_answer - 1) + int(reach[last].argmax())
    span = (int(spans[inside[first], 0]), int(spans[inside[last], 1]))
    sure = float(np.exp(logs[1 + first, 0] + logs[1 + last, 1]))
    return BestSpan(span, float(sums[last]), none, sure, sure_none)


def best_threshold(margin: Float64, answered: Float64, silent: Float64) -> float:
    """The threshold with the highest mean score if rows with a margin above it get no answer.

    Args:
        margin: of each row, (rows,); infinite where there is nothing to answer.
        answered, silent: the score of a row with its answer and without, (rows,).

    Returns:
        Half-way between two margins, or 1 beyond the last; of equally good ones the lowest.
    """
    order = np.argsort(margin, kind="stable")
    order = order[np.isfinite(margin[order])]
    if len(order) == 0:
        return 0.0
    values = margin[order]
    gain = np.concatenate([[0.0], np.cumsum((answered - silent)[order])])
    cuts = np.concatenate([[values[0] - 1], (values[1:] + values[:-1]) / 2, [values[-1] + 1]])
    distinct = np.concatenate([[True], values[1:] > values[:-1], [True]])
    return float(cuts[distinct][gain[distinct].argmax()])
