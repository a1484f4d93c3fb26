"""The best span of each row over all its windows, and the threshold for giving no answer.

Devlin et al. 2019, sections 4.2 and 4.3: a span counts by the sum of its two scores, and no answer is the span from
[CLS] to [CLS].
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adaptbert.tasks.examples import Examples

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]


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
    """Of each row: the best span over its windows, and the lowest score of no answer."""
    of_rows = [BestSpan()] * rows
    ends = np.cumsum(examples.counts)
    for row, begin, end in zip(examples.rows, ends - examples.counts, ends, strict=True):
        of_window, so_far = _of_window(examples.spans[begin:end], logits[begin:end], max_answer), of_rows[row]
        best = of_window if of_window.score > so_far.score else so_far
        none = of_window if of_window.none < so_far.none else so_far
        of_rows[row] = BestSpan(best.span, best.score, none.none, best.sure, none.sure_none)
    return of_rows


def _of_window(spans: Int64, logits: Float64, max_answer: int) -> BestSpan:
    """Of one window; only [CLS], its first token, and the tokens of the context count."""
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
