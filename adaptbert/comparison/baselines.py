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
from itertools import accumulate, islice
from typing import Any

from adaptbert.finetuning.metrics import answer_overlap as answer_text
from adaptbert.finetuning.metrics.contract import COMPARED_BY
from adaptbert.finetuning.metrics.scores import (
    answer_metrics,
    classification_metrics,
    label_metrics,
    legal,
    number_metrics,
    span_metrics,
    tag_metrics,
)

Row = dict[str, Any]
Rows = Sequence[Row]
Score = Callable[[Rows, list[Any]], dict[str, float]]
FEW_SPACES = 0.08
OUTSIDE = "O"
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
    models: Sequence[Callable[[Any], list[Any]]]


def controls(about: Mapping[str, Any], train: Rows, dev: Rows, test: Rows, seed: int) -> dict[str, dict[str, float]]:
    """Name of a control -> its metrics on `test`.

    Args:
        about: `shape`, `target` and `labels` of the task.
        train, dev: not more than `fitted_on` takes, or it will take long.
        seed: of the linear models.
    """
    target = about["target"]
    make = {"extractive_answer": _answers, "sequence_labelling": _words}.get(about["shape"], _texts)
    score = _scores(target, about["labels"])
    found = {}
    for name, control in make(about, train, seed).items():
        seen = control.read(dev)
        best = max(control.models, key=lambda model: score(dev, model(seen))[COMPARED_BY[target]])
        found[name] = score(test, best(control.read(test)))
    return found


def fitted_on(about: Mapping[str, Any], rows: Rows) -> Rows:
    """The first of them, as many as linear models are fitted on in a short time; mostly all, and one at least."""
    if about["shape"] == "extractive_answer":  # nothing is fitted
        return rows
    if about["shape"] == "sequence_labelling":
        sizes, most = (len(row["tokens"]) for row in rows), MOST_WORDS
    else:
        sizes, most = (sum(len(row[column]) for column in _columns(about)) for row in rows), MOST_CHARACTERS
    return rows[: max(1, sum(size <= most for size in accumulate(sizes)))]


def _columns(about: Mapping[str, Any]) -> tuple[str, ...]:
    return ("text_a", "text_b") if about["shape"] == "sentence_pair" else ("text",)


def _scores(target: str, labels: Sequence[str]) -> Score:
    """How the answers to rows are scored."""
    known: dict[str, Score] = {
        "class": lambda rows, given: classification_metrics([row["label"] for row in rows], given),
        "labels": lambda rows, given: label_metrics([row["labels"] for row in rows], given, labels),
        "number": lambda rows, given: number_metrics([row["value"] for row in rows], given),
        "answer": lambda rows, given: answer_metrics(
            [[answer["text"] for answer in row["answers"]] for row in rows], given
        ),
        "spans": lambda rows, given: span_metrics([row["tags"] for row in rows], given),
        "tags": lambda rows, given: tag_metrics([row["tags"] for row in rows], given),
    }
    return known[target]


def few_spaces(texts: Sequence[str]) -> bool:
    """Whether words cannot be told by spaces, as in Chinese: there, terms are characters.

    English has a space for every six characters, Chinese next to none, even with some Latin words in it.
    """
    characters = sum(map(len, texts))
    return sum(character.isspace() for text in texts for character in text) < FEW_SPACES * characters


def _as_they_are(rows: Rows) -> Rows:
    return rows


def _texts(about: Mapping[str, Any], train: Rows, seed: int) -> dict[str, Control]:
    """The commonest answer (of numbers the mean) for every row; and a linear model on TF-IDF of one and two words.

    In a script without spaces, of characters. A pair is both of its texts, and the terms that they share. Without two
    different answers there is nothing to fit, and nothing to fit on where no text has a term.
    """
    target = about["target"]
    gold = [row[{"class": "label", "labels": "labels", "number": "value"}[target]] for row in train]
    commonest = _mean(gold) if target == "number" else _commonest(gold)
    found = {"majority": Control(_as_they_are, [lambda rows: [commonest] * len(rows)])}

    def columns(rows: Rows) -> list[list[str]]:
        return [[row[column] for row in rows] for column in _columns(about)]

    terms = _Terms.of(columns(train)) if len({json.dumps(answer) for answer in gold}) > 1 else None
    if terms is not None:
        known = terms(columns(train))
        models = [_linear(target, known, gold, about["labels"], strength, seed) for strength in STRENGTHS]
        name = "tfidf_ridge" if target == "number" else "tfidf_logistic"
        found[name] = Control(lambda rows: terms(columns(rows)), models)
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


def _linear(
    target: str, known: Any, gold: list[Any], labels: Sequence[str], strength: float, seed: int
) -> Callable[[Any], list[Any]]:
    """A trained model: features to answers."""
    solver = "newton-cg" if len(gold) >= MANY_ROWS else "lbfgs"
    if target == "number":
        from sklearn.linear_model import Ridge

        ridge = Ridge(alpha=1 / strength, random_state=seed).fit(known, gold)
        return lambda features: list(ridge.predict(features).tolist())
    if target == "class":
        model = _logistic(known, gold, strength, seed, solver)
        return lambda features: list(model.predict(features))
    decided = {label: [label in answer for answer in gold] for label in labels}
    fitted = {
        label: _logistic(known, [str(yes) for yes in column], strength, seed, solver)
        for label, column in decided.items()
        if len(set(column)) > 1
    }
    always = [label for label, column in decided.items() if all(column)]

    def several(features: Any) -> list[Any]:
        columns = {label: model.predict(features) for label, model in fitted.items()}
        rows = range(features.shape[0])
        return [sorted([*always, *(name for name, told in columns.items() if told[row] == "True")]) for row in rows]

    return several


def _answers(about: Mapping[str, Any], train: Rows, seed: int) -> dict[str, Control]:
    """No answer at all; and the sentence of the context that shares most with the question."""

    def overlap(row: Row) -> str:
        characters = answer_text.by_characters([row["context"]])
        tokens = answer_text.character_tokens if characters else answer_text.word_tokens
        asked = set(tokens(row["question"]))
        sentences = [part.strip() for part in _SENTENCES.split(row["context"]) if part.strip()] or [""]
        return max(sentences, key=lambda sentence: len(asked & set(tokens(sentence))))

    found = {"question_overlap": Control(_as_they_are, [lambda rows: [overlap(row) for row in rows]])}
    return ({"majority": Control(_as_they_are, [lambda rows: [""] * len(rows)])} if about["no_answer"] else {}) | found


_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def _words(about: Mapping[str, Any], train: Rows, seed: int) -> dict[str, Control]:
    """The commonest tag of every word; and logistic regression on a word and two to each side.

    A new word gets O, or the commonest of all tags where every word has one.
    """
    from sklearn.feature_extraction import DictVectorizer

    spans = about["target"] == "spans"
    mended: Callable[[list[str]], list[str]] = legal if spans else list
    by_word: dict[str, list[str]] = {}
    for row in train:
        for word, tag in zip(row["tokens"], row["tags"], strict=True):
            by_word.setdefault(word, []).append(tag)
    lexicon = {word: _commonest(tags) for word, tags in by_word.items()}
    tags = [tag for row in train for tag in row["tags"]]
    unknown = OUTSIDE if spans else _commonest(tags)

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
