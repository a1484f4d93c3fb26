"""The beginning of a user's file, before anything is known of it, and which of its columns may be which field."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Format
from adaptbert.config.schema.task_types import TaskName
from adaptbert.data.fields import NO_HEADER, TEXTS, column_names, is_sentence, word_count, written
from adaptbert.data.formats import FORMATS, KNOWN, format_of
from adaptbert.data.layout import Layout
from adaptbert.data.read_text import beginning, is_utf_8
from adaptbert.data.rows import SourceFile, first_rows
from adaptbert.errors import BadData, BadParams, nearest, shortened

_NAMES = {
    "tokens": "tokens words chars",
    "tags": "tags ner_tags pos_tags upos xpos tag ner pos labels label",
    "context": "context passage paragraph article 文章 段落",
    "question": "question query 问题",
    "answers": "answers answer 答案",
    "text_a": "text_a text1 sentence1 sentence_a premise question1 s1 q1 句子1 文本1 前提",
    "text_b": "text_b text2 sentence2 sentence_b hypothesis claim aspect question2 s2 q2 句子2 文本2 假设",
    "text": "text sentence content review comment body post tweet document message 文本 内容 评论 句子 正文",
    "label": "label labels value class classes category categories target sentiment emotion intent topic topics score "
    "rating stars gold_label 标签 类别 分类 情感 情绪 评分",
}
"""Field -> names that columns of files have for it, the field itself first."""
BY_HAND = "write its block by hand, as in docs/how-to/labelled-sets.md"
_MOST_ROWS = 100_000
"""Most rows of a file that are looked at: files may be sorted by label."""
FIRST_ROWS = 200
"""Rows by which language and kind of values are recognised."""
MOST_UNREAD = 0.01
"""Share of the rows: fewer are damaged, and validation counts them."""
_FEWEST_WORDS = 3
_MOST_CHARACTERS = 60
"""Most characters that are shown of a value of the first row."""


class Said(NamedTuple):
    """What the user says of labelled files; None: by what they hold. `columns`: field -> column. Other options than
    `type` may have named the type."""

    columns: Mapping[str, str] = {}
    type: TaskName | None = None
    format: Format | None = None
    encoding: str | None = None
    separator: str | None = None
    tag_scheme: str | None = None


class Preview(NamedTuple):
    """The beginning of a file, as it stands there: its columns in their order, and the rows that can be read. It has an
    encoding where the user says one and it is not UTF-8."""

    path: Path
    format: Format
    encoding: str | None
    columns: list[str]
    rows: list[Mapping[str, Any]]

    @property
    def shown(self) -> str:
        """The file, for the user."""
        encoding = f", {self.encoding}" if self.encoding else ""
        return f"{self.path} ({FORMATS[self.format].title or self.format}{encoding})"

    def unclear(self, problem: str, remedy: str) -> BadData:
        """The error of a file that may be two things."""
        return BadData(Code.UNCLEAR_FILE, self.path, problem, remedy)

    def which(self, what: str, remedy: str) -> BadData:
        """The error of a file of whose columns none can be what is looked for; it may have no header."""
        is_table = self.format in ("csv", "tsv")
        if is_table and any(map(is_sentence, self.columns)):
            return self.unclear(NO_HEADER[0], f"{NO_HEADER[1]}; where it has one, {remedy}")
        header = "; where its first line is no header, put one above it" if is_table else ""
        return self.unclear(f"which {what}? There are {column_names(self.columns)}", f"{remedy}{header}")

    def check_column(self, column: str, option: str) -> None:
        """Raise BadParams where the user names a column that is not there."""
        if column not in self.columns:
            problem = f"{self.path} has no column '{column}'{nearest(column, self.columns)}"
            raise BadParams(Code.UNKNOWN_KEY, option, problem, f"it has {column_names(self.columns)}")

    def only(self, field: str, columns: Sequence[str], option: str) -> str:
        """The one column that may be a field; BadData where there are several, with the option that names each."""
        if len(columns) > 1:
            ways = ", or ".join(f"{option}{quote(column)}" for column in columns)
            raise self.unclear(f"{' and '.join(columns)} may each be the {field}", f"choose: {ways}")
        return columns[0]

    def candidates(self, field: str) -> list[str]:
        """The columns that may be a field: the one with its own name alone, else those with other names of it."""
        by_name = {column.strip().lower(): column for column in reversed(self.columns)}
        named = [by_name[name] for name in _NAMES[field].split() if name in by_name]
        columns = [column for column in named if self._can_be(field, column)]
        return columns[:1] if by_name.get(field) in columns else columns

    def text_alone(self) -> list[str]:
        """The column that is text whatever it is called, if there is one such."""
        columns = [column for column in self.columns if self._can_be("text", column) and self.is_prose(column)]
        return columns if len(columns) == 1 else []

    def _can_be(self, field: str, column: str) -> bool:
        """Whether the values can be those of the field: lists of tokens, also as text, text, or a label of any kind."""
        values = [row[column] for row in self.rows[:FIRST_ROWS] if row.get(column) is not None]
        if field in ("tokens", "tags", "answers"):
            kind = list | Mapping if field == "answers" else list
            parts = [part for value in values if isinstance(value, list) for part in value if field != "answers"]
            if any(isinstance(part, Mapping) for part in parts):
                return False  # marks of characters
            return bool(values) and all(written(v) if isinstance(v, str) else isinstance(v, kind) for v in values)
        return field == "label" or all(isinstance(value, str) for value in values)

    def is_prose(self, column: str, *, repeated: bool = False) -> bool:
        """Whether most values are texts, of their own unless they may be `repeated`, of three words or more, and so no
        names, dates, addresses or numbers; an ideograph is half a word."""
        values = [row[column] for row in self.rows[:FIRST_ROWS] if row.get(column)]
        texts = [value for value in values if isinstance(value, str) and word_count(value) >= _FEWEST_WORDS]
        return 2 * len(texts if repeated else {*texts}) > len(values)

    def texts(self, columns: Sequence[str]) -> list[str]:
        """Texts of these columns in the first rows; tokens with spaces between them."""
        values = [row[column] for row in self.rows[:FIRST_ROWS] for column in columns if row.get(column)]
        return [" ".join(map(str, value)) if isinstance(value, list) else str(value) for value in values]

    def first_row(self, fields: Mapping[str, str], optional: Sequence[str] = ()) -> Iterator[str]:
        """Lines for the user: field -> its column, and columns that are not read, of which `--columns` names some."""
        yield "the first row:"
        for field, name in fields.items():
            column = f" (column {name})" if name != field else ""
            value = self.rows[0].get(name)
            text = " ".join(map(str, value)) if isinstance(value, list) else str(value).replace("\n", " ")
            yield f"  {field}{column}: {shortened(text, _MOST_CHARACTERS)}"
        unread = [name for name in self.columns if name not in fields.values()]
        if self.format == "conll":  # whose columns are numbered
            unread = [name for name in unread if not (name.isdecimal() or name == "document")]
        if unread:
            more = " ".join(f"--columns {name}={name}" for name in optional if name in unread)
            yield f"columns that are not read: {column_names(unread)}{f' (read if named: {more})' if more else ''}"


def preview(path: Path, said: Said, head: int | None = _MOST_ROWS) -> Preview:
    """The first rows of a file, or all; raises BadData for no known format, and where no row can be read."""
    if not path.is_file():
        problem, remedy = ("a folder", "name its files") if path.is_dir() else ("no such file", "write where it is")
        if ":/" in str(path):
            problem, remedy = "an address, not a file", "download it, and name the file"
        raise BadData(Code.FILE, path, problem, remedy)
    columns: list[str] = []
    file = SourceFile(
        path, str(path), Layout("single_sentence"), {}, columns.extend, encoding=said.encoding, stem=path.stem,
        of_command=True,
    )  # fmt: skip
    if said.encoding and (format_of(path) == "parquet" or is_utf_8(file)):
        file = replace(file, encoding=None)
    kind = said.format or _format(file, path)
    if kind is None:
        remedy = f"known: {KNOWN}; rename it; of labels, name it: --format FORMAT ({', '.join(FORMATS)})"
        raise BadData(Code.UNCLEAR_FILE, path, "the name tells no known format", remedy)
    if FORMATS[kind].marks_characters:
        raise BadData(Code.UNCLEAR_FILE, path, f"an export ({kind}), whose labels lie inside of other values", BY_HAND)
    if kind == "squad":
        file = replace(file, layout=Layout("extractive_answer"))
    elif kind in ("csv", "tsv", "jsonl"):
        file = replace(
            file, columns={**{name: name for each in TEXTS for name in _NAMES[each].split()}, **said.columns}
        )
    every = FORMATS[kind].read(file)
    read = list(every if head is None else first_rows(every, head))
    problems = [row.problem for row in read if row.problem]
    undecoded = [problem.reason for problem in problems if problem.code == Code.ENCODING]
    if len(undecoded) > MOST_UNREAD * len(read):
        raise BadData(Code.ENCODING, path, undecoded[0], file.name_encoding())
    rows = [row.values for row in read if row.problem is None]
    if not rows:
        code, reason = (problems[0].code, f": {problems[0].reason}") if problems else (Code.NOTHING_LEFT, "")
        remedy = "mend the file, or rename it after its format; of labels: --format FORMAT"
        raise BadData(code, path, f"no row can be read as {kind}{reason}", remedy)
    names = columns or list(dict.fromkeys(name for row in rows[:50] for name in row))
    return Preview(path, kind, file.encoding, names, rows)


def _format(file: SourceFile, path: Path) -> Format | None:
    """Format by the beginning of a file, or else its name; JSON lines with lists of labels may look like an export of
    doccano, and a table with a blank line after every row like CoNLL."""
    by_name = format_of(path)
    if by_name == "parquet":
        return by_name
    text = beginning(file).lstrip()
    text = text.rstrip() if by_name in ("csv", "tsv") else text  # a blank line behind the rows parts no sentences
    looks = (name for name, spec in FORMATS.items() if spec.looks_like and spec.looks_like(text))
    has_sentences = any(line.strip() and after.strip() for line, after in pairwise(text.splitlines()))
    no_proof = ("doccano",) if has_sentences else ("doccano", "conll")
    return next((name for name in looks if name not in no_proof), by_name)
