"""Controls without a network: what the labels alone are worth.

Labelled rows (as in data/validated/tasks) -> scores on the test rows, by the same metrics as the cells and from the
same number of training rows. An arm that stays below these has not earned its training.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from adaptbert.metrics import classification_metrics, span_metrics

Row = dict[str, Any]
FEW_SPACES = 0.08
OUTSIDE = "O"


def controls(shape: str, train: Sequence[Row], test: Sequence[Row], seed: int) -> dict[str, dict[str, float]]:
    """Name of a control -> its metrics on `test`.

    Args:
        shape: of the task.
        seed: of the logistic regression.
    """
    return BY_SHAPE[shape](train, test, seed)


def few_spaces(texts: Sequence[str]) -> bool:
    """Whether words cannot be told by spaces, as in Chinese: there, terms are characters.

    English has a space for every six characters, Chinese next to none, even with some Latin words in it.
    """
    characters = sum(map(len, texts))
    return sum(character.isspace() for text in texts for character in text) < FEW_SPACES * characters


def single_sentence(train: Sequence[Row], test: Sequence[Row], seed: int) -> dict[str, dict[str, float]]:
    """The commonest label for every row; and logistic regression on TF-IDF of one and two words (or characters)."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts, labels = [row["text"] for row in train], [row["label"] for row in train]
    gold = [row["label"] for row in test]
    commonest = _commonest(labels)
    found = {"majority": classification_metrics(gold, [commonest] * len(gold))}
    if len(set(labels)) > 1:
        if few_spaces(texts):
            terms = TfidfVectorizer(analyzer="char", ngram_range=(1, 2), sublinear_tf=True)
        else:
            # Words of one letter count too: the default pattern would drop them.
            terms = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", ngram_range=(1, 2), sublinear_tf=True)
        model = make_pipeline(terms, LogisticRegression(max_iter=2000, random_state=seed))
        model.fit(texts, labels)
        found["tfidf_logistic"] = classification_metrics(gold, model.predict([row["text"] for row in test]).tolist())
    return found


def sequence_labelling(train: Sequence[Row], test: Sequence[Row], seed: int) -> dict[str, dict[str, float]]:
    """The commonest tag of every word (O for a new word); and logistic regression on a word and two to each side."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    gold = [row["tags"] for row in test]
    by_word: dict[str, list[str]] = {}
    for row in train:
        for word, tag in zip(row["tokens"], row["tags"], strict=True):
            by_word.setdefault(word, []).append(tag)
    lexicon = {word: _commonest(tags) for word, tags in by_word.items()}
    by_lexicon = [legal([lexicon.get(word, OUTSIDE) for word in row["tokens"]]) for row in test]
    found = {"word_majority": span_metrics(gold, by_lexicon)}

    tags = [tag for row in train for tag in row["tags"]]
    if len(set(tags)) > 1:
        model = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=2000, random_state=seed))
        model.fit([features for row in train for features in windows(row["tokens"])], tags)
        predicted = model.predict([features for row in test for features in windows(row["tokens"])]).tolist()
        rows, start = [], 0
        for row in test:
            rows.append(legal(predicted[start : start + len(row["tokens"])]))
            start += len(row["tokens"])
        found["window_logistic"] = span_metrics(gold, rows)
    return found


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


def legal(tags: Sequence[str]) -> list[str]:
    """BIO tags in which every span begins with B: an I without its beginning becomes one.

    Tags that are chosen word by word break this often, and the strict score would drop the span.
    """
    repaired: list[str] = []
    for tag in tags:
        before = repaired[-1] if repaired else OUTSIDE
        begins = tag.startswith("I-") and before[2:] != tag[2:]
        repaired.append(f"B-{tag[2:]}" if begins else tag)
    return repaired


def _commonest(values: Sequence[str]) -> str:
    """The most frequent value; of several the first by name, so that equal data give equal results."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value))


BY_SHAPE: dict[str, Callable[[Sequence[Row], Sequence[Row], int], dict[str, dict[str, float]]]] = {
    "single_sentence": single_sentence,
    "sequence_labelling": sequence_labelling,
}
