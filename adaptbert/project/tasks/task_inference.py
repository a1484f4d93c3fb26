"""What `add-task` concludes of the user's files: the section of `tasks`, and what it saw.

Nothing is guessed where two answers would do: the error names the option that decides.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Format
from adaptbert.config.schema.task_types import TARGETS, TARGETS_OF, Target, TaskType, spec_of
from adaptbert.data import tag_schemes
from adaptbert.data.readers import encodings
from adaptbert.data.readers.spec import FORMATS
from adaptbert.errors import BadData, BadParams, nearest, shortened
from adaptbert.project.tasks.preview import BY_HAND, Preview, preview
from adaptbert.project.tasks.splits import SPLITS, Splits

FIELDS: Mapping[TaskType, tuple[str, ...]] = {
    "sequence_labelling": ("tokens", "tags"),
    "extractive_answer": ("context", "question", "answers"),
    "sentence_pair": ("text_a", "text_b", "label"),
    "single_sentence": ("text", "label"),
}
"""Task type -> its fields; `label` stands for the field of any target. Those with more fields first."""
_LABELS = ("label", "labels", "value")
"""The fields that a label of a row can be."""
_OPTIONAL = ("id", "group")
_NAMES = {
    "tokens": "tokens words chars",
    "tags": "tags ner_tags pos_tags upos xpos tag ner pos labels label",
    "context": "context passage paragraph article 文章 段落",
    "question": "question query 问题",
    "answers": "answers answer 答案",
    "text_a": "text_a text1 sentence1 sentence_a premise question1 s1 q1 句子1 文本1 前提",
    "text_b": "text_b text2 sentence2 sentence_b hypothesis claim question2 s2 q2 句子2 文本2 假设",
    "text": "text sentence content review comment body post tweet document message 文本 内容 评论 句子 正文",
    "label": "label labels value class classes category categories target sentiment emotion intent topic topics score "
    "rating stars gold_label 标签 类别 分类 情感 评分",
}
"""Field -> names that columns of files have for it, the field itself first."""
_SEPARATORS = (";", "|", ",", "、", "，", "；")
_MOST_CLASSES = 200
_MOST = 60
"""Characters of a value of the first row that are shown."""
_SHOWN = 6
"""Labels that are shown."""


class Said(NamedTuple):
    """What the user says of the files; None: by what they hold. `columns`: field -> column."""

    columns: Mapping[str, str] = {}
    shape: TaskType | None = None
    target: Target | None = None
    format: Format | None = None
    encoding: str | None = None
    separator: str | None = None


def said(
    columns: Sequence[str],
    shape: str | None,
    target: str | None,
    kind: str | None,
    encoding: str | None,
    separator: str | None,
) -> Said:
    """The options of the command.

    Args:
        columns: each `OURS=YOURS`.

    Raises:
        BadParams: a name that is not known, or no pair.
    """
    targets_known = [*dict.fromkeys(each for of_type in TARGETS_OF.values() for each in of_type)]
    for option, value, known in (
        ("shape", shape, [*TARGETS_OF]),
        ("target", target, targets_known),
        ("format", kind, [*FORMATS]),
    ):
        if value is not None and value not in known:
            problem = f"'{value}' is not known{nearest(value, known)}"
            raise BadParams(Code.UNKNOWN_KEY, f"--{option}", problem, f"known: {', '.join(known)}")
    if encoding is not None and (reason := encodings.problem(encoding)):
        raise BadParams(Code.UNKNOWN_KEY, "--encoding", reason, encodings.remedy())
    written: dict[str, str] = {}
    for pair in columns:
        field, _, column = pair.partition("=")
        if not field or not column:
            raise BadParams(Code.CONTRADICTION, "--columns", f"'{pair}' is no pair", "write --columns OURS=YOURS")
        if written.setdefault(field, column) != column:
            remedy = "write --columns OURS=YOURS once for each"
            raise BadParams(Code.CONTRADICTION, "--columns", f"'{field}' twice", remedy)
    return Said(written, cast(TaskType, shape), cast(Target, target), cast(Format, kind), encoding, separator)


class Inferred(NamedTuple):
    """What the files hold.

    Attributes:
        values: The keys of the files in `tasks`, but for the paths.
        shown: lines for the user.
    """

    values: dict[str, Any]
    shown: list[str]


def of_files(splits: Splits, said: Said) -> Inferred:
    """Look at the files of a task.

    Raises:
        BadData: a file cannot be read, or it is not clear what it holds; the message names the option that says it.
        BadParams: an option that does not fit.
    """
    previews = {split: preview(path, said.format, said.encoding) for split, path in splits.files.items()}
    train = previews["train"]
    for other in previews.values():
        if other.format != train.format:
            problem = f"{other.format}, while {train.path} is {train.format}"
            raise other.unclear(problem, "give all files in one format, or name it: --format")
    shape, fields = assigned(train, said.columns, said.shape)
    if shape == "extractive_answer":  # one question without an answer decides
        every = {split: preview(path, said.format, said.encoding, head=None) for split, path in splits.files.items()}
        train = train._replace(rows=[row for each in every.values() for row in each.rows])
    # A user who names the field `labels` or `value` has said the target, too.
    of_field: Target | None = "labels" if "labels" in said.columns else "number" if "value" in said.columns else None
    column = list(fields.values())[len(FIELDS[shape]) - 1]
    labels = labels_of(train, shape, column, said.target or of_field, said.separator)
    named = {(TARGETS[labels.target].column if field == "label" else field): name for field, name in fields.items()}
    mapped = {field: name for field, name in named.items() if field != name or field in _OPTIONAL}
    values: dict[str, Any] = {**spec_of(shape, labels.target).written, **labels.keys}
    if not all(each.is_named for each in previews.values()):
        values["format"] = train.format
    values |= {"encoding": said.encoding} if said.encoding else {}
    values |= {"columns": mapped} if mapped else {}
    of_labels = labels.shown if shape == "extractive_answer" else f"labels of {len(train.rows):,} rows: {labels.shown}"
    return Inferred(
        values,
        [*_files(previews, splits, grouped="group" in mapped), *_first_row(train, named, mapped), of_labels],
    )


def paths_of(splits: Splits, places: Mapping[Path, Path]) -> dict[str, Any]:
    """The keys of the files in `tasks`; a split that is cut off names the file of train.

    Args:
        places: file -> where it lies in the project.
    """
    train = splits.files["train"]
    keys: dict[str, Any] = {split: places[splits.files.get(split, train)].as_posix() for split in SPLITS}
    return {**keys, **({"split": dict(splits.shares)} if splits.shares else {})}


def _files(previews: Mapping[str, Preview], splits: Splits, *, grouped: bool) -> Iterator[str]:
    for split in SPLITS:
        if split in previews:
            kind = previews[split].format
            yield f"{split}: {previews[split].path} ({FORMATS[kind].title or kind})"
        else:
            of, by = ("groups", "name, each whole") if grouped else ("rows", "text")
            yield f"{split}: {splits.shares[split]:.0%} of the {of} of train, chosen by a hash of their {by}"


def _first_row(train: Preview, named: Mapping[str, str], mapped: Mapping[str, str]) -> Iterator[str]:
    yield "the first row:"
    for field, name in named.items():
        column = f" (column {name})" if field in mapped and name != field else ""
        value = train.rows[0].get(name)
        text = " ".join(map(str, value)) if isinstance(value, list) else str(value).replace("\n", " ")
        yield f"  {field}{column}: {shortened(text, _MOST)}"
    numbered = train.format == "conll"
    unread = [name for name in train.columns if name not in named.values()]
    unread = [name for name in unread if not (numbered and (name.isdecimal() or name == "document"))]
    if unread:
        optional = " ".join(f"--columns {name}={name}" for name in _OPTIONAL if name in unread)
        yield f"columns that are not read: {', '.join(unread)}{f' (read if named: {optional})' if optional else ''}"


# --- which column is which field, by its name


def assigned(file: Preview, columns: Mapping[str, str], shape: TaskType | None) -> tuple[TaskType, dict[str, str]]:
    """The task type, and field -> column. A label stands under `label`, whatever its target will be.

    Args:
        columns: what the user says.
        shape: the same.

    Raises:
        BadData: no task type fits the columns, or several do.
        BadParams: the user names a column or a field that is not there.
    """
    fields = dict.fromkeys(field for of_type in FIELDS.values() for field in of_type)
    known = [*fields, "labels", "value", *_OPTIONAL]
    for field, column in columns.items():
        if field not in known:
            problem = f"'{field}' is no field{nearest(field, known)}"
            raise BadParams(Code.UNKNOWN_KEY, "--columns", problem, f"fields are {', '.join(known)}")
        if column not in file.columns:
            problem = f"{file.path} has no column '{column}'{nearest(column, file.columns)}"
            raise BadParams(Code.UNKNOWN_KEY, f"--columns {field}", problem, f"it has {', '.join(file.columns)}")
    fixed = {("label" if field in _LABELS else field): column for field, column in columns.items()}
    kinds = [kind for kind in FIELDS if shape in (None, kind)]
    fits = {kind: chosen for kind in kinds if (chosen := _fields(file, kind, fixed))}
    there = ", ".join(file.columns)
    if not fits:
        needed = FIELDS[shape or "single_sentence"]
        example = " ".join(f"--columns {field}=COLUMN" for field in needed)
        pair = "" if shape else "; of a pair of texts: --columns text_a=COLUMN --columns text_b=COLUMN"
        problem = f"which columns are {' and '.join(needed)}? There are {there}"
        raise file.unclear(problem, f"name them: {example}{pair}")
    kind, *others = fits
    if others:
        raise file.unclear(f"its columns fit {' and '.join(fits)}: {there}", f"choose one: --shape {kind}")
    return kind, fits[kind]


def _fields(file: Preview, kind: TaskType, fixed: Mapping[str, str]) -> dict[str, str] | None:
    """The columns of a task type; None where one is missing, or where the user named a field that it does not have."""
    fields = FIELDS[kind]
    if not set(fixed) <= {*fields, *_OPTIONAL}:
        return None
    by_name = {column.strip().lower(): column for column in reversed(file.columns)}
    chosen = {field: column for field, column in fixed.items() if field in fields}
    for field in fields:
        if field not in chosen:
            named = (by_name[name] for name in _NAMES[field].split() if name in by_name)  # the surest first
            column = next((column for column in named if column not in chosen.values()), None)
            if column is None or not _can_be(file, field, column):
                return None
            chosen[field] = column
    return {field: chosen[field] for field in fields} | {field: fixed[field] for field in _OPTIONAL if field in fixed}


def _can_be(file: Preview, field: str, column: str) -> bool:
    """Whether the values can be those of the field: lists of tokens, text, or a label of any kind."""
    values = [row[column] for row in file.rows[:50] if row.get(column) is not None]
    if field in ("tokens", "tags"):
        return bool(values) and all(isinstance(value, list) for value in values)
    if field == "answers":
        return bool(values) and all(isinstance(value, list | Mapping) for value in values)
    return field == "label" or all(isinstance(value, str) for value in values)


# --- what is to be predicted, by the labels of a file


class Labels(NamedTuple):
    """The labels of a task.

    Attributes:
        target: what is to be predicted.
        keys: further ones of `tasks` that it needs.
        shown: what was seen, for the user.
    """

    target: Target
    keys: dict[str, Any]
    shown: str


def labels_of(
    file: Preview, shape: TaskType, column: str, chosen: Target | None = None, separator: str | None = None
) -> Labels:
    """The target of a file: one of some classes, several, a number, spans, a tag for each word, or answers.

    Args:
        column: of the labels, tags or answers.
        chosen: what the user says; None: by what the file holds.
        separator: of several labels in one text.

    Raises:
        BadData: two targets would do, or the values are of none.
    """
    values = [row[column] for row in file.rows if row.get(column) not in (None, "")]
    if chosen is not None and chosen not in TARGETS_OF[shape]:
        problem = f"a {shape} has no target {chosen}"
        raise BadData(Code.UNCLEAR_FILE, "--target", problem, f"it has {', '.join(TARGETS_OF[shape])}")
    if not values:
        raise BadData(Code.LABEL_MISSING, file.path, f"column '{column}' is empty", "name another: --columns")
    if shape == "extractive_answer":
        return _answers(file, column)
    if shape == "sequence_labelling":
        return _tags(file, values, column, chosen)
    target = chosen or _target(file, values, column, separator)
    if target == "labels":
        return _several(file, values, column, separator)
    if target == "number":
        numbers = [number for value in values if (number := _number(value)) is not None]
        span = f"{min(numbers):g} to {max(numbers):g}" if numbers else "none"
        return Labels("number", {}, f"numbers from {span}")
    if any(isinstance(value, float) for value in values):
        problem = f"column '{column}' holds numbers with a fraction, and classes are text or integers"
        raise file.unclear(problem, "choose: --target number")
    return Labels("class", {}, _counts(Counter(map(str, values)), "classes"))


def _target(file: Preview, values: Sequence[Any], column: str, separator: str | None) -> Target:
    """Of sentences and pairs. A whole number of more than two values may be a class or a number: the user decides."""
    different = {str(value) for value in values}
    lists = [value for value in values if isinstance(value, list)]
    if any(isinstance(item, list | Mapping) for value in lists for item in value):
        raise file.unclear(f"column '{column}' marks characters, as an export of doccano does", BY_HAND)
    if separator is not None or lists:
        return "labels"
    if not all(_number(value) is not None for value in values):
        return _of_words(file, different, len(values), column)
    if not all(float(str(value)).is_integer() for value in values):
        return "number"
    if len(different) <= 2:
        return "class"
    problem = f"column '{column}' has {len(different):,} different whole numbers: classes, or numbers?"
    raise file.unclear(problem, "choose: --target class, or --target number")


def _of_words(file: Preview, different: set[str], rows: int, column: str) -> Target:
    for parted in _SEPARATORS:
        if sum(parted in value for value in different) > len(different) / 3:
            problem = f"column '{column}' has labels with '{parted}': several labels in one text, or one label?"
            raise file.unclear(problem, f"choose: --target labels --separator '{parted}', or --target class")
    if len(different) > _MOST_CLASSES or (rows >= 50 and len(different) > rows / 2):
        problem = f"column '{column}' has {len(different):,} different values in {rows:,} rows: is it the label?"
        raise file.unclear(problem, "name another: --columns label=COLUMN; if it is, say --target class")
    return "class"


def _several(file: Preview, values: Sequence[Any], column: str, separator: str | None) -> Labels:
    if any(isinstance(value, str) for value in values) and separator is None:
        problem = f"column '{column}' has text, and several labels in one text need what parts them"
        raise file.unclear(problem, "name it: --separator ';'")
    lists = [value.split(separator) if isinstance(value, str) else value for value in values]
    lists = [value if isinstance(value, list) else [value] for value in lists]
    counts = Counter(str(label).strip() for value in lists for label in value if str(label).strip())
    return Labels("labels", {} if separator is None else {"separator": separator}, _counts(counts, "labels"))


def _tags(file: Preview, values: Sequence[Any], column: str, chosen: Target | None) -> Labels:
    rows = [[*map(str, value)] for value in values if isinstance(value, list)]
    if any(not isinstance(tag, str) for value in values for tag in value):
        problem = f"column '{column}' holds numbers in place of tags"
        raise file.unclear(problem, "write the names of the tags, such as B-PER, into the file")
    counts = Counter(tag for row in rows for tag in row)
    prefixed = [tag for tag in counts if tag[1:2] == "-" and tag[0] in "BIESLUM" and len(tag) > 2]
    others = [tag for tag in counts if tag not in prefixed and tag != tag_schemes.OUTSIDE]
    if chosen is None and others and (prefixed or tag_schemes.OUTSIDE in counts):
        problem = f"column '{column}' has tags such as {others[0]} beside {(prefixed or ['O'])[0]}: spans, or tags?"
        raise file.unclear(problem, "choose: --target spans, or --target tags")
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


def _answers(file: Preview, column: str) -> Labels:
    empty = sum(_is_empty(row, column) for row in file.rows)
    questions = f"{len(file.rows):,} questions"
    shown = f"{empty:,} of {questions} have no answer" if empty else f"all {questions} have an answer"
    return Labels("answer", {"no_answer": empty > 0}, shown)


def _is_empty(row: Mapping[str, Any], column: str) -> bool:
    answers = row.get(column)
    return row.get("is_impossible") is True or not (answers.get("text") if isinstance(answers, Mapping) else answers)


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool | list | Mapping) else float(str(value))
    except ValueError:
        return None


def _counts(counts: Counter[str], what: str) -> str:
    shown = ", ".join(f"{name} ({count:,})" for name, count in islice(counts.most_common(), _SHOWN))
    more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
    return f"{what} ({len(counts):,}): {shown}{more}"
