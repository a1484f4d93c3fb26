"""Metrics: plain functions of what was expected and what was predicted. The kind of average is part of the name."""

import math
from collections import Counter
from collections.abc import Sequence


def bits_per_char(mlm_loss: float, tokens: int, characters: int) -> float:
    """Masked-LM loss as bits per character, which survives a change of vocabulary.

    The mean loss (nats a token, over the masked tokens) is taken for every token of the text: a pseudo-likelihood
    (Salazar et al. 2020), not a compression rate.

    Args:
        tokens: of the text, special tokens not counted.
        characters: of the text.
    """
    return mlm_loss * tokens / characters / math.log(2)


def classification_metrics(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Macro-averaged F1 over the labels that occur in `gold`, and accuracy."""
    from sklearn.metrics import accuracy_score, f1_score

    labels = sorted(set(gold))
    return {
        "f1_macro": float(f1_score(gold, predicted, labels=labels, average="macro", zero_division=0)),
        "accuracy": float(accuracy_score(gold, predicted)),
    }


def span_metrics(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Strict span scores of BIO tags: a span counts when both ends and the type agree (micro average)."""
    from seqeval.metrics.v1 import precision_recall_fscore_support
    from seqeval.scheme import IOB2

    gold_lists, predicted_lists = [list(tags) for tags in gold], [list(tags) for tags in predicted]
    precision, recall, f1, _ = precision_recall_fscore_support(
        gold_lists, predicted_lists, average="micro", scheme=IOB2, zero_division=0
    )
    return {"f1_span": float(f1), "precision_span": float(precision), "recall_span": float(recall)}


def label_metrics(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], labels: Sequence[str]
) -> dict[str, float]:
    """Of rows with any number of labels: macro- and micro-averaged F1, and the share of rows that are all right."""
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.preprocessing import MultiLabelBinarizer

    binary = MultiLabelBinarizer(classes=list(labels)).fit([])
    right, found = binary.transform(gold), binary.transform(predicted)
    return {
        "f1_macro": float(f1_score(right, found, average="macro", zero_division=0)),
        "f1_micro": float(f1_score(right, found, average="micro", zero_division=0)),
        "exact_match": float(accuracy_score(right, found)),
    }


def number_metrics(gold: Sequence[float], predicted: Sequence[float]) -> dict[str, float]:
    """Correlations, 0 where one side is constant, and the root of the mean squared error."""
    import numpy as np
    from scipy import stats

    right, found = np.array(gold), np.array(predicted)
    varies = len(right) > 1 and np.ptp(right) > 0 and np.ptp(found) > 0
    return {
        "pearson": float(stats.pearsonr(right, found).statistic) if varies else 0.0,
        "spearman": float(stats.spearmanr(right, found).statistic) if varies else 0.0,
        "rmse": float(np.sqrt(np.mean((right - found) ** 2))),
    }


def tag_metrics(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Accuracy over all words, and macro-averaged F1 over the tags that occur in `gold`."""
    words = classification_metrics([tag for tags in gold for tag in tags], [tag for tags in predicted for tag in tags])
    return {"accuracy": words["accuracy"], "f1_macro": words["f1_macro"]}


def answer_metrics(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, float]:
    """F1 of words and exact match, the best over the right answers of a row; none is right where there is none."""
    f1 = [
        max(_word_f1(right, found) for right in rights or [""]) for rights, found in zip(gold, predicted, strict=True)
    ]
    exact = [found in (rights or [""]) for rights, found in zip(gold, predicted, strict=True)]
    return {"f1_answer": sum(f1) / len(f1), "exact_match": sum(exact) / len(exact)}


def _word_f1(right: str, found: str) -> float:
    gold, predicted = Counter(right.lower().split()), Counter(found.lower().split())
    if not gold or not predicted:
        return float(gold == predicted)
    return 2 * (gold & predicted).total() / (gold.total() + predicted.total())


def legal(tags: Sequence[str]) -> list[str]:
    """BIO tags in which every span begins with B: an I-X that does not continue an X becomes B-X.

    Tags that are chosen word by word break this often, and the strict score would drop the span.
    """
    mended: list[str] = []
    for tag in tags:
        open_type = mended[-1][2:] if mended and mended[-1] != "O" else None
        mended.append(f"B-{tag[2:]}" if tag.startswith("I-") and tag[2:] != open_type else tag)
    return mended
