"""Answers to the test rows -> scores of each run on resampled rows, by the metric that compares the arms.

Most such metrics are functions of sums over rows: the counts of each class, right and predicted spans, moments. A
resample changes how often a row counts, so that its score is that function of weighted sums, and all resamples are one
matrix product. Another metric scores each resample by itself, which tests/comparison/test_scores.py holds the sums
against.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from adaptbert.config.schema.task_types import TARGETS, Target, comparable, parsed
from adaptbert.data import labelled_set, tag_schemes
from adaptbert.data.cleaning import letters
from adaptbert.data.layout import Layout, as_text
from adaptbert.data.task_description import TaskDescription
from adaptbert.statistics.study import Floats, resampled_weights
from adaptbert.tasks.metrics.answer_overlap import agreement_with
from adaptbert.tasks.metrics.scoring import COMPARED_BY, SCORING, right_answers

Weights = NDArray[np.uint8]
"""How often each row is in each resample, (resamples, rows)."""
Scorer = Callable[[Sequence[Any]], Floats]
"""Predicted answers -> the score in each resample."""
Summed = tuple[Callable[[Sequence[Any]], NDArray[Any]], Callable[[Floats], Floats]]
"""Predicted answers -> what is summed over rows, (rows, columns); and the sums of resamples -> their scores."""
ROWS_AT_ONCE = 2**24
"""Numbers in a block of weights that is made to floats at once."""


@dataclass(frozen=True)
class Answer:
    """The answer of one run to one row.

    Attributes:
        gold, predicted: a label (`class`), labels (`labels`), tags (`spans`, `tags`) or a number (`number`); for
            `answer` all right answers, and the predicted one.
        confidence: of the model in its answer, from 0 to 1.
    """

    id: str
    gold: Any
    predicted: Any
    confidence: float


def read_predictions(path: Path, target: Target, seeds: Collection[int]) -> dict[int, list[Answer]]:
    """predictions/<arm of a task>.parquet: each of these seeds -> its answers, in the order of the file."""
    import pyarrow.parquet as pq

    output = TARGETS[target]
    by_seed: dict[int, list[Answer]] = {}
    columns, kept = ["seed", "id", "gold", "predicted", "confidence"], [("seed", "in", seeds)]
    for row in pq.read_table(path, columns=columns, filters=kept).to_pylist():
        gold, predicted = parsed(row["gold"], output.cell), parsed(row["predicted"], output.answer_cell)
        answer = Answer(row["id"], gold, predicted, row["confidence"])
        by_seed.setdefault(row["seed"], []).append(answer)
    return {seed: by_seed[seed] for seed in sorted(by_seed)}


class ResampledRows:
    """The test rows of a task, resampled once for everything that answered them.

    Args:
        data: folder of the labelled set.
        mapped: id of a row -> the group that the user's files give it.
        metric: by which arms are compared, where the task has it.

    Attributes:
        data, task: the folder, and what it says of the task.
        rows: themselves.
        metric: by which arms are compared.
        resampled: scores answers to them.
        groups: how many are drawn: groups, and texts of rows that are in none. Texts that differ in case, punctuation
            and spaces are one, as in the checks of splits: rows may mark the words that they ask about in one sentence.
        are_grouped: whether rows belong together by the user's files or by a text that they share.
    """

    def __init__(self, data: Path, mapped: Mapping[str, str], metric: str | None = None) -> None:
        self.data, self.task = data, TaskDescription.read(data)
        target = self.task.target
        self.metric = metric if metric in comparable(target, self.task.positive) else COMPARED_BY[target]
        self.rows = labelled_set.split(data, "test")
        layout = Layout(self.task.task_type)
        groups = [
            mapped[row["id"]] if row["id"] in mapped else tuple(letters(as_text(row[name])) for name in layout.shared)
            for row in self.rows
        ]
        self.groups = len(set(groups))
        self.are_grouped = bool(mapped) or layout.shared != layout.inputs
        # Tasks with the same rows have the same resamples, so that their scores vary together.
        weights = resampled_weights(groups, seed=crc32(repr(groups).encode()))
        self.resampled: Scorer = scorer(self.task, right_answers(self.rows, self.task.target), weights, self.metric)

    def of_runs(self, predictions: Path, seeds: Collection[int]) -> Floats:
        """The scores of these seeds of an arm in one replicate, (seeds, resamples)."""
        order = {row["id"]: place for place, row in enumerate(self.rows)}
        by_seed = read_predictions(predictions, self.task.target, seeds).values()
        placed = [sorted(answers, key=lambda answer: order[answer.id]) for answers in by_seed]
        return np.array([self.resampled([answer.predicted for answer in answers]) for answers in placed])


def scorer(task: TaskDescription, gold: Sequence[Any], weights: Weights, metric: str) -> Scorer:
    """Scorer of runs that answered the rows of `gold`, in its order."""
    if metric not in (COMPARED_BY[task.target], "accuracy", "precision_span", "recall_span"):
        return one_by_one(task, gold, weights, metric)
    columns, score = _BY_SUMS[metric](task, gold)
    return lambda answers: score(_sums(weights, columns(answers)))


def one_by_one(task: TaskDescription, gold: Sequence[Any], weights: Weights, metric: str) -> Scorer:
    """Scorer by any metric: from the rows of each resample, a row as often as it was drawn."""
    scoring, every = SCORING[task.target], np.arange(len(gold))

    def scores(answers: Sequence[Any]) -> Floats:
        drawn = (np.repeat(every, counts).tolist() for counts in weights)
        of_each = (scoring.score([gold[row] for row in rows], [answers[row] for row in rows], task) for rows in drawn)
        return np.array([scores[metric] for scores in of_each])

    return scores


def _sums(weights: Weights, values: NDArray[Any]) -> Floats:
    """Weighted sums of columns: (resamples, columns).

    Counts are summed in single precision, which holds them exactly up to 16 million rows.
    """
    precision = np.float64 if values.dtype == np.float64 else np.float32
    columns: NDArray[Any] = values.astype(precision)
    step = max(1, ROWS_AT_ONCE // len(columns))
    parts = (weights[start : start + step].astype(precision) for start in range(0, len(weights), step))
    return np.concatenate([np.matmul(part, columns) for part in parts]).astype(np.float64)


def _macro_f1(task: TaskDescription, gold: Sequence[Any]) -> Summed:
    """F1 of each class as a mean over the classes that occur among the right answers of the resample."""
    names = task.spec.output.labels
    classes = {name: column for column, name in enumerate(sorted({name for row in gold for name in names(row)}))}

    def marked(answers: Sequence[Any]) -> NDArray[np.bool_]:
        table = np.zeros((len(answers), len(classes)), np.bool_)
        for place, row in enumerate(answers):
            for name in names(row):
                if name in classes:  # a class that is never right has no F1
                    table[place, classes[name]] = True
        return table

    def scores(sums: Floats) -> Floats:
        support, chosen, hits = np.split(sums, 3, 1)
        f1, occurs = 2 * hits / np.maximum(support + chosen, 1), support > 0
        return np.asarray((f1 * occurs).sum(1) / np.maximum(occurs.sum(1), 1))

    def columns(answers: Sequence[Any]) -> NDArray[np.bool_]:
        predicted = marked(answers)
        return np.hstack([right, predicted, right & predicted])

    right = marked(gold)
    return columns, scores


def _ratio(gold: Sequence[Any], counts: Callable[[Any, Any], tuple[float, int]]) -> Summed:
    """The sum of one count over that of another; `counts`: right answer, predicted answer -> both counts of a row."""
    return (
        lambda answers: np.array([counts(*pair) for pair in zip(gold, answers, strict=True)]),
        lambda sums: np.asarray(sums[:, 0] / np.maximum(sums[:, 1], 1)),
    )


def _spans(share: Callable[[int, int, int], tuple[int, int]], task: TaskDescription, gold: Sequence[Any]) -> Summed:
    """Micro average; `share`: right ones, spans of the gold, spans that were predicted -> both counts of a row."""

    def counts(right: Sequence[str], predicted: Sequence[str]) -> tuple[int, int]:
        own, other = (set(tag_schemes.spans(tags, "bio")) for tags in (right, predicted))
        return share(len(own & other), len(own), len(other))

    return _ratio(gold, counts)


def _decisions(task: TaskDescription, gold: Sequence[Any]) -> Summed:
    """The share of right ones, e.g. of words."""
    decide = SCORING[task.target].pairs
    assert decide is not None, "a target with an accuracy has decisions"

    def counts(right: Any, predicted: Any) -> tuple[int, int]:
        decisions = list(decide(right, predicted))
        return sum(one == other for one, other in decisions), len(decisions)

    return _ratio(gold, counts)


def _answers(task: TaskDescription, gold: Sequence[Sequence[str]]) -> Summed:
    """Mean over questions of the best agreement; of each resample, because groups of questions differ in size."""
    agree = agreement_with(gold)
    return _ratio(gold, lambda right, text: (agree(right, text)[0], 1))


def _numbers(task: TaskDescription, gold: Sequence[float]) -> Summed:
    """Pearson's correlation; 0 where one of the two is constant."""
    right = _standard(gold)

    def columns(answers: Sequence[float]) -> Floats:
        answer = _standard(answers)
        return np.stack([np.ones_like(right), right, answer, right * right, answer * answer, right * answer], 1)

    def scores(sums: Floats) -> Floats:
        n, x, y, xx, yy, xy = sums.T
        of_right, of_answers = xx - x * x / n, yy - y * y / n
        varies = (of_right > CONSTANT) & (of_answers > CONSTANT)
        spread = np.where(varies, of_right * of_answers, 1.0)
        return np.where(varies, (xy - x * y / n) / np.sqrt(spread), 0.0)

    return columns, scores


CONSTANT = 1e-10
"""Sum of squares, of values with a variance of 1, below which they are constant but for the arithmetic."""


def _standard(values: Sequence[float]) -> Floats:
    """Values with mean 0 and variance 1, the same for the correlation: sums of large numbers lose digits."""
    numbers = np.array(values, np.float64)
    sd = numbers.std()
    return np.asarray((numbers - numbers.mean()) / sd) if sd > 0 else np.zeros_like(numbers)


_BY_SUMS: Mapping[str, Callable[[TaskDescription, Sequence[Any]], Summed]] = {
    "f1_macro": _macro_f1,
    "accuracy": _decisions,
    "f1_span": partial(_spans, lambda right, gold, predicted: (2 * right, gold + predicted)),
    "precision_span": partial(_spans, lambda right, gold, predicted: (right, predicted)),
    "recall_span": partial(_spans, lambda right, gold, predicted: (right, gold)),
    "f1_answer": _answers,
    "pearson": _numbers,
}
"""A task and the right answers to its rows -> what makes each of these metrics of sums."""
