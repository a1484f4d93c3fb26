"""What a file shows before anything is known of it: its format, its columns and its first rows, as they stand there."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.collection.readers.formats import json_files
from adaptbert.collection.readers.formats.spec import FORMATS, Format, ReadRequest, format_of, known_suffixes
from adaptbert.collection.readers.lines import head
from adaptbert.collection.readers.records import Record
from adaptbert.errors import BadData, UserError
from adaptbert.rows.layout import Layout

ROWS = 100_000
"""Of a file: files may be sorted by label."""
_OF_ENCODING = (Code.NOT_DECODABLE, Code.UTF_16, Code.UTF_16_WITHOUT_MARK)


class Sight(NamedTuple):
    """The beginning of a file.

    Attributes:
        path: where it lies.
        format: of its rows.
        is_named: whether the name of the file tells the format, so that params.yaml need not.
        columns: as the file calls them, in its order.
        rows: those that can be read; in Label Studio's export, its tasks.
    """

    path: Path
    format: Format
    is_named: bool
    columns: list[str]
    rows: list[Mapping[str, Any]]


def look(path: Path, declared: Format | None, encoding: str | None, *, whole: bool = False) -> Sight:
    """The first rows of a file.

    Args:
        declared: its format; None: by its name and its beginning.
        whole: read all rows.

    Raises:
        BadData: no known format, or no row can be read.
    """
    with _options_named():
        kind, is_named = _format(path, declared, encoding)
        columns: list[str] = []
        rows: list[Mapping[str, Any]] = []
        problem = None
        for record in islice(_records(path, kind, encoding, columns), None if whole else ROWS):
            problem = problem or record.problem
            if record.problem is None:
                rows.append(record.values)
        if not rows:
            reason = f"no row can be read as {kind}" + (f": {problem.reason}" if problem else "")
            code = problem.code if problem else Code.NOTHING_LEFT
            raise BadData(code, path, reason, "name its format: --format FORMAT, or mend the file")
    names = columns or list(dict.fromkeys(name for row in rows[:50] for name in row))
    return Sight(path, kind, is_named, names, rows)


def _format(path: Path, declared: Format | None, encoding: str | None) -> tuple[Format, bool]:
    if not path.is_file():
        what = "a folder; name its files" if path.is_dir() else "no such file"
        raise BadData(Code.NO_SUCH_FILE, path, what, "give one file, or one each for train, dev and test")
    by_name = format_of(path)
    if declared is not None:
        return declared, declared == by_name
    if by_name == "parquet":
        return by_name, True
    beginning = head(path, encoding).lstrip()
    looks = next((name for name, spec in FORMATS.items() if spec.looks_like and spec.looks_like(beginning)), None)
    if looks == "doccano" and not _has_spans(path, encoding):
        looks = None  # JSON lines with lists of labels, which are read as such
    kind = looks or by_name
    if kind is None or kind == "txt":
        problem = "the name tells no known format" if kind is None else "text without labels, one document a line"
        remedy = f"known: {known_suffixes()}; name it: --format FORMAT ({', '.join(FORMATS)})"
        raise BadData(Code.UNCLEAR_FILE, path, problem, remedy)
    return kind, kind == by_name


def _has_spans(path: Path, encoding: str | None) -> bool:
    """Whether the lists of labels mark characters, or hold the one label of a text."""
    marks = [row.get(name) for row in _first(path, encoding) for name in ("label", "labels", "entities")]
    lists = [mark for mark in marks if isinstance(mark, list)]
    return any(isinstance(item, list | Mapping) for mark in lists for item in mark)


def _first(path: Path, encoding: str | None) -> list[Mapping[str, Any]]:
    return [record.values for record in islice(_records(path, "jsonl", encoding, []), ROWS)]


def _records(path: Path, kind: Format, encoding: str | None, columns: list[str]) -> Iterator[Record]:
    """All records; the columns of the file are put into the list."""

    def note(names: list[str]) -> None:
        columns[:] = names

    if kind == "label_studio":
        tasks = json_files.document(path, str(path), encoding, Counter())
        if not isinstance(tasks, list) or not all(isinstance(task, Mapping) for task in tasks):
            raise BadData(Code.COLUMN_MISSING, path, "not a list of tasks", "export as JSON or JSON-MIN")
        yield from (Record(number, task) for number, task in enumerate(tasks, 1))
        return
    kind = "jsonl" if kind == "doccano" else kind
    names = _parquet_columns(path) if kind == "parquet" else []
    layout = Layout("extractive_answer" if kind == "squad" else "single_sentence")
    request = ReadRequest(path, str(path), path.stem, encoding, layout, {name: name for name in names}, note, Counter())
    yield from FORMATS[kind].read(request)


def _parquet_columns(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowInvalid, OSError):
        return []  # reading reports it


@contextmanager
def _options_named() -> Iterator[None]:
    """Errors of the readers say what to write into params.yaml; here it is an option."""
    try:
        yield
    except UserError as error:
        if error.code not in _OF_ENCODING:
            raise
        name = error.remedy.rpartition(": ")[2] if ": " in error.remedy else "NAME"
        remedy = f"name it: --encoding {name.split(' ')[0]}"
        raise BadData(error.code, error.place, error.problem, remedy) from None
