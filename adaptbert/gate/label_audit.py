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


def class_errors(labels: Counter[str], place: str | Path) -> list[UserError]:
    """A classification needs two classes in train."""
    if len(labels) >= 2:
        return []
    return [BadData(67, place, f"{len(labels)} class in train; classification needs 2", "check the label column")]


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


def entity_types(tags: Iterable[str]) -> list[str]:
    """The types of the entities that begin in a BIO row."""
    return [tag[2:] for tag in tags if tag.startswith("B-")]


def _twins(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Labels that differ by white space or case only."""
    first: dict[str, str] = {}
    return [(first[folded], label) for label in labels if first.setdefault(folded := _fold(label), label) != label]


def _fold(label: str) -> str:
    return " ".join(label.casefold().split())


def _splits_with(label: str, labels: Mapping[str, Counter[str]]) -> str:
    return " and ".join(split for split, counts in labels.items() if label in counts)
