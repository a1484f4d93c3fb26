"""Which runs of an arm failed: ended at the constant answer, or far below the other seeds.

Fine-tuning now and then learns nothing, and as well as ever with another seed: Dodge et al. (2020), "Fine-Tuning
Pretrained Language Models: Weight Initializations, Data Orders, and Early Stopping"; Mosbach et al. (2021), "On the
Stability of Fine-tuning BERT". Among runs that learned, such a one hides every difference. Only the dev split decides,
so that nothing is chosen by the scores that are reported.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptbert.config.schema.task_types import TARGETS
from adaptbert.tasks.head import TaskHead
from adaptbert.tasks.metrics.scoring import most_frequent

FAR = 5.0
"""Times the scatter of the seeds below their median that a run which learned something almost never is."""
LEAST_SCATTER = 0.03
"""The scatter is never taken to be smaller: two or three runs may lie close together by chance."""


def failed(dev: ArrayLike, constant: ArrayLike, score: float, rows: int) -> NDArray[np.bool_]:
    """Whether each seed failed.

    One that answers with a constant did. Another did if it is nearer to the score of the constant answer than to the
    median of the seeds, and more than `FAR` times their scatter below that median. The scatter is the median distance
    from the median, which a few failed runs hardly change, but at least `LEAST_SCATTER` and the standard error that a
    share of so many rows may have. Of two seeds no one knows which is the usual one.

    Args:
        dev: scores on the dev split, (..., seeds).
        constant: whether a seed answers every row alike, of the same shape.
        score: of the constant answer on the dev split.
        rows: of the dev split.
    """
    scores = np.asarray(dev, np.float64)
    median = np.median(scores, -1, keepdims=True)
    below = median - scores
    scatter = np.median(np.abs(below), -1, keepdims=True)
    far = below > FAR * np.maximum(scatter, max(LEAST_SCATTER, 0.5 / math.sqrt(rows)))
    return np.asarray(constant, np.bool_) | (far & (scores < (score + median) / 2))


def constant_score(head: TaskHead, train: Sequence[Any], dev: Sequence[Any]) -> float:
    """The score on the dev rows of the answer that most training rows have; of questions, that there is none."""
    gold, right = head.gold(dev), head.gold(train)
    if TARGETS[head.target].classes == "word":
        tag = most_frequent(list(chain.from_iterable(right)))
        answers: Iterable[Any] = ([tag] * len(tags) for tags in gold)
    else:
        answers = ["" if head.target == "answer" else most_frequent(right)] * len(gold)
    return head.score(gold, list(answers))[head.metric]
