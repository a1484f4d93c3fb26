"""What `new` and `add-task` conclude of the user's files: an entry of `corpora` or `tasks`, and what they saw.

Of a labelled set first which column is which field, by its name and its values; then the type, by the labels. Nothing
is guessed where two answers would do: the error names the option that decides.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import isnan
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.config.schema.sources import SPLITS, Task
from adaptbert.config.schema.task_types import SPECS, Target, TaskName
from adaptbert.data import label_names, scripts, tag_schemes
from adaptbert.data.cleaning import odd_characters
from adaptbert.data.fields import OPTIONAL, VECTOR, column_names, integer, is_sentence, is_vector, written
from adaptbert.data.files import Files
from adaptbert.data.formats import FORMATS, format_of
from adaptbert.data.layout import as_text
from adaptbert.data.preview import BY_HAND, FIRST_ROWS, MOST_UNREAD, Preview, Said, preview
from adaptbert.data.read_text import OTHER_ENCODING, encoding_problem
from adaptbert.data.rows import Row
from adaptbert.data.source_config import layout_of
from adaptbert.data.tag_spellings import respelled, scheme_of
from adaptbert.errors import BadData, BadParams, failures_of, first_of, nearest, raise_all

_FOUND: Mapping[TaskName, str] = {
    spec.written["type"]: spec.output.column for spec in SPECS.values() if spec.output.column in ("labels", "value")
}
ROWS: dict[tuple[str, ...], set[TaskName]] = {}
"""The fields that a row may have -> the types of its task. The last field is what is found; `label` stands for `labels`
and `value` as well. Those with more fields first."""
for _spec in reversed([*SPECS.values()]):
    _name: TaskName = _spec.written["type"]
    ROWS.setdefault((*_spec.rows.inputs, "label" if _name in _FOUND else _spec.output.column), set()).add(_name)
INPUTS = {field for *inputs, _ in ROWS for field in inputs}
"""The fields of text."""
_IDEOGRAPH, _KANA = re.compile(f"[{scripts.CHINESE}]"), re.compile(f"[{scripts.KANA}]")
_WORD = re.compile(rf"[{scripts.CHINESE}]|[^\W\d_{scripts.CHINESE}]+")
"""A word: an ideograph, or a run of other letters."""
_SEPARATORS = (";", "|", ",", "、", "，", "；")
SHARES = {"dev": 0.1, "test": 0.2}
"""Shares of the rows of train, for a split without a file."""
_MOST_CLASSES = 200
_MOST_LABELS = 6
"""Most labels that are shown."""
_NO_LABELS = (*OPTIONAL, "start", "end", "begin", "offset", "start_offset", "end_offset")
"""Columns that are never the label unless the user says so."""
_SEVERAL = "several labels are of the type multi-label, a list in one row a text; of several annotators take one"
"""The remedy for rows of one text with different labels."""
_KINDS: Mapping[Target, str] = {"class": "classes", "labels": "labels", "spans": "types of spans", "tags": "tags"}
"""What is counted."""
_MARKS = {"start", "end", "label"}
"""Keys of a span as Prodigy writes it."""


def consistent(said: Said) -> Said:
    """The same, with the type that other options say; raises BadParams for two types, and for an unknown encoding."""
    if said.encoding is not None and (reason := encoding_problem(said.encoding)):
        raise BadParams(Code.UNKNOWN_KEY, "--encoding", reason, OTHER_ENCODING)
    options: dict[str, TaskName | None] = {
        "--type": said.type,
        "--tag-scheme": "token-classification" if said.tag_scheme else None,
        "--separator": "multi-label" if said.separator else None,
        **{f"--columns {field}": name for name, field in _FOUND.items() if field in said.columns},
    }
    types = {option: name for option, name in options.items() if name}
    if len(set(types.values())) > 1:
        problem = f"are for {' and '.join(types.values())}"
        raise BadParams(Code.CONTRADICTION, " and ".join(types), problem, "leave one of them out")
    return said._replace(type=next(iter(types.values()), None))


class Inferred(NamedTuple):
    """What the files hold: keys of the entry of params.yaml, without the paths; lines for the user; some texts."""

    values: dict[str, Any]
    shown: list[str]
    texts: list[str]

    def task(self, files: Mapping[str, Path]) -> dict[str, Any]:
        """The entry of `tasks`: a split that is cut off names the file of train."""
        paths = {split: files.get(split, files["train"]).as_posix() for split in SPLITS}
        shares = {split: share for split, share in SHARES.items() if split not in files}
        return {**self.values, **paths, **({"split": shares} if shares else {})}


def of_corpus(path: Path, option: str, column: str | None, encoding: str | None) -> Inferred:
    """Look at a file of unlabelled text, which an option of the command names; `<option>-column` names its column.

    Raises:
        BadData: the file cannot be read or has labels, or it is not clear which column is the text.
        BadParams: it has no such column.
    """
    # Where the user names the column, a file is text, whatever it looks like.
    said = Said({"text": column} if column else {}, format=format_of(path) if column else None, encoding=encoding)
    file = preview(path, said, FIRST_ROWS)
    if column is None:
        column = _text_alone(file, option)
    file.check_column(column, f"{option}-column")
    values = {"encoding": file.encoding} if file.encoding else {}
    columns = {"columns": {"text": column}} if column != "text" else {}
    return Inferred({**values, **columns}, [file.shown, *file.first_row({"text": column})], file.texts([column]))


def _text_alone(file: Preview, option: str) -> str:
    """The column that is the text of a file without labels."""
    named, choose, means = file.candidates("text"), f"{option}-column", "if it is meant as mere text, say so"
    columns = named or [column for column in file.text_alone() if not is_sentence(column)]
    if FORMATS[file.format].is_labelled:
        raise file.unclear(f"{FORMATS[file.format].title} is a format of labelled sets", f"give text to {option}")
    if not columns:
        raise file.which("column is the text", f"name it: {choose} COLUMN")
    column = file.only("text", columns, f"{choose} ")
    if any(all(field == "text" or file.candidates(field) for field in fields) for fields in ROWS):
        problem = f"its columns may be those of a labelled set: {column_names(file.columns)}"
        raise file.unclear(problem, f"give it to --train; {means}: {choose} {quote(column)}")
    return column


def is_chinese(texts: Sequence[str]) -> bool:
    """Whether most words are ideographs, and those not of Japanese."""
    words = [word for text in texts for word in _WORD.findall(text)]
    ideographs, kana = (sum(kind.match(word) is not None for word in words) for kind in (_IDEOGRAPH, _KANA))
    return 2 * ideographs > len(words) and 10 * kana < ideographs


def of_files(files: Mapping[str, Path], said: Said) -> Inferred:
    """Look at the files of a task: split -> its file, train always. The others are cut off its rows.

    Raises:
        BadData: a file cannot be read, or it is not clear what it holds; the message names the option that says it.
        BadParams: an option that does not fit.
    """
    try:
        previews = {split: preview(path, said) for split, path in files.items()}
    except BadData as error:
        likely = "gb18030"
        also = failures_of(of_files, files, said._replace(encoding=likely)) if f": {likely}?" in error.problem else []
        raise_all([error, *also])
        raise
    train = previews["train"]
    for other in previews.values():
        if other.format != train.format:
            problem = f"{other.format}, while {train.path} is {train.format}"
            raise other.unclear(problem, "give all files in one format, or name it: --format")
        if other.encoding != train.encoding:
            problem = f"{other.encoding or 'UTF-8'}, while {train.path} is {train.encoding or 'UTF-8'}"
            raise other.unclear(problem, "write all files in one encoding: iconv -f FROM -t utf-8 FILE > OTHER")
    if train.format == "txt":
        remedy = "give rows with labels, or name their format: --format"
        raise train.unclear("text without labels, one document a line", remedy)
    fields = assigned(train, said)
    if "answers" in fields:  # one question without an answer decides
        every = [preview(path, said, head=None) for path in files.values()]
        train = train._replace(rows=[row for each in every for row in each.rows])
    keys = _labels(train, fields, said)
    named = {(_FOUND.get(keys["type"], field) if field == "label" else field): name for field, name in fields.items()}
    mapped = {field: name for field, name in named.items() if field != name or field in OPTIONAL}
    keys |= {} if all(format_of(path) == train.format for path in files.values()) else {"format": train.format}
    keys |= {"encoding": train.encoding} if train.encoding else {}
    keys |= {"columns": mapped} if mapped else {}
    task = Task(**keys, train="train", dev="dev", test="test")
    total, (read, left_out) = len(train.rows), _read(train, task)
    train = train._replace(rows=[train.rows[row.line - 1] for row in read])
    labels, of_empty = _found(train, task, read, said)
    keys |= of_empty
    of, by = ("groups", "name, each whole") if "group" in mapped else ("rows", "text")
    cut = {
        split: f"{share:.0%} of the {of} of train, chosen by a hash of their {by}" for split, share in SHARES.items()
    }
    shown = [f"{split}: {previews[split].shown if split in previews else cut[split]}" for split in SPLITS]
    notices = list[str]()
    if left_out:
        counts = ", ".join(f"{reason} ({count:,})" for reason, count in left_out.most_common())
        are_odd = any(label and ours is None for label, ours in (task.map_labels or {}).items())
        means = "; a label that is one is mapped to itself in map_labels" if are_odd else ""
        notices += [f"notice: {left_out.total():,} of {total:,} rows are left out: {counts}{means}"]
    texts = [tuple(as_text(row.values[name]) for name in layout_of(task).inputs) for row in read]
    count = label_names.with_another_label(texts, [row.values[task.spec.output.column] for row in read])
    problem = f"{count:,} of {len(read):,} rows have a text that another row has with another label"
    if 2 * count > len(read) and said.type is None and keys["type"] != "regression":
        raise train.unclear(problem, f"{_SEVERAL}; where it is meant, say --type {keys['type']}")
    notices += [f"notice: {problem}"] if count else []
    inputs = [name for field, name in fields.items() if field in INPUTS]
    return Inferred(keys, [*shown, *train.first_row(named, OPTIONAL), labels, *notices], train.texts(inputs))


# --- which column is which field


def assigned(file: Preview, said: Said) -> dict[str, str]:
    """Field -> column. What is found stands last but for `id` and `group`, and under `label` whatever its type.

    Raises:
        BadData: the columns are those of no task, or of several.
        BadParams: the user names a column or a field that is not there.
    """
    known = [*dict.fromkeys(field for fields in ROWS for field in fields), "labels", "value", *OPTIONAL]
    for field, column in said.columns.items():
        if field not in known:
            problem = f"'{field}' is no field{nearest(field, known)}"
            raise BadParams(Code.UNKNOWN_KEY, "--columns", problem, f"fields are {', '.join(known)}")
        file.check_column(column, f"--columns {field}")
    fixed = {("label" if field in _FOUND.values() else field): column for field, column in said.columns.items()}
    possible = [
        fields
        for fields, types in ROWS.items()
        if said.type in (None, *types) and (file.format != "conll" or "tokens" in fields)
    ]
    if not possible:
        problem = f"CoNLL holds words with tags, and no rows of the type {said.type}"
        raise file.unclear(problem, "leave --type out, or say --type token-classification")
    fits = [chosen for fields in possible if (chosen := _fields(file, fields, fixed, Preview.candidates))]
    fits = fits or [chosen for fields in possible if (chosen := _fields(file, fields, fixed, _by_values))]
    if not fits:
        named = [fields for fields in possible if fixed.keys() <= {*fields, *OPTIONAL}] or possible
        example = " ".join(f"--columns {field}=COLUMN" for field in named[-1])
        pair = "; of a pair of texts: --columns text_a=COLUMN --columns text_b=COLUMN --columns label=COLUMN"
        raise file.which(f"columns are {' and '.join(named[-1])}", f"name them: {example}{pair * (len(named) > 1)}")
    if len(fits) > 1:
        inputs = ({field: each[field][0] for field in each if field not in ("label", *OPTIONAL)} for each in fits)
        ways = [" ".join(f"--columns {field}={quote(column)}" for field, column in each.items()) for each in inputs]
        problem = f"its columns may be those of several tasks: {column_names(file.columns)}"
        raise file.unclear(problem, f"choose: {', or '.join(ways)}")
    by_field = {field: file.only(field, columns, f"--columns {field}=") for field, columns in fits[0].items()}
    if "text" in by_field and "text" not in fixed and said.type != "text-classification":
        _check_one_text(file, by_field)
    return by_field


def _check_one_text(file: Preview, chosen: Mapping[str, str]) -> None:
    """Raise where a second column may be the other text of a pair, which would be dropped."""
    text, others = chosen["text"], [name for name in file.columns if name not in chosen.values()]
    named = {column for field in INPUTS - {"text", "tokens"} for column in file.candidates(field)}
    named = {name for name in named if any(_number(value) is None for value in file.texts([name]))}
    other = next((name for name in others if name in named or file.is_prose(name, repeated=True)), None)
    if other is not None:
        first, second = sorted((text, other), key=file.columns.index)
        pair = f"--columns text_a={quote(first)} --columns text_b={quote(second)}"
        ways = f"--columns text={quote(text)}, or {pair}"
        raise file.unclear(f"{first} and {second} are both texts: one of them, or a pair?", f"choose: {ways}")


def _by_values(file: Preview, field: str) -> list[str]:
    """The columns that may be a field whatever they are called: the one that is prose; as the label, see below."""
    whatever = {"text": file.text_alone(), "label": [name for name in file.columns if _may_be_labels(file, name)]}
    return file.candidates(field) or whatever.get(field, [])


def _may_be_labels(file: Preview, column: str) -> bool:
    """Whether a column may be the label: no id, no offset, no list or mapping save marks of characters, which are named
    then, no answer of an annotator."""
    if column.lower() in _NO_LABELS or column[:1] == "_":
        return False
    values = [row[column] for row in file.rows if not label_names.is_missing(row.get(column))]
    if column == label_names.ANSWER and any(label_names.refusal(row, ()) for row in file.rows):
        return False
    if any(isinstance(value, list | Mapping) for value in values):
        return any(isinstance(item, Mapping) and item.keys() >= _MARKS for value in values for item in value)
    return any((_number(value) or 0) % 1 for value in values) or not _are_many({*map(str, values)}, len(values))


def _are_many(different: set[str], rows: int) -> bool:
    """Whether these values of a column are too many for classes."""
    return len(different) > _MOST_CLASSES or (rows >= 50 and len(different) > rows / 2)


def _fields(
    file: Preview, fields: tuple[str, ...], fixed: Mapping[str, str], candidates: Callable[[Preview, str], list[str]]
) -> dict[str, list[str]] | None:
    """The columns that each of these fields may be; None where one has none, or where the user named a field that is
    not theirs."""
    if not set(fixed) <= {*fields, *OPTIONAL}:
        return None
    chosen = {field: [column] for field, column in fixed.items()}
    for field in fields:
        if field not in chosen:
            taken = {column for columns in chosen.values() for column in columns}
            chosen[field] = [column for column in candidates(file, field) if column not in taken]
    return {field: chosen[field] for field in (*fields, *OPTIONAL) if field in chosen} if all(chosen.values()) else None


# --- the type, by what is to be found


def _labels(file: Preview, fields: Mapping[str, str], said: Said) -> dict[str, Any]:
    """The type with the keys that it needs, by the column of what is found; BadData where two types would do."""
    column = next(fields[field] for field in ("tags", "answers", "label") if field in fields)
    rows = [row for row in file.rows if label_names.refusal(row, fields.values()) is None]
    values = [row[column] for row in rows if not label_names.is_missing(row.get(column))]
    if "answers" in fields:
        return {"type": "question-answering", "no_answer": False}
    if "tags" in fields:
        return {"type": "token-classification", **_tags(file, values, column, said.tag_scheme)}
    classes: TaskName = "text-pair-classification" if "text_b" in fields else "text-classification"
    whole = [integer(value, column, str(file.path)) for value in values]
    every = Counter(map(str, whole))
    odd = label_names.no_labels(every, every)
    name = said.type or _type(file, [value for value in whole if str(value) not in odd], column, classes)
    keys = {"type": name, **({"pair": True} if "text_b" in fields and name != classes else {})}
    if name == "multi-label":
        return {**keys, "separator": said.separator} if said.separator else keys
    if name == "regression":
        return keys
    for label in label_names.may_be_classes(odd, every):
        problem = f"'{label}' labels {every[label]:,} of {len(values):,} rows: a class, or no label?"
        ways = f"map_labels: {{'{label}': null}} leaves these rows out, {{'{label}': '{label}'}} keeps it"
        raise file.unclear(problem, f"{BY_HAND}: {ways}")
    none = [*odd, *([""] if len(values) < len(rows) else [])]
    return {**keys, "map_labels": dict.fromkeys(none)} if none else keys


def _type(file: Preview, values: Sequence[Any], column: str, classes: TaskName) -> TaskName:
    """The rules, in their order."""
    different = {str(value) for value in values}
    if any(isinstance(value, Mapping) for value in values):
        remedy = f"write the spans of CLUENER as lists [first, end + 1, type] for doccano; then {BY_HAND}"
        raise file.unclear(f"column '{column}' has mappings", remedy)
    lists = [value for value in values if isinstance(value, list)]
    if any(isinstance(item, list | Mapping) for value in lists for item in value):
        block = f"type: token-classification, format: doccano, columns: {{tags: {column}}}"
        raise file.unclear(f"column '{column}' marks characters, as doccano and Prodigy do", f"{BY_HAND}: {block}")
    texts = [value for value in values if isinstance(value, str)]
    if lists or any(map(written, texts)):
        return "multi-label"
    if all(_number(value) is not None for value in values):
        if not all(float(text).is_integer() or isnan(float(text)) for text in different):
            return "regression"
        if len(different) <= 2:
            return classes
        problem = f"column '{column}' has {len(different):,} different whole numbers: classes, or numbers?"
        raise file.unclear(problem, f"choose: --type {classes}, or --type regression")
    if all(map(label_names.DECIMAL_COMMA.fullmatch, different)):
        remedy = "write them with a point: pandas.read_csv(FILE, decimal=','); labels: --type multi-label --separator ,"
        raise file.unclear(f"column '{column}' has numbers with a decimal comma", remedy)
    for parted in _SEPARATORS:
        if sum(parted in text for text in different) > len(different) / 3:
            problem = f"column '{column}' has labels with '{parted}': several labels in one text, or one label?"
            raise file.unclear(problem, f"choose: --type multi-label --separator {quote(parted)}, or --type {classes}")
    if _are_many(different, len(values)):
        problem = f"column '{column}' has {len(different):,} different values in {len(values):,} rows: is it the label?"
        means = f"; if it is, say --type {classes}" if len(different) < len(values) else ""  # it is an id
        raise file.unclear(problem, f"name another: --columns label=COLUMN{means}")
    return classes


def _tags(file: Preview, values: Sequence[Any], column: str, said: str | None) -> dict[str, Any]:
    """The scheme, and names of the tags in it: spans where tags have prefixes, else a tag for each word; tags without
    prefix beside others may be either."""
    rows = [[*map(str, value)] for value in values if isinstance(value, list)]
    foreign = respelled({tag for row in rows for tag in row})
    read = [[foreign.get(tag, tag) for tag in row] for row in rows]
    counts = Counter(tag for row in read for tag in row)
    prefixed = [tag for tag in counts if tag[1:2] == "-" and tag[0] in "BIESLUM" and len(tag) > 2]
    outside = [tag for tag in (tag_schemes.OUTSIDE, "*") if tag in counts]  # * beside (X* of CoNLL-2012
    others = [tag for tag in counts if tag not in (*prefixed, *outside)]
    scheme = tag_schemes.looks_like(read)
    if scheme == "io" and all(tag_schemes.fits(row, "iob1") for row in read):
        scheme = "iob1"  # reads these rows alike, and also those in which two spans touch
    if said is None and foreign and (prefixed or others):
        theirs, ours = list(foreign.items())[-1]
        first = next(number for number, row in enumerate(rows, 1) if theirs in row)
        odd = f"{odd_characters(theirs, ours)} in row {first:,}" if odd_characters(theirs, ours) else ""
        problem = f"column '{column}' has tags such as {theirs}{odd}, perhaps for {ours}: spans, or tags?"
        raise file.unclear(problem, f"choose: --tag-scheme {scheme}, or --tag-scheme none")
    if said is None and others and (prefixed or outside):
        problem = f"column '{column}' has tags such as {others[0]} beside {(prefixed or outside)[0]}: spans, or tags?"
        spans = f"--tag-scheme {scheme}" if scheme_of(read) else "another column, --columns tags=COLUMN"
        raise file.unclear(problem, f"choose: {spans}, or --tag-scheme none")
    if said == "none" or (said is None and not prefixed):
        return {"tag_scheme": "none"}
    fitting = sum(tag_schemes.fits(row, scheme) for row in read)
    if said is None and 2 * fitting <= len(rows):
        problem = f"column '{column}' has tags such as {prefixed[0]}, and most rows are of no scheme"
        raise file.unclear(problem, f"choose: --tag-scheme {scheme} if only boundaries are wrong, or --tag-scheme none")
    return {"tag_scheme": said or scheme, **({"map_labels": foreign} if foreign else {})}


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool | list | Mapping) else float(str(value))
    except ValueError:
        return None


# --- what the rows hold, as `check` and the stages read them


def _read(file: Preview, task: Task) -> tuple[list[Row], Counter[str]]:
    """The rows that are read, and why how many are left out; BadData where labels are not those of the type."""
    fields, name = Files(file.path, task).fields, str(file.path)
    rows = [fields.read(Row("", name, number, values), name) for number, values in enumerate(file.rows, 1)]
    problems = [row.problem for row in rows if row.problem]
    wrong = [problem for problem in problems if problem.code == Code.BAD_LABEL]
    if len(wrong) > MOST_UNREAD * len(rows) or len(problems) == len(rows):
        problem, count = Counter(wrong or problems).most_common(1)[0]
        shown = f"{problem.reason}, in {count:,} of {len(rows):,} rows"
        raise file.unclear(shown, f"{problem.remedy}; or name another column: --columns")
    return [row for row in rows if row.problem is None], Counter(problem.reason for problem in problems)


def _found(file: Preview, task: Task, rows: Sequence[Row], said: Said) -> tuple[str, dict[str, Any]]:
    """What the rows have, for the user, and the keys that follow from cells that are empty; BadData where it is not
    clear whether they should be."""
    cells, of_rows = [row.values[task.spec.output.column] for row in rows], f"labels of {len(rows):,} rows:"
    empty, scheme = cells.count([]), task.span_scheme
    if task.target == "answer":
        questions = f"{len(rows):,} questions"
        shown = f"{empty:,} of {questions} have no answer" if empty else f"all {questions} have an answer"
        return shown, {"no_answer": empty > 0}
    if task.target == "number":
        return f"{of_rows} numbers from {min(cells):g} to {max(cells):g}", {}
    counts = Counter(label for cell in cells for label in label_names.of_cell(cell, layout_of(task), scheme))
    most = first_of((f"{name} ({count:,})" for name, count in counts.most_common()), _MOST_LABELS)
    shown = f"{of_rows} {_KINDS[task.target]} ({len(counts):,}): {most}"
    if scheme is not None:
        fitting = sum(tag_schemes.fits(cell, scheme) for cell in cells)
        return f"{shown}; {fitting:,} of {len(rows):,} rows are written as {scheme}", {}
    if task.target == "labels" and is_vector(label for cell in cells for label in cell) and min(map(len, cells)) > 1:
        raise file.unclear(*VECTOR)
    if task.target != "labels" or not empty:
        return shown, {}
    if 2 * empty > len(cells) and said.type is None:
        problem = f"{empty:,} of {len(cells):,} rows have no label: {label_names.NONE_APPLIES}"
        raise file.unclear(problem, "where none applies, say --type multi-label; else take these rows out")
    return f"{shown}; none in {empty:,} rows", {"map_labels": {"": ""}} if 2 * empty > len(cells) else {}
