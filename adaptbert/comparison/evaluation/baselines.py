"""Baselines without an encoder: most frequent answers, and linear models on terms and on input embeddings.

Labelled rows (as in data/validated/tasks) -> scores on the test rows, by the same metrics as the cells and from the
same training rows. The dev rows choose the strength of regularisation. An arm that scores below a baseline
does not justify its training.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from adaptbert.comparison.evaluation.embeddings import Embeddings
from adaptbert.comparison.evaluation.linear_models import (
    Answers,
    Terms,
    logistic,
    multi_label,
    one_label,
    ridge,
    windows,
)
from adaptbert.config.schema.task_types import TARGETS, Target, TaskType
from adaptbert.data import labelled_set as labelled
from adaptbert.data import tag_schemes
from adaptbert.data.layout import Layout
from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks.metrics import answer_overlap as answer_text
from adaptbert.tasks.metrics.scoring import COMPARED_BY, SCORING, right_answers

Row = dict[str, Any]
Rows = Sequence[Row]
STRENGTHS = (1.0, 10.0, 100.0)
"""Inverse regularisation of the linear models, chosen on dev: the library's own 1.0 costs up to ten points."""
MOST_CHARACTERS, MOST_WORDS = 10_000_000, 100_000
"""Limits of what a linear model is fitted on, for texts and for tagged words: about a minute for all strengths."""


@dataclass(frozen=True)
class Candidates:
    """Models that differ in one value, which the dev rows choose.

    Attributes:
        read: rows -> features.
        models: features -> an answer for each row.
    """

    read: Callable[[Rows], Any]
    models: Sequence[Answers]


@dataclass(frozen=True)
class Baselines:
    """The baselines of a task.

    Attributes:
        answers: name -> seed -> its answers to the test rows; the same for all seeds where they have the same labels.
        rows: that a model was fitted on.
    """

    answers: Mapping[str, Mapping[int, list[Any]]]
    rows: int


def on_the_labels_of(
    task: TaskDescription,
    data: Path,
    labels: int,
    seeds: Sequence[int],
    seed: int,
    embeddings: Embeddings | None = None,
) -> Baselines:
    """The answers of all baselines, each fitted on the labelled subsets of these seeds.

    A model that cannot be fitted to a subset counts there as the most frequent answer.

    Args:
        data: folder of the labelled set.
        labels: rows of a subset.
        seeds: of the cells.
        seed: of the linear models.
        embeddings: of the checkpoint that all arms begin with.
    """
    pool, test = labelled.split(data, "train"), labelled.split(data, "test")
    dev = fitted_on(task, labelled.split(data, "dev"))
    drawn = seeds if labels < len(pool) else seeds[:1]
    fitting = [fitted_on(task, labelled.subset(pool, labels, each)) for each in drawn]
    answered = [baseline_answers(task, rows, dev, test, seed, embeddings) for rows in fitting]
    by_seed = dict(zip(seeds, answered if len(drawn) == len(seeds) else answered * len(seeds), strict=True))
    names = dict.fromkeys(name for answers in answered for name in answers)
    # Where a subset has one class only, a model of it would answer what the first baseline does.
    answers = {name: {each: own.get(name, next(iter(own.values()))) for each, own in by_seed.items()} for name in names}
    return Baselines(answers, min(map(len, fitting)))


def _score(task: TaskDescription, rows: Rows, answers: list[Any]) -> dict[str, float]:
    return SCORING[task.target].score(right_answers(rows, task.target), answers, task)


def baseline_answers(
    task: TaskDescription, train: Rows, dev: Rows, test: Rows, seed: int, embeddings: Embeddings | None = None
) -> dict[str, list[Any]]:
    """Name of a baseline -> its answers to `test`.

    Args:
        train, dev: at most the rows of `fitted_on`; the time grows with them.
        seed: of the linear models.
        embeddings: of the checkpoint that all arms begin with; None: no baseline reads them.
    """
    answers = {}
    for name, candidates in BASELINES[task.task_type].make(task, train, seed, embeddings).items():
        features = candidates.read(dev)
        best = max(candidates.models, key=lambda model: _score(task, dev, model(features))[COMPARED_BY[task.target]])
        answers[name] = best(candidates.read(test))
    return answers


def fitted_on(task: TaskDescription, rows: Rows) -> Rows:
    """The first rows, up to the limit that keeps fitting short: usually all of them, and at least one."""
    baseline = BASELINES[task.task_type]
    return rows[: max(1, sum(size <= baseline.most for size in accumulate(map(baseline.size, rows))))]


def _unchanged(rows: Rows) -> Rows:
    return rows


def _texts(task: TaskDescription, train: Rows, seed: int, embeddings: Embeddings | None) -> dict[str, Candidates]:
    """The most frequent answer (for regression the mean), and linear models on TF-IDF of one and two words and on the
    mean of the input embeddings.

    In a script without spaces the terms are characters. The features of a pair are those of both texts and of what they
    share. A linear model is left out where all answers are equal or no text has a term, or a token.
    """
    model, inputs = TEXT_MODELS[task.target], Layout(task.task_type).inputs
    gold = right_answers(train, task.target)
    always = model.always(gold)
    baselines = {"majority": Candidates(_unchanged, [lambda rows: [always] * len(rows)])}

    def columns(rows: Rows) -> list[list[str]]:
        return [[row[column] for row in rows] for column in inputs]

    def fitted(read: Callable[[list[list[str]]], Any], features: Any) -> Candidates:
        models = [model.fit(features, gold, task.labels, strength, seed) for strength in STRENGTHS]
        return Candidates(lambda rows: read(columns(rows)), models)

    if len({json.dumps(answer) for answer in gold}) < 2:
        return baselines
    if (terms := Terms.of(columns(train))) is not None:
        baselines[f"tfidf_{model.kind}"] = fitted(terms, terms(columns(train)))
    if embeddings is not None and (features := embeddings.features(columns(train))).any():
        baselines[f"embeddings_{model.kind}"] = fitted(embeddings.features, features)
    return baselines


@dataclass(frozen=True)
class TextModel:
    """The baselines of a target of sentences and pairs.

    Attributes:
        always: gold answers of the training rows -> the one answer to every row.
        kind: of the models that are fitted; their baselines are called `tfidf_<kind>` and `embeddings_<kind>`.
        fit: features, gold answers, labels, strength and seed -> a trained model: features -> answers.
    """

    always: Callable[[Sequence[Any]], Any]
    kind: str
    fit: Callable[[Any, list[Any], Sequence[str], float, int], Answers]


def _answers(task: TaskDescription, train: Rows, seed: int, embeddings: Embeddings | None) -> dict[str, Candidates]:
    """No answer at all, and the sentence of the context that shares most tokens with the question."""

    def overlap(row: Row) -> str:
        characters = answer_text.by_characters([row["context"]])
        tokens = answer_text.character_tokens if characters else answer_text.word_tokens
        question = set(tokens(row["question"]))
        sentences = [part.strip() for part in _SENTENCES.split(row["context"]) if part.strip()] or [""]
        return max(sentences, key=lambda sentence: len(question & set(tokens(sentence))))

    majority = {"majority": Candidates(_unchanged, [lambda rows: [""] * len(rows)])}
    overlapping = {"question_overlap": Candidates(_unchanged, [lambda rows: [overlap(row) for row in rows]])}
    return (majority if task.no_answer else {}) | overlapping


_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def _words(task: TaskDescription, train: Rows, seed: int, embeddings: Embeddings | None) -> dict[str, Candidates]:
    """The most frequent tag of each word, and logistic regression on a word and two words to each side.

    The tag of a new word is O, or the most frequent of all tags where every word has a tag of its own.
    """
    from sklearn.feature_extraction import DictVectorizer

    spans = TARGETS[task.target].marks_spans
    legal: Callable[[list[str]], list[str]] = partial(tag_schemes.legal, scheme="bio") if spans else list
    by_word: dict[str, list[str]] = {}
    for row in train:
        for word, tag in zip(row["tokens"], row["tags"], strict=True):
            by_word.setdefault(word, []).append(tag)
    lexicon = {word: _most_frequent(tags) for word, tags in by_word.items()}
    tags = [tag for row in train for tag in row["tags"]]
    unknown = tag_schemes.OUTSIDE if spans else _most_frequent(tags)

    def look_up(rows: Rows) -> list[Any]:
        return [legal([lexicon.get(word, unknown) for word in row["tokens"]]) for row in rows]

    baselines = {"word_majority": Candidates(_unchanged, [look_up])}
    if len(set(tags)) > 1:
        terms = DictVectorizer()

        def read(rows: Rows, vectorize: Callable[[Any], Any] = terms.transform) -> tuple[list[int], Any]:
            """The number of words of each row, and the features of all words."""
            features = vectorize(word for row in rows for word in windows(row["tokens"]))
            features.eliminate_zeros()  # False is stored as 0.0: nearly half of all values
            return [len(row["tokens"]) for row in rows], features

        def with_model(model: Any) -> Callable[[Any], list[Any]]:
            def predict(features: tuple[list[int], Any]) -> list[Any]:
                answers = iter(model.predict(features[1]).tolist())
                return [legal(list(islice(answers, count))) for count in features[0]]

            return predict

        _, features = read(train, terms.fit_transform)
        models = [with_model(logistic(features, tags, strength, seed)) for strength in STRENGTHS]
        baselines["window_logistic"] = Candidates(read, models)
    return baselines


def _most_frequent(values: Sequence[Any]) -> Any:
    """The most frequent value; the first in sort order of several, so that equal data give equal results."""
    counts = Counter(json.dumps(value) for value in values)
    return json.loads(min(counts, key=lambda value: (-counts[value], json.loads(value))))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _characters(row: Row) -> int:
    return sum(len(row[column]) for column in ("text", "text_a", "text_b") if column in row)


TEXT_MODELS: Mapping[Target, TextModel] = {
    "class": TextModel(_most_frequent, "logistic", one_label),
    "labels": TextModel(_most_frequent, "logistic", multi_label),
    "number": TextModel(_mean, "ridge", ridge),
}
"""By target, for sentences and pairs; the baselines of the other task types handle their targets themselves."""


@dataclass(frozen=True)
class Baseline:
    """The baselines of one task type.

    Attributes:
        make: a task, its training rows, a seed and embeddings -> name of a baseline -> its candidates.
        size: of a row.
        most: the summed size of rows to fit on.
    """

    make: Callable[[TaskDescription, Rows, int, Embeddings | None], dict[str, Candidates]]
    size: Callable[[Row], int]
    most: int


BASELINES: Mapping[TaskType, Baseline] = {
    "single_sentence": Baseline(_texts, _characters, MOST_CHARACTERS),
    "sentence_pair": Baseline(_texts, _characters, MOST_CHARACTERS),
    "extractive_answer": Baseline(_answers, lambda row: 0, 0),  # nothing is fitted
    "sequence_labelling": Baseline(_words, lambda row: len(row["tokens"]), MOST_WORDS),
}
