"""Labels of the three splits of a task -> what is wrong with them, and what is worth a warning.

Pure: labels and texts in, errors and counts out. For sequence labelling the labels are the types of the entities.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from adaptbert.errors import BadData, UserError, nearest


def label_errors(labels: Mapping[str, Counter[str]], known: Sequence[str] | None, place: str | Path) -> list[UserError]:
    """Everything about the labels that would spoil training or scores.

    Args:
        labels: split -> label -> how often.
        known: the labels that there may be, where the source fixes them.
        place: the set, for the message.
    """
    errors: list[UserError] = []
    seen = sorted(set().union(*labels.values()))
    for one, other in _twins(seen):
        errors.append(BadData(66, place, f"{one!r} and {other!r} are two labels", "trim or map them to one"))
    if known is not None:
        for label in sorted(set(seen) - set(known)):
            problem = f"unknown label {label!r}{nearest(label, known)} in {_splits_with(label, labels)}"
            errors.append(BadData(59, place, problem, f"known: {', '.join(sorted(known))}"))
    for label in sorted(set(seen) - set(labels["train"])):
        if known is None or label in known:
            problem = f"label {label!r} in {_splits_with(label, labels)} never seen in train"
            errors.append(BadData(60, place, problem, "add training rows, or map or drop the label"))
    return errors


_FEWEST = {"class": 2, "tags": 2, "labels": 1, "spans": 1}


def class_errors(labels: Counter[str], target: str, place: str | Path) -> list[UserError]:
    """A choice needs two classes in train; where there may be none, one is enough."""
    fewest = _FEWEST.get(target, 0)
    if len(labels) >= fewest:
        return []
    return [BadData(67, place, f"{len(labels)} class in train; '{target}' needs {fewest}", "check the label column")]


def number_errors(values: Sequence[float], target: str, place: str | Path) -> list[UserError]:
    """A correlation needs two values in train."""
    if target != "number" or len(set(values)) != 1:
        return []
    return [BadData(78, place, "the target is constant: correlation undefined", "check the column of the value")]


def positive_errors(labels: Counter[str], positive: str | None, place: str | Path) -> list[UserError]:
    """The label that is called positive is one of train."""
    if positive is None or positive in labels:
        return []
    problem = f"positive is {positive!r}{nearest(positive, sorted(labels))}, which no training row has"
    return [BadData(59, place, problem, f"known: {', '.join(sorted(labels))}")]


def label_warnings(labels: Mapping[str, Counter[str]]) -> dict[str, int]:
    """Classes that a score can say little about."""
    held_out = set(labels["dev"]) | set(labels["test"])
    counts = {
        "labels_only_in_train": len(set(labels["train"]) - held_out),
        "labels_with_one_example": sum(count == 1 for count in labels["train"].values()),
    }
    return {name: count for name, count in counts.items() if count}


def conflicts(rows: Iterable[tuple[str, str, str]]) -> list[list[str]]:
    """The ids of each group of rows with equal text and different labels; rows are (id, key of the text, label)."""
    groups: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for row_id, key, label in rows:
        groups[key].append((row_id, label))
    return [[row_id for row_id, _ in group] for group in groups.values() if len({label for _, label in group}) > 1]


def _twins(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Labels that differ by white space or case only."""
    first: dict[str, str] = {}
    return [(first[folded], label) for label in labels if first.setdefault(folded := _fold(label), label) != label]


def _fold(label: str) -> str:
    return " ".join(label.casefold().split())


def _splits_with(label: str, labels: Mapping[str, Counter[str]]) -> str:
    return " and ".join(split for split, counts in labels.items() if label in counts)
