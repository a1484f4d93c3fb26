"""Labels of the three splits of a task -> errors.

For sequence labelling, the labels are the types of the entities.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from adaptbert.codes import Code
from adaptbert.data.cleaning import name_key, seen, spelled
from adaptbert.errors import BadData, UserError, nearest

_SHOWN = 5
"""Labels of a split listed in a message."""


class Labels(NamedTuple):
    """The labels of the kept rows of a split.

    Attributes:
        counts: label -> occurrences.
        first: label -> the first row that has it, as messages show it.
    """

    counts: Counter[str]
    first: dict[str, str]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> "Labels":
        """From pairs of a label and the place of its row."""
        counts: Counter[str] = Counter()
        first: dict[str, str] = {}
        for label, place in pairs:
            counts[label] += 1
            first.setdefault(label, place)
        return cls(counts, first)

    def describe(self, names: Iterable[str], known: Sequence[str]) -> str:
        """Some of its labels, each with its count, its first row and the nearest known label."""
        descriptions = [
            f"{self.counts[label]:,} x {seen(label)}{nearest(label, known)}, first in {self.first[label]}"
            for label in sorted(set(names) & set(self.counts))
        ]
        more = len(descriptions) - _SHOWN
        return "; ".join(descriptions[:_SHOWN]) + (f"; and {more:,} more labels" if more > 0 else "")


def label_errors(
    labels: Mapping[str, Labels], known: Sequence[str] | None, renamed: Mapping[str, str], place: str | Path
) -> list[UserError]:
    """All label errors that would invalidate training or metrics.

    Args:
        labels: by split.
        known: the allowed labels, where the source fixes them.
        renamed: label in the files -> label in adaptbert (`map_labels`).
        place: the folder of the set, named after it, for the message.
    """
    errors: list[UserError] = [*_lookalikes(labels, known or [], renamed, place)]
    trained = labels["train"].counts
    for split, (counts, _) in labels.items():
        unknown = set() if known is None else set(counts) - set(known)
        if unknown:
            problem = f"labels of {split} that are not among `labels`: {labels[split].describe(unknown, known or [])}"
            remedy = f"known: {', '.join(map(spelled, sorted(known or [])))}; map_labels gives a label another name"
            errors.append(BadData(Code.UNKNOWN_LABEL, place, problem, remedy))
        if unseen := set(counts) - set(trained) - unknown:
            problem = f"labels of {split} that train never shows: {labels[split].describe(unseen, sorted(trained))}"
            mapped = f"{{{spelled(min(unseen))}: a label of train}}"
            remedy = f"add training rows, or write map_labels: {mapped} below {_section(place)}"
            errors.append(BadData(Code.LABEL_NOT_IN_TRAIN, place, problem, remedy))
    return errors


def _lookalikes(
    labels: Mapping[str, Labels], known: Sequence[str], renamed: Mapping[str, str], place: str | Path
) -> Iterator[UserError]:
    """Labels of any split or of params.yaml that look alike to a reader but would be separate classes.

    One error for the set; its remedy is the complete `map_labels`.
    """
    total: Counter[str] = sum((split_labels.counts for split_labels in labels.values()), Counter())
    first = {label: row for split_labels in reversed([*labels.values()]) for label, row in split_labels.first.items()}
    problems, mapped = list[str](), dict[str, str]()
    for group in _alike(sorted({*total, *known})):
        best, *others = sorted(group, key=lambda label: (label not in known, -total[label]))
        mapped |= dict.fromkeys(others, best)
        rows = [f"in {first.get(label, '`labels` of params.yaml')}" for label in group]
        how_many = "two" if len(group) == 2 else len(group)
        problems.append(f"{_series(map(seen, group))} are {how_many} labels, first {_series(rows)}")
    if problems:
        more = len(problems) - _SHOWN
        problem = "; ".join(problems[:_SHOWN]) + (f"; and {more} more of this kind" if more > 0 else "")
        yield BadData(Code.UNKNOWN_LABEL, place, problem, _one_spelling(mapped, known, renamed, place))


def _one_spelling(
    mapped: Mapping[str, str], known: Sequence[str], renamed: Mapping[str, str], place: str | Path
) -> str:
    """The remedy: the complete `map_labels`, and the labels to remove from `labels`."""
    combined = {**{label: mapped.get(ours, ours) for label, ours in renamed.items()}, **mapped}
    pairs = ", ".join(f"{spelled(label)}: {spelled(ours)}" for label, ours in combined.items())
    remedy = f"write map_labels: {{{pairs}}} below {_section(place)}" + (
        ", in place of what it says" if renamed else ""
    )
    superfluous = [spelled(label) for label in mapped if label in known]
    return remedy + (f", and take {', '.join(superfluous)} out of labels" if superfluous else "")


def _section(place: str | Path) -> str:
    """The section of params.yaml of a set, whose folder has its name."""
    return f"tasks.{Path(place).name}"


def _series(parts: Iterable[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _alike(labels: Sequence[str]) -> list[list[str]]:
    """Groups of labels that differ only by white space, case, compatibility forms or invisible characters."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for label in labels:
        groups[name_key(label)].append(label)
    return [group for group in groups.values() if len(group) > 1]
