"""What is to be predicted, by the labels of a file: one of some classes, several, a number, spans, a tag for each word.

A whole number of more than two values may be a class or a number, so the user decides.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from adaptbert.base.task_types import TARGETS_OF, Target, TaskType
from adaptbert.codes import Code
from adaptbert.data import tag_schemes
from adaptbert.errors import BadData
from adaptbert.project.tasks.sight import BY_HAND, Sight

_SEPARATORS = (";", "|", ",", "、", "，", "；")
_MOST_CLASSES = 200
_SHOWN = 6


class Labels(NamedTuple):
    """The labels of a task.

    Attributes:
        target: what is to be predicted.
        keys: further ones of `collect_task` that it needs.
        shown: what was seen, for the user.
    """

    target: Target
    keys: dict[str, Any]
    shown: str


def of_rows(
    sight: Sight, shape: TaskType, column: str, chosen: Target | None = None, separator: str | None = None
) -> Labels:
    """The target of a file.

    Args:
        column: of the labels, tags or answers.
        chosen: what the user says; None: by what the file holds.
        separator: of several labels in one text.

    Raises:
        BadData: two targets would do, or the values are of none.
    """
    values = [row[column] for row in sight.rows if row.get(column) not in (None, "")]
    if chosen is not None and chosen not in TARGETS_OF[shape]:
        problem = f"a {shape} has no target {chosen}"
        raise BadData(Code.UNCLEAR_FILE, "--target", problem, f"it has {', '.join(TARGETS_OF[shape])}")
    if not values:
        raise BadData(Code.SPLIT_WITHOUT_LABELS, sight.path, f"column '{column}' is empty", "name another: --columns")
    if shape == "extractive_answer":
        return _answers(sight, column)
    if shape == "sequence_labelling":
        return _tags(sight, values, column, chosen)
    target = chosen or _target(sight, values, column, separator)
    if target == "labels":
        return _several(sight, values, column, separator)
    if target == "number":
        numbers = [number for value in values if (number := _number(value)) is not None]
        span = f"{min(numbers):g} to {max(numbers):g}" if numbers else "none"
        return Labels("number", {}, f"numbers from {span}")
    if any(isinstance(value, float) for value in values):
        problem = f"column '{column}' holds numbers with a fraction, and classes are text or integers"
        raise BadData(Code.UNCLEAR_FILE, sight.path, problem, "choose: --target number")
    return Labels("class", {}, _counts(Counter(map(str, values)), "classes"))


def _target(sight: Sight, values: Sequence[Any], column: str, separator: str | None) -> Target:
    """Of sentences and pairs."""
    different = {str(value) for value in values}
    lists = [value for value in values if isinstance(value, list)]
    if any(isinstance(item, list | Mapping) for value in lists for item in value):
        problem = f"column '{column}' marks characters, as an export of doccano does"
        raise BadData(Code.UNCLEAR_FILE, sight.path, problem, BY_HAND)
    if separator is not None or lists:
        return "labels"
    if not all(_number(value) is not None for value in values):
        return _of_words(sight, different, len(values), column)
    if not all(float(str(value)).is_integer() for value in values):
        return "number"
    if len(different) <= 2:
        return "class"
    problem = f"column '{column}' has {len(different):,} different whole numbers: classes, or numbers?"
    raise BadData(Code.UNCLEAR_FILE, sight.path, problem, "choose: --target class, or --target number")


def _of_words(sight: Sight, different: set[str], rows: int, column: str) -> Target:
    for parted in _SEPARATORS:
        if sum(parted in value for value in different) > len(different) / 3:
            problem = f"column '{column}' has labels with '{parted}': several labels in one text, or one label?"
            remedy = f"choose: --target labels --separator '{parted}', or --target class"
            raise BadData(Code.UNCLEAR_FILE, sight.path, problem, remedy)
    if len(different) > _MOST_CLASSES or (rows >= 50 and len(different) > rows / 2):
        problem = f"column '{column}' has {len(different):,} different values in {rows:,} rows: is it the label?"
        remedy = "name another: --columns label=COLUMN; if it is, say --target class"
        raise BadData(Code.UNCLEAR_FILE, sight.path, problem, remedy)
    return "class"


def _several(sight: Sight, values: Sequence[Any], column: str, separator: str | None) -> Labels:
    if any(isinstance(value, str) for value in values) and separator is None:
        problem = f"column '{column}' has text, and several labels in one text need what parts them"
        raise BadData(Code.UNCLEAR_FILE, sight.path, problem, "name it: --separator ';'")
    lists = [value.split(separator) if isinstance(value, str) else value for value in values]
    lists = [value if isinstance(value, list) else [value] for value in lists]
    counts = Counter(str(label).strip() for value in lists for label in value if str(label).strip())
    return Labels("labels", {} if separator is None else {"separator": separator}, _counts(counts, "labels"))


def _tags(sight: Sight, values: Sequence[Any], column: str, chosen: Target | None) -> Labels:
    rows = [[*map(str, value)] for value in values if isinstance(value, list)]
    if any(not isinstance(tag, str) for value in values for tag in value):
        problem = f"column '{column}' holds numbers in place of tags"
        raise BadData(
            Code.UNCLEAR_FILE, sight.path, problem, "write the names of the tags, such as B-PER, into the file"
        )
    counts = Counter(tag for row in rows for tag in row)
    prefixed = [tag for tag in counts if tag[1:2] == "-" and tag[0] in "BIESLUM" and len(tag) > 2]
    others = [tag for tag in counts if tag not in prefixed and tag != tag_schemes.OUTSIDE]
    has_outside = tag_schemes.OUTSIDE in counts
    if chosen is None and others and (prefixed or has_outside):
        problem = f"column '{column}' has tags such as {others[0]} beside {(prefixed or ['O'])[0]}: spans, or tags?"
        raise BadData(Code.UNCLEAR_FILE, sight.path, problem, "choose: --target spans, or --target tags")
    if chosen == "tags" or (chosen is None and not prefixed):
        return Labels("tags", {}, _counts(counts, "tags"))
    scheme = tag_schemes.looks_like(rows)
    if scheme == "io" and all(tag_schemes.fits(row, "iob1") for row in rows):
        scheme = "iob1"  # reads these rows alike, and also those in which two spans touch
    fitting = sum(tag_schemes.fits(row, scheme) for row in rows)
    kinds = Counter(kind for row in rows for kind in _kinds(row, scheme))
    shown = f"{_counts(kinds, 'types of spans')}; {fitting:,} of {len(rows):,} rows are written as {scheme}"
    return Labels("spans", {"tag_scheme": scheme}, shown)


def _kinds(tags: Sequence[str], scheme: tag_schemes.Scheme) -> list[str]:
    """The type of each span of a row; a row with tags of another scheme has none."""
    try:
        return [kind for _, _, kind in tag_schemes.spans(tag_schemes.legal(tags, scheme), scheme)]
    except ValueError:
        return []


def _answers(sight: Sight, column: str) -> Labels:
    empty = sum(_is_empty(row, column) for row in sight.rows)
    questions = f"{len(sight.rows):,} questions"
    shown = f"{empty:,} of {questions} have no answer" if empty else f"all {questions} have an answer"
    return Labels("answer", {"no_answer": empty > 0}, shown)


def _is_empty(row: Mapping[str, Any], column: str) -> bool:
    if row.get("is_impossible") is True:
        return True
    answers = row.get(column)
    return not (answers.get("text") if isinstance(answers, Mapping) else answers)


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool | list | Mapping) else float(str(value))
    except ValueError:
        return None


def _counts(counts: Counter[str], what: str) -> str:
    shown = ", ".join(f"{name} ({count:,})" for name, count in islice(counts.most_common(), _SHOWN))
    more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
    return f"{what} ({len(counts):,}): {shown}{more}"
