"""A linear model on terms: what it reads of rows, how it answers them, and the file that keeps it.

The file holds plain values, so that opening it runs nothing: weights by their names, and as JSON in its header the
task, the terms and the classes. Equal models have equal bytes.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from adaptbert.codes import Code
from adaptbert.config.schema.task_types import TARGETS
from adaptbert.data import tag_schemes
from adaptbert.data.layout import Layout
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData

Rows = Sequence[Mapping[str, Any]]
Decoded = tuple[list[Any], NDArray[np.float64], Callable[[], list[dict[str, Any]]]]
"""The answers to rows, the confidence in each, and what computes the details of each."""
FILE = "linear.safetensors"
FEW_SPACES = 0.08


@dataclass(frozen=True)
class Terms:
    """What a linear model reads of rows: TF-IDF of one and two words of a text, or the window around a tagged word.

    In a script without spaces the terms are characters. The features of a pair are those of both texts and of what they
    share.

    Attributes:
        unit: word, character or window.
        inputs: columns of a row.
        vectorizer: of scikit-learn.
    """

    unit: str
    inputs: tuple[str, ...]
    vectorizer: Any

    @classmethod
    def fitted(cls, inputs: tuple[str, ...], rows: Rows) -> Self | None:
        """The terms of these rows; None where no text has one."""
        if inputs == ("tokens",):
            return cls("window", inputs, _vectorizer("window").fit(_words(rows)))
        texts = [row[column] for column in inputs for row in rows]
        unit = "character" if few_spaces(texts) else "word"
        vectorizer = _vectorizer(unit)
        return cls(unit, inputs, vectorizer.fit(texts)) if any(map(vectorizer.build_analyzer(), texts)) else None

    def features(self, rows: Rows) -> Any:
        """A sparse matrix: a line for each row, or for each of its words."""
        from scipy.sparse import csr_matrix, hstack

        if self.unit == "window":
            features = self.vectorizer.transform(_words(rows))
            features.eliminate_zeros()  # False is stored as 0.0: nearly half of all values
            return features
        first, *others = [self.vectorizer.transform([row[column] for row in rows]) for column in self.inputs]
        if not others:
            return first
        shared = first.multiply(*others)
        return hstack([first, *others, shared, csr_matrix(shared.sum(1))]).tocsr()


def _vectorizer(unit: str, names: Sequence[str] | None = None, idf: NDArray[np.float64] | None = None) -> Any:
    """A vectorizer of scikit-learn: of these terms, or one that is to be fitted."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.feature_extraction.text import TfidfVectorizer

    if unit == "window":
        return DictVectorizer() if names is None else DictVectorizer().fit([dict.fromkeys(names, 1.0)])
    # Words of one letter count too: the default pattern would drop them.
    terms = {"analyzer": "char"} if unit == "character" else {"token_pattern": r"(?u)\b\w+\b"}
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, vocabulary=names, **terms)
    if idf is not None:
        vectorizer.idf_ = idf
    return vectorizer


def few_spaces(texts: Sequence[str]) -> bool:
    """Whether spaces do not separate the words, as in Chinese: there, terms are characters.

    English has a space for every six characters, Chinese hardly any, even with some Latin words in it.
    """
    characters = sum(map(len, texts))
    return sum(character.isspace() for text in texts for character in text) < FEW_SPACES * characters


def _words(rows: Rows) -> Iterator[dict[str, Any]]:
    return (word for row in rows for word in _windows(row["tokens"]))


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


@dataclass(frozen=True)
class LinearModel:
    """A score for each class of a row or of its words, for each label, or a number.

    Attributes:
        names: the classes or labels, sorted; none of a number.
        weights: (features, scores).
        bias: (scores,); infinite for a label that every training row has.
    """

    task: TaskDescription
    terms: Terms
    names: list[str]
    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    rows_at_once: ClassVar[int] = 1_000

    def __call__(self, rows: Rows) -> list[Any]:
        """An answer for each row."""
        return self.decode(rows)[0]

    def decode(self, rows: Rows) -> Decoded:
        """See `decoded`."""
        return decoded(self.task, self.names, self.terms.features(rows) @ self.weights + self.bias, rows)

    def save(self, folder: Path) -> None:
        """Write its file into a folder, which is made."""
        from safetensors.numpy import save

        folder.mkdir(parents=True)
        terms = self.terms.vectorizer.get_feature_names_out().tolist()
        about = {"task": self.task.as_json(), "unit": self.terms.unit, "names": self.names, "terms": terms}
        tensors = {
            "weights": self.weights,
            "bias": self.bias,
            "idf": getattr(self.terms.vectorizer, "idf_", np.zeros(0)),
        }
        (folder / FILE).write_bytes(save(tensors, {"model": json.dumps(about)}))  # `save_file`: for its owner only

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The model that `save` wrote.

        Raises:
            BadData: the file is damaged, or another.
        """
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(folder / FILE, "numpy") as file:
                about = json.loads(file.metadata()["model"])
                weights, bias, idf = (file.get_tensor(name) for name in ("weights", "bias", "idf"))
            task, unit = TaskDescription.of(about["task"]), about["unit"]
            vectorizer = _vectorizer(unit, about["terms"], idf if len(idf) else None)
        except (OSError, SafetensorError, LookupError, TypeError, ValueError) as error:
            problem, remedy = f"cannot be used: {error}", "restore the folder with `dvc checkout --force`"
            raise BadData(Code.DAMAGED_CHECKPOINT, folder / FILE, problem, remedy) from None
        return cls(task, Terms(unit, Layout(task.task_type).inputs, vectorizer), about["names"], weights, bias)


def decoded(task: TaskDescription, names: list[str], scores: NDArray[np.float64], rows: Rows) -> Decoded:
    """The answers, with the probability of each, or of its least certain label or tag; NaN of a number.

    Args:
        names: as of a `LinearModel`.
        scores: of each row, or of each of its words, (rows or words, scores).
    """
    from scipy.special import expit, softmax

    def named(probabilities: NDArray[np.float64]) -> list[dict[str, float]]:
        return [dict(zip(names, row, strict=True)) for row in probabilities.tolist()]

    target, answers = TARGETS[task.target], list[Any]()
    if target.classes is None:
        return scores[:, 0].tolist(), np.full(len(rows), np.nan), lambda: [{} for _ in rows]
    if task.target == "labels":
        every = expit(scores)
        answers = [[name for name, score in zip(names, row, strict=True) if score > 0] for row in scores]
        sure = np.maximum(every, 1 - every).min(1)
    else:
        every = softmax(scores, 1)
        answers, sure = [names[number] for number in scores.argmax(1)], every.max(1)
    if target.classes == "row":
        return answers, sure, lambda: [{"probabilities": each} for each in named(every)]
    words = [slice(*ends) for ends in pairwise(accumulate((len(row["tokens"]) for row in rows), initial=0))]
    tags = [tag_schemes.legal(answers[row], "bio") if target.marks_spans else answers[row] for row in words]
    sure = every[np.arange(len(every)), [names.index(tag) for row in tags for tag in row]]
    least = np.array([sure[row].min() for row in words])
    return tags, least, lambda: [{"probabilities": named(every[row])} for row in words]
