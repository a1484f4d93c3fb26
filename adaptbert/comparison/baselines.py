"""Baselines without an encoder: most frequent answers, and linear models on terms.

Labelled rows (as in data/validated/tasks) -> scores on the test rows, by the same metrics as the arms and from the
same training rows. The dev rows choose the strength of regularisation. An arm that scores below a baseline
does not justify its training.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.comparison.scores import ResampledRows
from adaptbert.config.schema.task_types import TARGETS, ByTarget
from adaptbert.core.files import atomic_write
from adaptbert.data import labelled_set as labelled
from adaptbert.data import tag_schemes
from adaptbert.data.layout import Layout
from adaptbert.data.task_description import TaskDescription
from adaptbert.linear.fitting import FITS
from adaptbert.linear.model import LinearModel, Rows, Terms, decoded
from adaptbert.tasks.metrics import answer_overlap as answer_text
from adaptbert.tasks.metrics.scoring import COMPARED_BY, SCORING, most_frequent, right_answers

Answers = Callable[[Rows], list[Any]]
"""Rows -> an answer for each."""
STRENGTHS = (1.0, 10.0, 100.0)
"""Inverse regularisation of the linear models, chosen on dev: the library's own 1.0 costs up to ten points."""
PROBE_STRENGTH = 0.1
"""The same of a probe for all bases: a choice for each would be a search, and a probe is to be weak."""
MOST_CHARACTERS, MOST_WORDS = 10_000_000, 100_000
"""Limits of what a linear model is fitted on, for texts and for tagged words: some two minutes for all strengths."""


@dataclass(frozen=True)
class BaselineRuns:
    """One baseline of a task.

    Attributes:
        scores: seed -> score on test; the same for all seeds where they have the same labels.
        resampled: its score on resampled test rows, the mean over those that differ.
        rows: that it was fitted on.
    """

    scores: Mapping[int, float]
    resampled: NDArray[np.float64]
    rows: int


@cache
def baselines_of(test: ResampledRows, labels: int, seeds: tuple[int, ...], seed: int) -> dict[str, BaselineRuns]:
    """All baselines by name, each fitted on the labelled subsets of these seeds; once for all bases of a task.

    A model that cannot be fitted to a subset counts there as the most frequent answer.

    Args:
        labels: rows of a subset.
        seeds: of the arms.
        seed: of the linear models.
    """
    task, drawn = test.task, seeds if labels < test.task.rows["train"] else ()
    fitted = [_fitted(test.data, labels, each, seed) for each in drawn] or [_fitted(test.data, 0, 0, seed)]
    fewest = min(rows for _, rows in fitted)
    answered = [{name: model(test.rows) for name, model in own.items()} for own, _ in fitted]
    baselines = {}
    for name in dict.fromkeys(name for answers in answered for name in answers):
        # Where a subset has one class only, a model of it would answer what the first baseline does.
        answers = [own.get(name, next(iter(own.values()))) for own in answered]
        scores = [_score(task, test.rows, own, test.metric) for own in answers]
        by_seed = dict(zip(seeds, scores * (len(seeds) // len(scores)), strict=True))
        resampled = np.mean([test.resampled(own) for own in answers], 0)
        baselines[name] = BaselineRuns(by_seed, resampled, fewest)
    return baselines


def _score(task: TaskDescription, rows: Rows, answers: list[Any], metric: str) -> float:
    gold = right_answers(rows, task.target)
    return SCORING[task.target].score(gold, answers, task)[metric]


@cache
def _fitted(data: Path, labels: int, drawn: int, seed: int) -> tuple[Mapping[str, Answers], int]:
    """The baselines of a labelled set by name, and on how many rows they are fitted: of so many labels that were drawn
    with a seed, 0 for all."""
    task, train = TaskDescription.read(data), labelled.subset(labelled.split(data, "train"), labels, drawn)
    rows, dev = fitted_on(task, train), fitted_on(task, labelled.split(data, "dev"))
    return BASELINES[task.target](task, rows, dev, seed), len(rows)


def keep_linear_models(folder: Path, data: Iterable[Path], seed: int) -> None:
    """Write the linear model of each labelled set that has one, fitted on all its training rows, below the folder."""
    with atomic_write(folder) as part:
        part.mkdir()
        for task in data:
            *_, strongest = _fitted(task, 0, 0, seed)[0].values()
            if isinstance(strongest, LinearModel):
                strongest.save(part / task.name)


def fitted_on(task: TaskDescription, rows: Rows) -> Rows:
    """The first rows, up to the limit that keeps fitting short: usually all of them, and at least one."""
    if task.target == "answer":  # nothing is fitted
        return rows
    most = MOST_WORDS if TARGETS[task.target].classes == "word" else MOST_CHARACTERS
    sizes = accumulate(sum(len(row[column]) for column in Layout(task.task_type).inputs) for row in rows)
    return rows[: max(1, sum(size <= most for size in sizes))]


def _always(answer: Any) -> Answers:
    return lambda rows: [answer] * len(rows)


# ---- linear models


def _linear(
    name: str, task: TaskDescription, gold: Sequence[Any], train: Rows, dev: Rows, seed: int
) -> dict[str, Answers]:
    """The model of the strength that dev chooses, by its name; none where all answers are equal or no text has a term.

    Args:
        gold: of the training rows, or of their words.
    """
    is_one = len({json.dumps(answer) for answer in gold}) < 2
    if is_one or (terms := Terms.fitted(Layout(task.task_type).inputs, train)) is None:
        return {}
    features, fit = terms.features(train), FITS[task.target]
    fits = (fit(features, gold, strength, seed) for strength in STRENGTHS)
    models = [LinearModel(task, terms, names, np.ascontiguousarray(weights.T), bias) for names, weights, bias in fits]
    return {name: max(models, key=lambda model: _score(task, dev, model(dev), COMPARED_BY[task.target]))}


def probe(task: TaskDescription, train: Rows, of_train: Any, dev: Rows, of_dev: Any) -> float:
    """Score on dev of a linear model of these features, by the metric of the task, which is no part of an answer.

    Args:
        of_train, of_dev: features of each row, or of each of its words, (rows or words, features).
    """
    from sklearn.preprocessing import StandardScaler

    gold = [tag for row in train for tag in row.get("tags", ())] or right_answers(train, task.target)
    scaler, fit = StandardScaler().fit(of_train), FITS[task.target]
    names, weights, bias = fit(scaler.transform(of_train), gold, PROBE_STRENGTH, 0)
    answers, _, _ = decoded(task, names, scaler.transform(of_dev) @ weights.T + bias, dev)
    return _score(task, dev, answers, COMPARED_BY[task.target])


def _texts(task: TaskDescription, train: Rows, dev: Rows, seed: int) -> Mapping[str, Answers]:
    """The same answer always, and a linear model on TF-IDF where one can be fitted."""
    gold = right_answers(train, task.target)
    if task.target == "number":
        always, name = math.fsum(gold) / len(gold), "tfidf_ridge"
    else:
        always, name = most_frequent(gold), "tfidf_logistic"
    return {"majority": _always(always)} | _linear(name, task, gold, train, dev, seed)


# ---- questions


def _answers(task: TaskDescription, train: Rows, dev: Rows, seed: int) -> Mapping[str, Answers]:
    """No answer at all, and the sentence of the context that shares most tokens with the question."""

    def overlap(row: Mapping[str, Any]) -> str:
        characters = answer_text.by_characters([row["context"]])
        tokens = answer_text.character_tokens if characters else answer_text.word_tokens
        question = set(tokens(row["question"]))
        sentences = [part.strip() for part in _SENTENCES.split(row["context"]) if part.strip()] or [""]
        return max(sentences, key=lambda sentence: len(question & set(tokens(sentence))))

    always = {"majority": _always("")} if task.no_answer else {}
    return always | {"question_overlap": lambda rows: [overlap(row) for row in rows]}


_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


# ---- tagged words


def _words(task: TaskDescription, train: Rows, dev: Rows, seed: int) -> Mapping[str, Answers]:
    """The most frequent tag of each word, and logistic regression on a word and two words to each side.

    The tag of a new word is O, or the most frequent of all tags where every word has a tag of its own.
    """
    spans = TARGETS[task.target].marks_spans
    by_word: dict[str, list[str]] = {}
    for row in train:
        for word, tag in zip(row["tokens"], row["tags"], strict=True):
            by_word.setdefault(word, []).append(tag)
    lexicon = {word: most_frequent(tags) for word, tags in by_word.items()}
    tags = [tag for row in train for tag in row["tags"]]
    unknown = tag_schemes.OUTSIDE if spans else most_frequent(tags)

    def look_up(rows: Rows) -> list[Any]:
        answers = [[lexicon.get(word, unknown) for word in row["tokens"]] for row in rows]
        return [tag_schemes.legal(answer, "bio") for answer in answers] if spans else answers

    return {"word_majority": look_up} | _linear("window_logistic", task, tags, train, dev, seed)


# ---- by target


BASELINES: ByTarget[Callable[[TaskDescription, Rows, Rows, int], Mapping[str, Answers]]] = ByTarget(
    {
        "class": _texts,
        "labels": _texts,
        "number": _texts,
        "answer": _answers,
        "spans": _words,
    }
)
"""A task, its training and dev rows (at most those of `fitted_on`) and a seed -> name of a baseline -> what answers
rows; the last is the strongest."""
