"""What `add-task` concludes of the user's files: the section of `tasks`, and what it saw.

First which column is which field, by its name and its values; then the type, by the labels. Nothing is guessed where
two answers would do: the error names the option that decides.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Format
from adaptbert.config.schema.task_types import SPECS, TaskName
from adaptbert.data import tag_schemes
from adaptbert.data.formats import FORMATS, KNOWN, format_of
from adaptbert.data.layout import Layout
from adaptbert.data.read_table import parquet_columns
from adaptbert.data.read_text import OTHER_ENCODING, beginning, encoding_problem
from adaptbert.data.rows import SourceFile, first_rows
from adaptbert.errors import BadData, BadParams, nearest, shortened

_FOUND: Mapping[TaskName, str] = {
    spec.written["type"]: spec.output.column for spec in SPECS.values() if spec.output.column in ("labels", "value")
}
_TYPES: Sequence[tuple[tuple[str, ...], TaskName]] = [
    ((*spec.rows.inputs, "label" if name in _FOUND else spec.output.column), name)
    for spec in reversed([*SPECS.values()])
    for name in [spec.written["type"]]
]
ROWS = {fields: {name for own, name in _TYPES if own == fields} for fields, _ in _TYPES}
"""The fields that a row may have -> the types of its task. The last field is what is found; `label` stands for `labels`
and `value` as well. Those with more fields first."""
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
_MOST_ROWS = 100_000
"""Of a file that are looked at: files may be sorted by label."""
_MOST_CHARACTERS, _MOST_LABELS = 60, 6
"""Of a value of the first row, and of the labels, that are shown."""
_BY_HAND = "write its block by hand, as in docs/how-to/labelled-sets.md"
_EXPORTS = ("doccano", "label_studio")


class Said(NamedTuple):
    """What the user says of the files; None: by what they hold. `columns`: field -> column. Other options than `type`
    may have said the type."""

    columns: Mapping[str, str] = {}
    type: TaskName | None = None
    format: Format | None = None
    encoding: str | None = None
    separator: str | None = None
    tag_scheme: str | None = None


def said(columns: Mapping[str, str], **options: str | None) -> Said:
    """The options of the command; raises BadParams for an encoding that is not known, and for two types."""
    encoding = options["encoding"]
    if encoding is not None and (reason := encoding_problem(encoding)):
        raise BadParams(Code.UNKNOWN_KEY, "--encoding", reason, OTHER_ENCODING)
    types: dict[str, str | None] = {
        "--type": options["type"],
        "--tag-scheme": options["tag_scheme"] and "token-classification",
        "--separator": options["separator"] and "multi-label",
        **{f"--columns {field}": name for name, field in _FOUND.items() if field in columns},
    }
    types_of_options = {option: name for option, name in types.items() if name}
    if len(set(types_of_options.values())) > 1:
        problem = " and ".join(f"{option} is for {name}" for option, name in types_of_options.items())
        raise BadParams(Code.CONTRADICTION, "add-task", problem, "leave one of them out")
    return Said(columns, **cast(Any, {**options, "type": next(iter(types_of_options.values()), None)}))


class Inferred(NamedTuple):
    """What the files hold.

    Attributes:
        values: the keys of `tasks.<name>`, but for the paths.
        shown: lines for the user.
    """

    values: dict[str, Any]
    shown: list[str]


def of_files(files: Mapping[str, Path], shares: Mapping[str, float], said: Said) -> Inferred:
    """Look at the files of a task.

    Args:
        files: split -> its file; train always.
        shares: of the splits that are cut off the rows of train.

    Raises:
        BadData: a file cannot be read, or it is not clear what it holds; the message names the option that says it.
        BadParams: an option that does not fit.
    """
    previews = {split: preview(path, said) for split, path in files.items()}
    train = previews["train"]
    for other in previews.values():
        if other.format != train.format:
            problem = f"{other.format}, while {train.path} is {train.format}"
            raise other.unclear(problem, "give all files in one format, or name it: --format")
    fields = assigned(train, said)
    if "answers" in fields:  # one question without an answer decides
        every = [preview(path, said, head=None) for path in files.values()]
        train = train._replace(rows=[row for each in every for row in each.rows])
    keys, labels = _labels(train, fields, said)
    named = {(_FOUND.get(keys["type"], field) if field == "label" else field): name for field, name in fields.items()}
    mapped = {field: name for field, name in named.items() if field != name or field in _OPTIONAL}
    if not all(each.is_named for each in previews.values()):
        keys["format"] = train.format
    keys |= {"encoding": said.encoding} if said.encoding else {}
    keys |= {"columns": mapped} if mapped else {}
    of_labels = labels if "answers" in fields else f"labels of {len(train.rows):,} rows: {labels}"
    of, by = ("groups", "name, each whole") if "group" in mapped else ("rows", "text")
    splits = {
        **{split: f"{each.path} ({FORMATS[each.format].title or each.format})" for split, each in previews.items()},
        **{
            split: f"{share:.0%} of the {of} of train, chosen by a hash of their {by}"
            for split, share in shares.items()
        },
    }
    of_splits = [f"{split}: {splits[split]}" for split in ("train", "dev", "test")]
    return Inferred(keys, [*of_splits, *_first_row(train, named, mapped), of_labels])


def _first_row(train: "Preview", named: Mapping[str, str], mapped: Mapping[str, str]) -> Iterator[str]:
    yield "the first row:"
    for field, name in named.items():
        column = f" (column {name})" if field in mapped and name != field else ""
        value = train.rows[0].get(name)
        text = " ".join(map(str, value)) if isinstance(value, list) else str(value).replace("\n", " ")
        yield f"  {field}{column}: {shortened(text, _MOST_CHARACTERS)}"
    unread = [name for name in train.columns if name not in named.values()]
    if train.format == "conll":  # whose columns are numbered
        unread = [name for name in unread if not (name.isdecimal() or name == "document")]
    if unread:
        optional = " ".join(f"--columns {name}={name}" for name in _OPTIONAL if name in unread)
        yield f"columns that are not read: {', '.join(unread)}{f' (read if named: {optional})' if optional else ''}"


# --- a file before anything is known of it


class Preview(NamedTuple):
    """The beginning of a file, as it stands there.

    Attributes:
        path: where it lies.
        format: of its rows.
        is_named: whether the name of the file tells the format, so that params.yaml need not.
        columns: as the file calls them, in its order.
        rows: those that can be read.
    """

    path: Path
    format: Format
    is_named: bool
    columns: list[str]
    rows: list[Mapping[str, Any]]

    def unclear(self, problem: str, remedy: str) -> BadData:
        """The error of a file that may be two things."""
        return BadData(Code.UNCLEAR_FILE, self.path, problem, remedy)


def preview(path: Path, said: Said, head: int | None = _MOST_ROWS) -> Preview:
    """The first rows of a file.

    Args:
        head: how many; None: all.

    Raises:
        BadData: no known format, or no row can be read.
    """
    if not path.is_file():
        what = "a folder; name its files" if path.is_dir() else "no such file"
        raise BadData(Code.FILE, path, what, "give one file, or one each for train, dev and test")
    columns: list[str] = []
    layout = Layout("single_sentence")
    file = SourceFile(path, str(path), layout, {}, columns.extend, encoding=said.encoding, stem=path.stem)
    kind = said.format or _format(file, path)
    if kind in _EXPORTS:
        raise BadData(Code.UNCLEAR_FILE, path, f"an export ({kind}), whose labels lie inside of other values", _BY_HAND)
    if kind is None or kind == "txt":
        problem = "the name tells no known format" if kind is None else "text without labels, one document a line"
        remedy = f"known: {KNOWN}; name it: --format FORMAT ({', '.join(FORMATS)})"
        raise BadData(Code.UNCLEAR_FILE, path, problem, remedy)
    if kind == "squad":
        file = replace(file, layout=Layout("extractive_answer"))
    elif kind == "parquet":
        file = replace(file, columns={name: name for name in parquet_columns(path)})
    every = FORMATS[kind].read(file)
    read = list(every if head is None else first_rows(every, head))
    rows = [row.values for row in read if row.problem is None]
    if not rows:
        problem_of_row = next((row.problem for row in read if row.problem), None)
        reason = f"no row can be read as {kind}" + (f": {problem_of_row.reason}" if problem_of_row else "")
        code = problem_of_row.code if problem_of_row else Code.NOTHING_LEFT
        raise BadData(code, path, reason, "name its format: --format FORMAT, or mend the file")
    names = columns or list(dict.fromkeys(name for row in rows[:50] for name in row))
    return Preview(path, kind, kind == format_of(path), names, rows)


def _format(file: SourceFile, path: Path) -> Format | None:
    """By its beginning, or else its name; JSON lines with lists of labels may look like an export of doccano."""
    by_name = format_of(path)
    if by_name == "parquet":
        return by_name
    text = beginning(file).lstrip()
    looks = (name for name, spec in FORMATS.items() if spec.looks_like and spec.looks_like(text))
    return next((name for name in looks if name != "doccano"), by_name)


# --- which column is which field


def assigned(file: Preview, said: Said) -> dict[str, str]:
    """Field -> column. What is found stands last but for `id` and `group`, and under `label` whatever its type.

    Raises:
        BadData: the columns are those of no task, or of several.
        BadParams: the user names a column or a field that is not there.
    """
    known = [*dict.fromkeys(field for fields in ROWS for field in fields), "labels", "value", *_OPTIONAL]
    for field, column in said.columns.items():
        if field not in known:
            problem = f"'{field}' is no field{nearest(field, known)}"
            raise BadParams(Code.UNKNOWN_KEY, "--columns", problem, f"fields are {', '.join(known)}")
        if column not in file.columns:
            problem = f"{file.path} has no column '{column}'{nearest(column, file.columns)}"
            raise BadParams(Code.UNKNOWN_KEY, f"--columns {field}", problem, f"it has {', '.join(file.columns)}")
    fixed = {("label" if field in _FOUND.values() else field): column for field, column in said.columns.items()}
    possible = [fields for fields, types in ROWS.items() if said.type in (None, *types)]
    fits = [chosen for fields in possible if (chosen := _fields(file, fields, fixed))]
    there = ", ".join(file.columns)
    if not fits:
        needed = possible[-1]
        example = " ".join(f"--columns {field}=COLUMN" for field in needed)
        pair = "" if len(possible) == 1 else "; of a pair of texts: --columns text_a=COLUMN --columns text_b=COLUMN"
        problem = f"which columns are {' and '.join(needed)}? There are {there}"
        raise file.unclear(problem, f"name them: {example}{pair}")
    if len(fits) > 1:
        inputs = ({field: each[field] for field in each if field not in ("label", *_OPTIONAL)} for each in fits)
        ways = [" ".join(f"--columns {field}={column}" for field, column in each.items()) for each in inputs]
        raise file.unclear(f"its columns may be those of several tasks: {there}", f"choose: {', or '.join(ways)}")
    return fits[0]


def _fields(file: Preview, fields: tuple[str, ...], fixed: Mapping[str, str]) -> dict[str, str] | None:
    """The columns of these fields; None where one is missing, or where the user named a field that is not theirs."""
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
    kinds = {"tokens": list, "tags": list, "answers": list | Mapping, "label": object}
    is_list = field in ("tokens", "tags", "answers")
    return (bool(values) or not is_list) and all(isinstance(value, kinds.get(field, str)) for value in values)


# --- the type, by what is to be found

Labels = tuple[dict[str, Any], str]
"""The type with the keys that it needs, and what was seen, for the user."""


def _labels(file: Preview, fields: Mapping[str, str], said: Said) -> Labels:
    """Of the rows, by the column of what is found in them.

    Raises:
        BadData: two types would do, or the values are of none.
    """
    column = next(fields[field] for field in ("tags", "answers", "label") if field in fields)
    values = [row[column] for row in file.rows if row.get(column) not in (None, "")]
    if not values:
        raise BadData(Code.LABEL_MISSING, file.path, f"column '{column}' is empty", "name another: --columns")
    if "answers" in fields:
        return _answers(file, column)
    if "tags" in fields:
        return _tags(file, values, column, said.tag_scheme)
    classes: TaskName = "text-pair-classification" if "text_b" in fields else "text-classification"
    name = said.type or _type(file, values, column, classes)
    pair = {"pair": True} if "text_b" in fields and name != classes else {}
    if name == "multi-label":
        separator = {"separator": said.separator} if said.separator else {}
        return {"type": name, **pair, **separator}, _several(file, values, column, said.separator)
    if name == "regression":
        numbers = [number for value in values if (number := _number(value)) is not None]
        span = f"{min(numbers):g} to {max(numbers):g}" if numbers else "none"
        return {"type": name, **pair}, f"numbers from {span}"
    if any(isinstance(value, float) for value in values):
        problem = f"column '{column}' holds numbers with a fraction, and classes are text or integers"
        raise file.unclear(problem, "choose: --type regression")
    return {"type": name, **pair}, _counts(Counter(map(str, values)), "classes")


def _type(file: Preview, values: Sequence[Any], column: str, classes: TaskName) -> TaskName:
    """The rules, in their order."""
    different = {str(value) for value in values}
    lists = [value for value in values if isinstance(value, list)]
    if any(isinstance(item, list | Mapping) for value in lists for item in value):
        raise file.unclear(f"column '{column}' marks characters, as an export of doccano does", _BY_HAND)
    if lists:
        return "multi-label"
    if all(_number(value) is not None for value in values):
        if not all(float(text).is_integer() for text in different):
            return "regression"
        if len(different) <= 2:
            return classes
        problem = f"column '{column}' has {len(different):,} different whole numbers: classes, or numbers?"
        raise file.unclear(problem, f"choose: --type {classes}, or --type regression")
    for parted in _SEPARATORS:
        if sum(parted in text for text in different) > len(different) / 3:
            problem = f"column '{column}' has labels with '{parted}': several labels in one text, or one label?"
            raise file.unclear(problem, f"choose: --type multi-label --separator '{parted}', or --type {classes}")
    if len(different) > _MOST_CLASSES or (len(values) >= 50 and len(different) > len(values) / 2):
        problem = f"column '{column}' has {len(different):,} different values in {len(values):,} rows: is it the label?"
        raise file.unclear(problem, f"name another: --columns label=COLUMN; if it is, say --type {classes}")
    return classes


def _several(file: Preview, values: Sequence[Any], column: str, separator: str | None) -> str:
    if not separator and any(isinstance(value, str) for value in values):
        problem = f"column '{column}' has text, and several labels in one text need what parts them"
        raise file.unclear(problem, "name it: --separator ';'")
    lists = [value.split(separator) if isinstance(value, str) else value for value in values]
    lists = [value if isinstance(value, list) else [value] for value in lists]
    counts = Counter(str(label).strip() for value in lists for label in value if str(label).strip())
    return _counts(counts, "labels")


def _tags(file: Preview, values: Sequence[Any], column: str, said: str | None) -> Labels:
    """Spans where tags have prefixes, else a tag for each word; tags without prefix beside others may be either."""
    rows = [[*map(str, value)] for value in values if isinstance(value, list)]
    if any(not isinstance(tag, str) for value in values for tag in value):
        problem = f"column '{column}' holds numbers in place of tags"
        raise file.unclear(problem, "write the names of the tags, such as B-PER, into the file")
    counts = Counter(tag for row in rows for tag in row)
    prefixed = [tag for tag in counts if tag[1:2] == "-" and tag[0] in "BIESLUM" and len(tag) > 2]
    others = [tag for tag in counts if tag not in prefixed and tag != tag_schemes.OUTSIDE]
    scheme = tag_schemes.looks_like(rows)
    if scheme == "io" and all(tag_schemes.fits(row, "iob1") for row in rows):
        scheme = "iob1"  # reads these rows alike, and also those in which two spans touch
    if said is None and others and (prefixed or tag_schemes.OUTSIDE in counts):
        problem = f"column '{column}' has tags such as {others[0]} beside {(prefixed or ['O'])[0]}: spans, or tags?"
        raise file.unclear(problem, f"choose: --tag-scheme {scheme}, or --tag-scheme none")
    if said == "none" or (said is None and not prefixed):
        return {"type": "token-classification", "tag_scheme": "none"}, _counts(counts, "tags")
    scheme = cast(tag_schemes.Scheme, said or scheme)
    fitting = [row for row in rows if tag_schemes.fits(row, scheme)]
    kinds = Counter(kind for row in rows for kind in _kinds(row, scheme))
    shown = f"{_counts(kinds, 'types of spans')}; {len(fitting):,} of {len(rows):,} rows are written as {scheme}"
    return {"type": "token-classification", "tag_scheme": scheme}, shown


def _kinds(tags: Sequence[str], scheme: tag_schemes.Scheme) -> list[str]:
    """The type of each span of a row; a row with tags of another scheme has none."""
    try:
        return [kind for _, _, kind in tag_schemes.spans(tag_schemes.legal(tags, scheme), scheme)]
    except ValueError:
        return []


def _answers(file: Preview, column: str) -> Labels:
    empty = 0
    for row in file.rows:
        answers = row.get(column)
        texts = answers.get("text") if isinstance(answers, Mapping) else answers
        empty += row.get("is_impossible") is True or not texts
    questions = f"{len(file.rows):,} questions"
    shown = f"{empty:,} of {questions} have no answer" if empty else f"all {questions} have an answer"
    return {"type": "question-answering", "no_answer": empty > 0}, shown


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool | list | Mapping) else float(str(value))
    except ValueError:
        return None


def _counts(counts: Counter[str], what: str) -> str:
    shown = ", ".join(f"{name} ({count:,})" for name, count in islice(counts.most_common(), _MOST_LABELS))
    more = f" and {len(counts) - _MOST_LABELS} more" if len(counts) > _MOST_LABELS else ""
    return f"{what} ({len(counts):,}): {shown}{more}"
