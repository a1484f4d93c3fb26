"""Baselines without an encoder: most frequent answers, and linear models on terms.

Labelled rows (as in data/validated/tasks) -> scores on the test rows, by the same metrics as the arms and from the
same training rows. The dev rows choose the strength of regularisation. An arm that scores below a baseline
does not justify its training.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.comparison.scores import ResampledRows
from adaptbert.config.schema.task_types import TARGETS, ByTarget
from adaptbert.data import labelled_set as labelled
from adaptbert.data import tag_schemes
from adaptbert.data.layout import Layout
from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks.metrics import answer_overlap as answer_text
from adaptbert.tasks.metrics.scoring import COMPARED_BY, SCORING, right_answers

Row = dict[str, Any]
Rows = Sequence[Row]
Answers = Callable[[Any], list[Any]]
"""Features -> an answer for each row."""
Candidates = tuple[Callable[[Rows], Any], Sequence[Answers]]
"""What reads the features of rows, and models of them that differ in one value, which the dev rows choose."""
STRENGTHS = (1.0, 10.0, 100.0)
"""Inverse regularisation of the linear models, chosen on dev: the library's own 1.0 costs up to ten points."""
MOST_CHARACTERS, MOST_WORDS = 10_000_000, 100_000
"""Limits of what a linear model is fitted on, for texts and for tagged words: some two minutes for all strengths."""
FEW_SPACES = 0.08


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
def baselines_of(
    test: ResampledRows, data: Path, labels: int, seeds: tuple[int, ...], seed: int
) -> dict[str, BaselineRuns]:
    """All baselines by name, each fitted on the labelled subsets of these seeds; once for all bases of a task.

    A model that cannot be fitted to a subset counts there as the most frequent answer.

    Args:
        data: folder of the labelled set.
        labels: rows of a subset.
        seeds: of the arms.
        seed: of the linear models.
    """
    task, pool = test.task, labelled.split(data, "train")
    dev = fitted_on(task, labelled.split(data, "dev"))
    drawn = seeds if labels < len(pool) else seeds[:1]
    fitting = [fitted_on(task, labelled.subset(pool, labels, each)) for each in drawn]
    answered = [baseline_answers(task, rows, dev, test.rows, seed) for rows in fitting]
    fewest = min(map(len, fitting))
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


def baseline_answers(task: TaskDescription, train: Rows, dev: Rows, test: Rows, seed: int) -> dict[str, list[Any]]:
    return {name: model(test) for name, model in fitted(task, train, dev, seed).items()}


def fitted(task: TaskDescription, train: Rows, dev: Rows, seed: int) -> dict[str, Callable[[Rows], list[Any]]]:
    """Name of a baseline -> what answers rows; the last one is the strongest.

    Args:
        train, dev: at most the rows of `fitted_on`; the time grows with them.
        seed: of the linear models.
    """

    def chosen(read: Callable[[Rows], Any], models: Sequence[Answers]) -> Callable[[Rows], list[Any]]:
        features, metric = read(dev), COMPARED_BY[task.target]
        best = max(models, key=lambda model: _score(task, dev, model(features), metric))
        return lambda rows: best(read(rows))

    return {name: chosen(*each) for name, each in BASELINES[task.target].make(task, train, seed).items()}


def fitted_on(task: TaskDescription, rows: Rows) -> Rows:
    """The first rows, up to the limit that keeps fitting short: usually all of them, and at least one."""
    baseline = BASELINES[task.target]
    return rows[: max(1, sum(size <= baseline.most for size in accumulate(map(baseline.size, rows))))]


def _rows(rows: Rows) -> Rows:
    """Features of what looks at the rows themselves."""
    return rows


def _always(answer: Any) -> Candidates:
    return _rows, [lambda rows: [answer] * len(rows)]


def _most_frequent(values: Sequence[Any]) -> Any:
    """The most frequent value; the first in sort order of several, so that equal data give equal results."""
    counts = Counter(json.dumps(value) for value in values)
    return json.loads(min(counts, key=lambda value: (-counts[value], json.loads(value))))


@dataclass(frozen=True)
class Baseline:
    """The baselines of one target.

    Attributes:
        make: a task, its training rows and a seed -> name of a baseline -> its candidates.
        size: of a row.
        most: the summed size of rows to fit on.
    """

    make: Callable[[TaskDescription, Rows, int], dict[str, Candidates]]
    size: Callable[[Row], int]
    most: int


# ---- sentences and pairs


Fit = Callable[[Any, list[Any], float, int], Answers]
"""Features, gold answers, strength and seed -> a trained linear model."""


def _texts(always: Callable[[Sequence[Any]], Any], kind: str, fit: Fit) -> Baseline:
    """The same answer always, and a linear model on TF-IDF of one and two words, `tfidf_<kind>`.

    In a script without spaces the terms are characters. The features of a pair are those of both texts and of what they
    share. The linear model is left out where all answers are equal or no text has a term.
    """

    def make(task: TaskDescription, train: Rows, seed: int) -> dict[str, Candidates]:
        inputs, gold = Layout(task.task_type).inputs, right_answers(train, task.target)

        def columns(rows: Rows) -> list[list[str]]:
            return [[row[column] for row in rows] for column in inputs]

        baselines = {"majority": _always(always(gold))}
        if len({json.dumps(answer) for answer in gold}) < 2 or (terms := tfidf(columns(train))) is None:
            return baselines
        features = terms(columns(train))
        models = [fit(features, gold, strength, seed) for strength in STRENGTHS]
        return baselines | {f"tfidf_{kind}": (lambda rows: terms(columns(rows)), models)}

    def characters(row: Row) -> int:
        return sum(len(row[column]) for column in ("text", "text_a", "text_b") if column in row)

    return Baseline(make, characters, MOST_CHARACTERS)


def few_spaces(texts: Sequence[str]) -> bool:
    """Whether spaces do not separate the words, as in Chinese: there, terms are characters.

    English has a space for every six characters, Chinese hardly any, even with some Latin words in it.
    """
    characters = sum(map(len, texts))
    return sum(character.isspace() for text in texts for character in text) < FEW_SPACES * characters


def tfidf(columns: Sequence[Sequence[str]]) -> Callable[[Sequence[Sequence[str]]], Any] | None:
    """TF-IDF of each column of texts, side by side; for two columns also their product, and its sum.

    Args:
        columns: that it is fitted on, (columns, rows).

    Returns:
        Columns -> features; None where no text has a term.
    """
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [text for column in columns for text in column]
    # Words of one letter count too: the default pattern would drop them.
    unit = {"analyzer": "char"} if few_spaces(texts) else {"token_pattern": r"(?u)\b\w+\b"}
    vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, **unit)
    if not any(map(vectors.build_analyzer(), texts)):
        return None
    vectors.fit(texts)

    def features(columns: Sequence[Sequence[str]]) -> Any:
        first, *others = [vectors.transform(column) for column in columns]
        if not others:
            return first
        shared = first.multiply(*others)
        return hstack([first, *others, shared, csr_matrix(shared.sum(1))]).tocsr()

    return features


def _logistic(train: Any, gold: Sequence[str], strength: float, seed: int) -> Any:
    """Logistic regression by `newton-cg`: with more terms than rows `lbfgs` takes 15 times as long, for the vectors of
    its history, for 600 texts. At the usual tolerance, 1e-4, the last bit of a feature, which depends on the processor,
    moved the scores of 2,500 words by 0.08; at this one by 4e-6, in two to three times the time."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=strength, max_iter=5000, random_state=seed, solver="newton-cg", tol=1e-8)
    return model.fit(train, gold)


def _one_label(train: Any, gold: list[Any], strength: float, seed: int) -> Answers:
    model = _logistic(train, gold, strength, seed)
    return lambda features: list(model.predict(features))


def _multi_label(train: Any, gold: list[Any], strength: float, seed: int) -> Answers:
    """A model for each label that some rows have and others lack."""
    decided = {label: [label in answer for answer in gold] for label in {label for answer in gold for label in answer}}
    always = [label for label, column in decided.items() if all(column)]
    models = {
        label: _logistic(train, [str(yes) for yes in column], strength, seed)
        for label, column in decided.items()
        if not all(column)
    }

    def predict(features: Any) -> list[Any]:
        columns = {label: model.predict(features) for label, model in models.items()}
        rows = range(features.shape[0])
        return [sorted([*always, *(name for name, column in columns.items() if column[row] == "True")]) for row in rows]

    return predict


def _ridge(train: Any, gold: list[Any], strength: float, seed: int) -> Answers:
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=1 / strength, random_state=seed).fit(train, gold)
    return lambda features: list(model.predict(features).tolist())


# ---- questions


def _answers(task: TaskDescription, train: Rows, seed: int) -> dict[str, Candidates]:
    """No answer at all, and the sentence of the context that shares most tokens with the question."""

    def overlap(row: Row) -> str:
        characters = answer_text.by_characters([row["context"]])
        tokens = answer_text.character_tokens if characters else answer_text.word_tokens
        question = set(tokens(row["question"]))
        sentences = [part.strip() for part in _SENTENCES.split(row["context"]) if part.strip()] or [""]
        return max(sentences, key=lambda sentence: len(question & set(tokens(sentence))))

    overlapping: Candidates = _rows, [lambda rows: [overlap(row) for row in rows]]
    return ({"majority": _always("")} if task.no_answer else {}) | {"question_overlap": overlapping}


_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


# ---- tagged words


def _words(task: TaskDescription, train: Rows, seed: int) -> dict[str, Candidates]:
    """The most frequent tag of each word, and logistic regression on a word and two words to each side.

    The tag of a new word is O, or the most frequent of all tags where every word has a tag of its own.
    """
    from sklearn.feature_extraction import DictVectorizer

    spans = TARGETS[task.target].marks_spans

    def cut(rows: Rows, tags: Iterable[str]) -> list[Any]:
        """The tags of all words, row by row."""
        left = iter(tags)
        answers = [list(islice(left, len(row["tokens"]))) for row in rows]
        return [tag_schemes.legal(answer, "bio") for answer in answers] if spans else answers

    by_word: dict[str, list[str]] = {}
    for row in train:
        for word, tag in zip(row["tokens"], row["tags"], strict=True):
            by_word.setdefault(word, []).append(tag)
    lexicon = {word: _most_frequent(tags) for word, tags in by_word.items()}
    tags = [tag for row in train for tag in row["tags"]]
    unknown = tag_schemes.OUTSIDE if spans else _most_frequent(tags)

    def look_up(rows: Rows) -> list[Any]:
        return cut(rows, (lexicon.get(word, unknown) for row in rows for word in row["tokens"]))

    baselines: dict[str, Candidates] = {"word_majority": (_rows, [look_up])}
    if len(set(tags)) < 2:
        return baselines
    terms = DictVectorizer()

    def features(rows: Rows, vectorize: Callable[[Any], Any] = terms.transform) -> Any:
        """Features of all words."""
        features = vectorize(word for row in rows for word in _windows(row["tokens"]))
        features.eliminate_zeros()  # False is stored as 0.0: nearly half of all values
        return features

    def with_model(model: Any) -> Answers:
        return lambda read: cut(read[0], model.predict(read[1]).tolist())

    of_train = features(train, terms.fit_transform)
    models = [with_model(_logistic(of_train, tags, strength, seed)) for strength in STRENGTHS]
    return baselines | {"window_logistic": (lambda rows: (rows, features(rows)), models)}


def _windows(tokens: Sequence[str], reach: int = 2) -> list[dict[str, Any]]:
    """The features of each word: the words around it by their distance, and its own spelling."""
    lowered = [token.lower() for token in tokens]
    rows = []
    for position, token in enumerate(tokens):
        features: dict[str, Any] = {
            f"word{distance:+d}": lowered[position + distance]
            for distance in range(-reach, reach + 1)
            if 0 <= position + distance < len(tokens)
        }
        features["suffix"] = lowered[position][-3:]
        features["capital"] = token[:1].isupper()
        features["all_capital"] = token.isupper()
        features["digit"] = any(character.isdigit() for character in token)
        features["mark"] = any(not character.isalnum() for character in token)
        features["first"] = position == 0
        rows.append(features)
    return rows


# ---- by target


BASELINES = ByTarget(
    {
        "class": _texts(_most_frequent, "logistic", _one_label),
        "labels": _texts(_most_frequent, "logistic", _multi_label),
        "number": _texts(lambda values: math.fsum(values) / len(values), "ridge", _ridge),
        "answer": Baseline(_answers, lambda row: 0, 0),  # nothing is fitted
        "spans": Baseline(_words, lambda row: len(row["tokens"]), MOST_WORDS),
    }
)
