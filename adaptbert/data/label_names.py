"""Labels of the three splits of a task -> errors. For sequence labelling, the labels are the types of the entities."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.data.cleaning import name_key, odd_characters, seen, spelled
from adaptbert.errors import BadData, UserError, nearest

_SHOWN = 5
"""Labels listed in a message."""
_WHOLE = re.compile(r"^([-+]?\d+)\.0+$")
"""A number as a column of floats has it: `1.0` for `1`."""


@dataclass
class Labels:
    """The labels of the kept rows of a split.

    Attributes:
        counts: label -> occurrences.
        first: label -> the first row that has it, as messages show it.
    """

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, label: str, place: str) -> None:
        self.counts[label] += 1
        self.first.setdefault(label, place)

    def describe(self, names: Iterable[str], known: Sequence[str]) -> str:
        """Some of its labels, each with its count, its first row and the nearest known label."""
        return _some(
            f"{self.counts[label]:,} x {seen(label)}{nearest(label, known)}, first in {self.first[label]}"
            for label in sorted(names)
        )


def label_errors(
    labels: Mapping[str, Labels], known: Sequence[str] | None, renamed: Mapping[str, str], place: Path
) -> Iterator[UserError]:
    """All label errors that would invalidate training or metrics.

    Args:
        labels: by split.
        known: the allowed labels, where params.yaml has them.
        renamed: label in the files -> label in adaptbert (`map_labels`).
        place: the folder of the set, named after it, for the message.
    """
    section = f"tasks.{place.name}"
    yield from _lookalikes(labels, known or [], renamed, place, section)
    trained = labels["train"].counts
    for split, of_split in labels.items():
        unknown = set() if known is None else set(of_split.counts) - set(known)
        if unknown:
            problem = f"labels of {split} that are not among `labels`: {of_split.describe(unknown, known or [])}"
            remedy = f"known: {', '.join(map(spelled, sorted(known or [])))}; map_labels gives a label another name"
            yield BadData(Code.UNKNOWN_LABEL, place, problem, remedy)
        if unseen := set(of_split.counts) - set(trained) - unknown:
            problem = f"labels of {split} that train never shows: {of_split.describe(unseen, sorted(trained))}"
            mapped = f"{{{spelled(min(unseen))}: a label of train}}"
            remedy = f"add training rows, or write map_labels: {mapped} below {section}"
            yield BadData(Code.LABEL_NOT_IN_TRAIN, place, problem, remedy)


def _lookalikes(
    labels: Mapping[str, Labels], known: Sequence[str], renamed: Mapping[str, str], place: Path, section: str
) -> Iterator[UserError]:
    """Labels of any split or of params.yaml that look alike to a reader but would be separate classes.

    One error for the set; its remedy is the complete `map_labels`, and the labels to remove from `labels`.
    """
    total: Counter[str] = sum((of_split.counts for of_split in labels.values()), Counter())
    first = dict.fromkeys(known, "`labels` of params.yaml")
    for of_split in reversed([*labels.values()]):
        first |= of_split.first
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for label in sorted(first):
        groups[_WHOLE.sub(r"\1", name_key(label))].append(label)
    alike = [group for group in groups.values() if len(group) > 1]
    if not alike:
        return
    problems, mapped = list[str](), dict[str, str]()
    for group in alike:
        best, *others = sorted(group, key=lambda label: (label not in known, -total[label]))
        mapped |= dict.fromkeys(others, best)
        places = _series([f"in {first[label]}" for label in group])
        how_many = "two" if len(group) == 2 else len(group)
        names = [f"{seen(label)}{odd_characters(label, ''.join({*group} - {label}))}" for label in group]
        problems.append(f"{_series(names)} are {how_many} labels, first {places}")
    remedy = renaming(mapped, renamed, section)
    if superfluous := [spelled(label) for label in mapped if label in known]:
        remedy += f", and take {', '.join(superfluous)} out of labels"
    yield BadData(Code.UNKNOWN_LABEL, place, _some(problems), remedy)


def renaming(mapped: Mapping[str, str], renamed: Mapping[str, str], section: str) -> str:
    """The remedy that maps labels, together with those that `map_labels` of the section renames already."""
    combined = {**{label: mapped.get(ours, ours) for label, ours in renamed.items()}, **mapped}
    pairs = ", ".join(f"{spelled(label)}: {spelled(ours)}" for label, ours in combined.items())
    return f"write map_labels: {{{pairs}}} below {section}" + (", in place of what it says" if renamed else "")


def _some(parts: Iterable[str]) -> str:
    shown = [*parts]
    more = len(shown) - _SHOWN
    return "; ".join(shown[:_SHOWN]) + (f"; and {more:,} more labels" if more > 0 else "")


def _series(parts: Sequence[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last
