"""The kind of a task's target -> for each of its metrics how it is computed, with what, and on which rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any

_MACRO = "macro: mean over the classes that occur among the right answers"
_ROWS = "mean over rows"
_SKLEARN, _SCIPY, _SEQEVAL, _OURS = "scikit-learn", "scipy", "seqeval", "adaptbert"


@dataclass(frozen=True)
class _Metric:
    average: str
    scheme: str
    library: str


_SPANS = "IOB2, strict: both ends and the type agree"
_ANSWERS = "SQuAD (words); CMRC 2018 (characters, longest shared run) where most answers are in a script without spaces"
_SPAN = _Metric("micro: all spans together", _SPANS, _SEQEVAL)
_WHOLE = "one label a row"
POSITIVE = "f1_positive"
"""Of a class: F1 of the one label that params name; computed where they name one."""
METRICS: Mapping[str, Mapping[str, _Metric]] = {
    "class": {
        "f1_macro": _Metric(_MACRO, _WHOLE, _SKLEARN),
        "accuracy": _Metric(_ROWS, _WHOLE, _SKLEARN),
        POSITIVE: _Metric("none: F1 of the label that params call positive", _WHOLE, _SKLEARN),
    },
    "labels": {
        "f1_macro": _Metric(_MACRO, "several labels a row", _SKLEARN),
        "f1_micro": _Metric("micro: all decisions together", "several labels a row", _SKLEARN),
        "exact_match": _Metric(_ROWS, "the whole set of labels is right", _SKLEARN),
    },
    "number": {
        "pearson": _Metric("all rows together", "0 where one side is constant", _SCIPY),
        "spearman": _Metric("all rows together", "0 where one side is constant", _SCIPY),
        "rmse": _Metric("all rows together", "in the unit of the target; lower is better", _SKLEARN),
    },
    "spans": {"f1_span": _SPAN, "precision_span": _SPAN, "recall_span": _SPAN},
    "tags": {
        "accuracy": _Metric("mean over tokens", "one tag a token", _SKLEARN),
        "f1_macro": _Metric(_MACRO, "one tag a token", _SKLEARN),
    },
    "answer": {
        "f1_answer": _Metric("mean over questions of the best answer", _ANSWERS, _OURS),
        "exact_match": _Metric("mean over questions of the best answer", _ANSWERS, _OURS),
    },
}
"""Target -> its metrics. The first is the one that cells are compared by."""

COMPARED_BY = {target: next(iter(metrics)) for target, metrics in METRICS.items()}


def limits(metric: str) -> tuple[float, float]:
    """The least and the largest value of a metric that cells are compared by."""
    return (-1.0, 1.0) if metric == "pearson" else (0.0, 1.0)


def contract(about: Mapping[str, Any], ids: Mapping[str, Sequence[str]]) -> dict[str, list[dict[str, Any]]]:
    """For each metric of a task its name, split, average, scheme, library and version, and the rows it was computed on.

    The entries of a split stand in a list, which `dvc metrics` leaves out of its columns.

    Args:
        about: the task: `target`, and `positive` where a label is called so.
        ids: split -> ids of all rows that were scored. Their digest does not depend on their order.
    """
    return {
        split: [
            {
                "metric": f"{split}/{name}",
                "average": metric.average,
                "scheme": metric.scheme,
                "library": metric.library,
                "version": version(metric.library),
                "rows": len(rows),
                "rows_digest": sha256("\n".join(sorted(rows)).encode()).hexdigest()[:16],
            }
            for name, metric in METRICS[about["target"]].items()
            if name != POSITIVE or about.get("positive") is not None
        ]
        for split, rows in ids.items()
    }
