"""Controls without a network: what the labels alone are worth.

Labelled rows (as in data/validated/tasks) -> scores on the test rows, by the same metrics as the cells and from the
same number of training rows; what is chosen, is chosen on the dev rows. An arm below these has not earned its training.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from adaptbert.metrics import classification_metrics, legal, span_metrics

Row = dict[str, Any]
Predict = Callable[[Sequence[Row]], list[Any]]
FEW_SPACES = 0.08
OUTSIDE = "O"
STRENGTHS = (1.0, 10.0, 100.0)
"""Inverse regularisation of the logistic regressions, chosen on dev: the library's own 1.0 costs up to ten points."""


def controls(
    shape: str, train: Sequence[Row], dev: Sequence[Row], test: Sequence[Row], seed: int
) -> dict[str, dict[str, float]]:
    """Name of a control -> its metrics on `test`.

    Args:
        shape: of the task.
        seed: of the logistic regression.
    """
    return BY_SHAPE[shape](train, dev, test, seed)


def few_spaces(texts: Sequence[str]) -> bool:
    """Whether words cannot be told by spaces, as in Chinese: there, terms are characters.

    English has a space for every six characters, Chinese next to none, even with some Latin words in it.
    """
    characters = sum(map(len, texts))
    return sum(character.isspace() for text in texts for character in text) < FEW_SPACES * characters


def single_sentence(
    train: Sequence[Row], dev: Sequence[Row], test: Sequence[Row], seed: int
) -> dict[str, dict[str, float]]:
    """The commonest label for every row; and logistic regression on TF-IDF of one and two words (or characters)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, labels = [row["text"] for row in train], [row["label"] for row in train]
    commonest = _commonest(labels)
    found: dict[str, Predict] = {"majority": lambda rows: [commonest] * len(rows)}
    if few_spaces(texts):
        terms = TfidfVectorizer(analyzer="char", ngram_range=(1, 2), sublinear_tf=True)
    else:
        # Words of one letter count too: the default pattern would drop them.
        terms = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", ngram_range=(1, 2), sublinear_tf=True)

    def score(rows: Sequence[Row], predict: Predict) -> dict[str, float]:
        return classification_metrics([row["label"] for row in rows], predict(rows))

    if len(set(labels)) > 1:
        known = terms.fit_transform(texts)
        models = [_logistic(known, labels, strength, seed) for strength in STRENGTHS]

        def with_model(model: Any) -> Predict:
            return lambda rows: list(model.predict(terms.transform([row["text"] for row in rows])))

        candidates = [with_model(model) for model in models]
        found["tfidf_logistic"] = max(candidates, key=lambda predict: score(dev, predict)["f1_macro"])
    return {name: score(test, predict) for name, predict in found.items()}


def sequence_labelling(
    train: Sequence[Row], dev: Sequence[Row], test: Sequence[Row], seed: int
) -> dict[str, dict[str, float]]:
    """The commonest tag of every word (O for a new word); and logistic regression on a word and two to each side."""
    from sklearn.feature_extraction import DictVectorizer

    by_word: dict[str, list[str]] = {}
    for row in train:
        for word, tag in zip(row["tokens"], row["tags"], strict=True):
            by_word.setdefault(word, []).append(tag)
    lexicon = {word: _commonest(tags) for word, tags in by_word.items()}

    def look_up(rows: Sequence[Row]) -> list[Any]:
        return [legal([lexicon.get(word, OUTSIDE) for word in row["tokens"]]) for row in rows]

    def score(rows: Sequence[Row], predict: Predict) -> dict[str, float]:
        return span_metrics([row["tags"] for row in rows], predict(rows))

    found: dict[str, Predict] = {"word_majority": look_up}
    tags = [tag for row in train for tag in row["tags"]]
    if len(set(tags)) > 1:
        terms = DictVectorizer()
        known = terms.fit_transform([features for row in train for features in windows(row["tokens"])])
        models = [_logistic(known, tags, strength, seed) for strength in STRENGTHS]

        def with_model(model: Any) -> Predict:
            def predict(rows: Sequence[Row]) -> list[Any]:
                words = [features for row in rows for features in windows(row["tokens"])]
                answers = iter(model.predict(terms.transform(words)).tolist())
                return [legal(list(islice(answers, len(row["tokens"])))) for row in rows]

            return predict

        candidates = [with_model(model) for model in models]
        found["window_logistic"] = max(candidates, key=lambda predict: score(dev, predict)["f1_span"])
    return {name: score(test, predict) for name, predict in found.items()}


def _logistic(known: Any, wanted: Sequence[str], strength: float, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=5000, random_state=seed).fit(known, wanted)


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


def _commonest(values: Sequence[str]) -> str:
    """The most frequent value; of several the first by name, so that equal data give equal results."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value))


BY_SHAPE: dict[str, Callable[[Sequence[Row], Sequence[Row], Sequence[Row], int], dict[str, dict[str, float]]]] = {
    "single_sentence": single_sentence,
    "sequence_labelling": sequence_labelling,
}
