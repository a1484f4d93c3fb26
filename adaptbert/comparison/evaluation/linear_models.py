"""Features of texts and words, and the linear models that the baselines fit on them."""

from collections.abc import Callable, Sequence
from typing import Any

Answers = Callable[[Any], list[Any]]
"""Features -> an answer for each row."""
FEW_SPACES = 0.08


def few_spaces(texts: Sequence[str]) -> bool:
    """Whether spaces do not separate the words, as in Chinese: there, terms are characters.

    English has a space for every six characters, Chinese hardly any, even with some Latin words in it.
    """
    characters = sum(map(len, texts))
    return sum(character.isspace() for text in texts for character in text) < FEW_SPACES * characters


class Terms:
    """TF-IDF of each column of texts, side by side; for two columns also their product, and its sum.

    Args:
        vectors: a fitted `TfidfVectorizer`.
    """

    def __init__(self, vectors: Any) -> None:
        self._vectors = vectors

    @classmethod
    def of(cls, columns: list[list[str]]) -> "Terms | None":
        """Fitted on the training rows, (columns, rows); None where no text has a term."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = [text for column in columns for text in column]
        # Words of one letter count too: the default pattern would drop them.
        unit = {"analyzer": "char"} if few_spaces(texts) else {"token_pattern": r"(?u)\b\w+\b"}
        vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, **unit)
        terms = vectors.build_analyzer()
        return cls(vectors.fit(texts)) if any(terms(text) for text in texts) else None

    def __call__(self, columns: list[list[str]]) -> Any:
        from scipy.sparse import csr_matrix, hstack

        features = [self._vectors.transform(column) for column in columns]
        if len(features) == 1:
            return features[0]
        shared = features[0].multiply(features[1])
        return hstack([*features, shared, csr_matrix(shared.sum(1))]).tocsr()


def windows(tokens: Sequence[str], reach: int = 2) -> list[dict[str, Any]]:
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


def ridge(train: Any, gold: list[Any], labels: Sequence[str], strength: float, seed: int) -> Answers:
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=1 / strength, random_state=seed).fit(train, gold)
    return lambda features: list(model.predict(features).tolist())


def one_label(train: Any, gold: list[Any], labels: Sequence[str], strength: float, seed: int) -> Answers:
    model = logistic(train, gold, strength, seed)
    return lambda features: list(model.predict(features))


def multi_label(train: Any, gold: list[Any], labels: Sequence[str], strength: float, seed: int) -> Answers:
    """A model for each label that some rows have and others lack."""
    decided = {label: [label in answer for answer in gold] for label in labels}
    fitted = {
        label: logistic(train, [str(yes) for yes in column], strength, seed)
        for label, column in decided.items()
        if len(set(column)) > 1
    }
    always = [label for label, column in decided.items() if all(column)]

    def predict(features: Any) -> list[Any]:
        columns = {label: model.predict(features) for label, model in fitted.items()}
        rows = range(features.shape[0])
        return [sorted([*always, *(name for name, column in columns.items() if column[row] == "True")]) for row in rows]

    return predict


def logistic(train: Any, gold: Sequence[str], strength: float, seed: int) -> Any:
    """By `newton-cg`: with more terms than rows `lbfgs` spends its time on the vectors of its history, 15 times as long
    for 600 texts."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=5000, random_state=seed, solver="newton-cg").fit(train, gold)
