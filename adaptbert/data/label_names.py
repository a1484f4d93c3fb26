"""Labels of the three splits of a task -> errors. For sequence labelling, the labels are the types of the entities.

Also what a label is not: missing, refused, of a text that has another one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Scheme, Task
from adaptbert.core.english import listed
from adaptbert.data import tag_schemes
from adaptbert.data.cleaning import name_key, odd_characters, seen, spelled
from adaptbert.data.layout import Layout
from adaptbert.errors import BadData, UserError, first_of, nearest

_SHOWN = 5
"""Labels listed in a message."""
_RARE = 0.1
"""Share of the rows from which a label counts as a class."""
_WHOLE = re.compile(r"^([-+]?\d+)\.0+$")
"""A number as a column of floats has it: `1.0` for `1`."""
ANSWER, _REFUSED = "answer", ("reject", "ignore")
"""The column of Prodigy with what the annotator says of the label of a row."""
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+")
NONE_APPLIES = "does none apply to them, or were they not annotated?"
Names = Mapping[str, str | None]
"""Label of the files -> ours; None: its rows are left out."""


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
        shown = (
            f"{self.counts[name]:,} x {seen(name)}{nearest(name, known)}, first in {self.first[name]}"
            for name in sorted(names)
        )
        return first_of(shown, _SHOWN, "; ")


def label_errors(labels: Mapping[str, Labels], task: Task, place: Path) -> Iterator[UserError]:
    """All label errors that would invalidate training or metrics.

    Args:
        labels: by split.
        task: its `labels` are the allowed ones, where it has them; its `map_labels` were applied.
        place: the folder of the set, named after it, for the message.
    """
    yield from _lookalikes(labels, task, place)
    known, trained = task.labels or [], labels["train"].counts
    for split, of_split in labels.items():
        unknown = set() if task.labels is None else set(of_split.counts) - set(known)
        if unknown:
            problem = f"labels of {split} that are not among `labels`: {of_split.describe(unknown, known)}"
            remedy = f"known: {', '.join(map(spelled, sorted(known)))}; map_labels gives a label another name"
            yield BadData(Code.UNKNOWN_LABEL, place, problem, remedy)
        if unseen := set(of_split.counts) - set(trained) - unknown:
            problem = f"labels of {split} that train never shows: {of_split.describe(unseen, sorted(trained))}"
            mapped = f"{{{spelled(min(unseen))}: a label of train}}"
            remedy = f"add training rows, or write map_labels: {mapped} below tasks.{place.name}"
            yield BadData(Code.LABEL_NOT_IN_TRAIN, place, problem, remedy)


def _lookalikes(labels: Mapping[str, Labels], task: Task, place: Path) -> Iterator[UserError]:
    """Labels of any split or of params.yaml that look alike to a reader but would be separate classes.

    One error for the set; its remedy is the complete `map_labels`, and the labels to remove from `labels`.
    """
    known, total = task.labels or [], sum((of_split.counts for of_split in labels.values()), Counter[str]())
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
        places = listed([f"in {first[label]}" for label in group])
        how_many = "two" if len(group) == 2 else len(group)
        names = [f"{seen(label)}{odd_characters(label, ''.join({*group} - {label}))}" for label in group]
        problems.append(f"{listed(names)} are {how_many} labels, first {places}")
    remedy = renaming(mapped, task, f"tasks.{place.name}")
    if superfluous := [spelled(label) for label in mapped if label in known]:
        remedy += f", and take {', '.join(superfluous)} out of labels"
    yield BadData(Code.UNKNOWN_LABEL, place, first_of(problems, _SHOWN, "; "), remedy)


def of_cell(cell: Any, layout: Layout, scheme: Scheme | None) -> list[str]:
    """The labels of a cell: classes, tags, or the type of each span; BIO where no scheme is said."""
    return [*(tag_schemes.kinds(cell, scheme or "bio") if layout.has_spans else layout.output.labels(cell))]


def is_missing(label: object) -> bool:
    """Whether a cell holds nothing, such as no label: null, an empty text, or the NaN of a program."""
    return label is None or (isinstance(label, str) and not label) or (isinstance(label, float) and isnan(label))


def refusal(values: Mapping[str, Any], read: Collection[str]) -> str | None:
    """Why the label of a row does not hold, unless the column that says so is itself read; None: it holds."""
    answer = values.get(ANSWER)
    return f"'{answer}' in column {ANSWER}" if answer in _REFUSED and ANSWER not in read else None


def no_labels(labels: Collection[str], trained: Collection[str]) -> list[str]:
    """The labels that may say that a row has none: `nan` of pandas; -1, the only negative number, beside 0, 1 and 2, or
    where the training rows never have it; `-` of annotators who do not agree beside two classes, which are not +."""
    below = any(label[:1] == "-" and label not in ("-", "-1") for label in labels)
    is_odd = not below and ({"0", "1", "2"} <= {*labels} or ("0" in labels and "-1" not in trained))
    odd = [label for label in ("nan", "NaN", "<NA>", *(["-1"] if is_odd else [])) if label in labels]
    are_beside = "-" in labels and "+" not in labels and len({*labels} - {*odd, "-"}) > 1
    return [*odd, *(["-"] if are_beside else [])]


def may_be_classes(odd: Collection[str], counts: Counter[str]) -> list[str]:
    """The labels of `no_labels` that are as frequent as a class: only the user knows whether they are one."""
    return [label for label in odd if label in ("-1", "-") and counts[label] >= _RARE * counts.total()]


def no_label_errors(labels: Mapping[str, Labels], task: Task, place: Path) -> list[UserError]:
    """The error of labels of rows that are probably none, but for those that params.yaml names."""
    rows, renamed = sum((of_split.counts for of_split in labels.values()), Counter[str]()), task.map_labels or {}
    said = {*(task.labels or ()), *renamed, *renamed.values()}
    odd = [label for label in no_labels(rows, labels["train"].counts) if label not in said]
    if not odd:
        return []
    problem = f"usually no label: {listed([f'{spelled(label)} ({rows[label]:,} rows)' for label in odd])}"
    remedy = f"{renaming(dict.fromkeys(odd), task, f'tasks.{place.name}')} to leave these rows out"
    return [BadData(Code.LABEL_MISSING, place, problem, f"{remedy}; a label that is one is mapped to itself")]


def with_another_label(texts: Iterable[tuple[str, ...]], labels: Iterable[Any]) -> int:
    """How many rows have a text that another row has with another label, of those with a text and a label."""
    every = zip(texts, labels, strict=True)
    rows = [(text, str(label)) for text, label in every if all(map(str.strip, text)) and not is_missing(label)]
    different = Counter(text for text, _ in {*rows})
    return sum(different[text] > 1 for text, _ in rows)


def renaming(mapped: Names, task: Task, section: str) -> str:
    """The remedy that maps labels, together with those that `map_labels` of the task renames already."""
    renamed = task.map_labels or {}
    combined = {**{label: mapped.get(ours or "", ours) for label, ours in renamed.items()}, **mapped}
    pairs = ", ".join(
        f"{spelled(label)}: {'null' if ours is None else spelled(ours)}" for label, ours in combined.items()
    )
    return f"write map_labels: {{{pairs}}} below {section}" + (", in place of what it says" if renamed else "")
