"""Metrics: plain functions of what was expected and what was predicted. The kind of average is part of the name."""

import math
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


def legal(tags: Sequence[str]) -> list[str]:
    """BIO tags in which every span begins with B: an I-X that does not continue an X becomes B-X.

    Tags that are chosen word by word break this often, and the strict score would drop the span.
    """
    mended: list[str] = []
    for tag in tags:
        open_type = mended[-1][2:] if mended and mended[-1] != "O" else None
        mended.append(f"B-{tag[2:]}" if tag.startswith("I-") and tag[2:] != open_type else tag)
    return mended
