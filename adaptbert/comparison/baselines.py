"""Baselines without a neural network: most frequent answers and linear models.

Labelled rows (as in data/validated/tasks) -> scores on the test rows, by the same metrics as the cells and from the
same number of training rows; what is chosen, is chosen on the dev rows. An arm below these has not earned its training.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from typing import Any

from adaptbert.base.task_types import Target, TaskType
from adaptbert.finetuning.metrics import answer_overlap as answer_text
from adaptbert.finetuning.metrics.targets import COMPARED_BY, SCORING, right_answers
from adaptbert.rows import tag_schemes
from adaptbert.rows.layout import Layout
from adaptbert.rows.targets import TARGETS
from adaptbert.rows.task_description import TaskDescription

Row = dict[str, Any]
Rows = Sequence[Row]
Answers = Callable[[Any], list[Any]]
"""What a model looks at, to an answer for each row."""
FEW_SPACES = 0.08
STRENGTHS = (1.0, 10.0, 100.0)
"""Inverse regularisation of the linear models, chosen on dev: the library's own 1.0 costs up to ten points."""
MOST_CHARACTERS, MOST_WORDS = 10_000_000, 100_000
"""That a linear model is fitted on, of texts and of words with tags: about a minute for all strengths."""
MANY_ROWS = 2000
"""From here on texts are fitted by second derivatives: with several classes, that takes a tenth of the time. Both ways
lead to the one optimum, and stop so near to it that a row in a thousand may fall to the other side."""


@dataclass(frozen=True)
class Control:
    """Models that differ in one value, which the dev rows choose.

    Attributes:
        read: rows to what the models look at.
        models: from there to an answer for each row.
    """

    read: Callable[[Rows], Any]
    models: Sequence[Answers]


def controls(task: TaskDescription, train: Rows, dev: Rows, test: Rows, seed: int) -> dict[str, dict[str, float]]:
    """Name of a control -> its metrics on `test`.

    Args:
        train, dev: not more than `fitted_on` takes, or it will take long.
        seed: of the linear models.
    """

    def score(rows: Rows, answers: list[Any]) -> dict[str, float]:
        return SCORING[task.target].score(right_answers(rows, task.target), answers, task)

    scores = {}
    for name, control in BASELINES[task.task_type].make(task, train, seed).items():
        seen = control.read(dev)
        best = max(control.models, key=lambda model: score(dev, model(seen))[COMPARED_BY[task.target]])
        scores[name] = score(test, best(control.read(test)))
    return scores


def fitted_on(task: TaskDescription, rows: Rows) -> Rows:
    """The first of them, as many as linear models are fitted on in a short time; mostly all, and one at least."""
    baseline = BASELINES[task.task_type]
    return rows[: max(1, sum(size <= baseline.most for size in accumulate(map(baseline.size, rows))))]


def few_spaces(texts: Sequence[str]) -> bool:
    """Whether words cannot be told by spaces, as in Chinese: there, terms are characters.

    English has a space for every six characters, Chinese next to none, even with some Latin words in it.
    """
    characters = sum(map(len, texts))
    return sum(character.isspace() for text in texts for character in text) < FEW_SPACES * characters


def _as_they_are(rows: Rows) -> Rows:
    return rows


def _texts(task: TaskDescription, train: Rows, seed: int) -> dict[str, Control]:
    """The commonest answer (of numbers the mean) for every row; and a linear model on TF-IDF of one and two words.

    In a script without spaces, of characters. A pair is both of its texts, and the terms that they share. Without two
    different answers there is nothing to fit, and nothing to fit on where no text has a term.
    """
    model, inputs = TEXT_MODELS[task.target], Layout(task.task_type).inputs
    gold = right_answers(train, task.target)
    always = model.always(gold)
    found = {"majority": Control(_as_they_are, [lambda rows: [always] * len(rows)])}

    def columns(rows: Rows) -> list[list[str]]:
        return [[row[column] for row in rows] for column in inputs]

    terms = _Terms.of(columns(train)) if len({json.dumps(answer) for answer in gold}) > 1 else None
    if terms is not None:
        known = terms(columns(train))
        models = [model.fit(known, gold, task.labels, strength, seed) for strength in STRENGTHS]
        found[model.name] = Control(lambda rows: terms(columns(rows)), models)
    return found


class _Terms:
    """TF-IDF of each column of texts side by side, and of two columns the terms of both as well.

    Args:
        vectors: a fitted `TfidfVectorizer`.
    """

    def __init__(self, vectors: Any) -> None:
        self._vectors = vectors

    @classmethod
    def of(cls, columns: list[list[str]]) -> "_Terms | None":
        """Those of the training rows, (columns, rows); None where there are no words, only marks."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = [text for column in columns for text in column]
        # Words of one letter count too: the default pattern would drop them.
        unit = {"analyzer": "char"} if few_spaces(texts) else {"token_pattern": r"(?u)\b\w+\b"}
        vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, **unit)
        terms = vectors.build_analyzer()
        return cls(vectors.fit(texts)) if any(terms(text) for text in texts) else None

    def __call__(self, columns: list[list[str]]) -> Any:
        from scipy.sparse import csr_matrix, hstack

        found = [self._vectors.transform(column) for column in columns]
        if len(found) == 1:
            return found[0]
        shared = found[0].multiply(found[1])
        return hstack([*found, shared, csr_matrix(shared.sum(1))]).tocsr()


def _ridge(known: Any, gold: list[Any], labels: Sequence[str], strength: float, seed: int) -> Answers:
    from sklearn.linear_model import Ridge

    ridge = Ridge(alpha=1 / strength, random_state=seed).fit(known, gold)
    return lambda features: list(ridge.predict(features).tolist())


def _one_label(known: Any, gold: list[Any], labels: Sequence[str], strength: float, seed: int) -> Answers:
    model = _logistic(known, gold, strength, seed, _solver(gold))
    return lambda features: list(model.predict(features))


def _several_labels(known: Any, gold: list[Any], labels: Sequence[str], strength: float, seed: int) -> Answers:
    """A model for each label that some rows have and others lack."""
    decided = {label: [label in answer for answer in gold] for label in labels}
    fitted = {
        label: _logistic(known, [str(yes) for yes in column], strength, seed, _solver(gold))
        for label, column in decided.items()
        if len(set(column)) > 1
    }
    always = [label for label, column in decided.items() if all(column)]

    def several(features: Any) -> list[Any]:
        columns = {label: model.predict(features) for label, model in fitted.items()}
        rows = range(features.shape[0])
        return [sorted([*always, *(name for name, column in columns.items() if column[row] == "True")]) for row in rows]

    return several


def _solver(gold: Sequence[Any]) -> str:
    return "newton-cg" if len(gold) >= MANY_ROWS else "lbfgs"


@dataclass(frozen=True)
class TextModel:
    """What answers sentences and pairs.

    Attributes:
        always: what is right in the training rows, to the one answer that is given to every row.
        name: of the control that is fitted.
        fit: features, what is right, labels, strength and seed, to a trained model: features to answers.
    """

    always: Callable[[Sequence[Any]], Any]
    name: str
    fit: Callable[[Any, list[Any], Sequence[str], float, int], Answers]


def _answers(task: TaskDescription, train: Rows, seed: int) -> dict[str, Control]:
    """No answer at all; and the sentence of the context that shares most with the question."""

    def overlap(row: Row) -> str:
        characters = answer_text.by_characters([row["context"]])
        tokens = answer_text.character_tokens if characters else answer_text.word_tokens
        asked = set(tokens(row["question"]))
        sentences = [part.strip() for part in _SENTENCES.split(row["context"]) if part.strip()] or [""]
        return max(sentences, key=lambda sentence: len(asked & set(tokens(sentence))))

    found = {"question_overlap": Control(_as_they_are, [lambda rows: [overlap(row) for row in rows]])}
    return ({"majority": Control(_as_they_are, [lambda rows: [""] * len(rows)])} if task.no_answer else {}) | found


_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def _words(task: TaskDescription, train: Rows, seed: int) -> dict[str, Control]:
    """The commonest tag of every word; and logistic regression on a word and two to each side.

    A new word gets O, or the commonest of all tags where every word has one.
    """
    from sklearn.feature_extraction import DictVectorizer

    spans = TARGETS[task.target].marks_spans
    mended: Callable[[list[str]], list[str]] = partial(tag_schemes.legal, scheme="bio") if spans else list
    by_word: dict[str, list[str]] = {}
    for row in train:
        for word, tag in zip(row["tokens"], row["tags"], strict=True):
            by_word.setdefault(word, []).append(tag)
    lexicon = {word: _commonest(tags) for word, tags in by_word.items()}
    tags = [tag for row in train for tag in row["tags"]]
    unknown = tag_schemes.OUTSIDE if spans else _commonest(tags)

    def look_up(rows: Rows) -> list[Any]:
        return [mended([lexicon.get(word, unknown) for word in row["tokens"]]) for row in rows]

    found = {"word_majority": Control(_as_they_are, [look_up])}
    if len(set(tags)) > 1:
        terms = DictVectorizer()

        def read(rows: Rows, put: Callable[[Any], Any] = terms.transform) -> tuple[list[int], Any]:
            """How many words each row has, and what is known of each word."""
            known = put(features for row in rows for features in windows(row["tokens"]))
            known.eliminate_zeros()  # of what is not so, nearly half of all
            return [len(row["tokens"]) for row in rows], known

        def with_model(model: Any) -> Callable[[Any], list[Any]]:
            def predict(seen: tuple[list[int], Any]) -> list[Any]:
                answers = iter(model.predict(seen[1]).tolist())
                return [mended(list(islice(answers, count))) for count in seen[0]]

            return predict

        _, known = read(train, terms.fit_transform)
        models = [with_model(_logistic(known, tags, strength, seed, "lbfgs")) for strength in STRENGTHS]
        found["window_logistic"] = Control(read, models)
    return found


def _logistic(known: Any, wanted: Sequence[str], strength: float, seed: int, solver: str) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=5000, random_state=seed, solver=solver).fit(known, wanted)


def windows(tokens: Sequence[str], reach: int = 2) -> list[dict[str, Any]]:
    """For each word the words around it by their distance, and how the word itself is written."""
    lowered = [token.lower() for token in tokens]
    rows = []
    for place, token in enumerate(tokens):
        features: dict[str, Any] = {
            f"word{distance:+d}": lowered[place + distance]
            for distance in range(-reach, reach + 1)
            if 0 <= place + distance < len(tokens)
        }
        features["suffix"] = lowered[place][-3:]
        features["capital"] = token[:1].isupper()
        features["all_capital"] = token.isupper()
        features["digit"] = any(character.isdigit() for character in token)
        features["mark"] = any(not character.isalnum() for character in token)
        features["first"] = place == 0
        rows.append(features)
    return rows


def _commonest(values: Sequence[Any]) -> Any:
    """The most frequent value; of several the first by name, so that equal data give equal results."""
    counts = Counter(json.dumps(value) for value in values)
    return json.loads(min(counts, key=lambda value: (-counts[value], json.loads(value))))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _characters(row: Row) -> int:
    return sum(len(row[column]) for column in ("text", "text_a", "text_b") if column in row)


TEXT_MODELS: Mapping[Target, TextModel] = {
    "class": TextModel(_commonest, "tfidf_logistic", _one_label),
    "labels": TextModel(_commonest, "tfidf_logistic", _several_labels),
    "number": TextModel(_mean, "tfidf_ridge", _ridge),
}
"""Of the targets of sentences and pairs; the baselines of other task types know their targets themselves."""


@dataclass(frozen=True)
class Baseline:
    """The controls of one task type.

    Attributes:
        make: a task, its training rows and a seed, to the controls.
        size: of a row; `most` of which are fitted on.
    """

    make: Callable[[TaskDescription, Rows, int], dict[str, Control]]
    size: Callable[[Row], int]
    most: int


BASELINES: Mapping[TaskType, Baseline] = {
    "single_sentence": Baseline(_texts, _characters, MOST_CHARACTERS),
    "sentence_pair": Baseline(_texts, _characters, MOST_CHARACTERS),
    "extractive_answer": Baseline(_answers, lambda row: 0, 0),  # nothing is fitted
    "sequence_labelling": Baseline(_words, lambda row: len(row["tokens"]), MOST_WORDS),
}
