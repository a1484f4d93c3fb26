"""A file or stdin -> rows to predict on, in their order and in constant memory.

The formats and checks are those of labelled sets (adaptbert.data.readers.spec).
"""

import sys
from collections import Counter
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from shlex import quote

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Format
from adaptbert.config.schema.task_types import TaskType
from adaptbert.data.layout import Layout
from adaptbert.data.readers import encodings, parquet_files
from adaptbert.data.readers.lines import check_name, check_regular
from adaptbert.data.readers.records import SourceFile, unchanged
from adaptbert.data.readers.spec import FORMATS, format_of, known_suffixes
from adaptbert.errors import BadData, BadParams, closest
from adaptbert.prediction.request_rows import Reader, RequestRow

STDIN = Path("-")


class Input:
    """The rows of one file.

    Args:
        path: the file; `-` for stdin, which can be read once.
        task_type: of the task.
        reader: converts its rows.
        declared: its format; None: by the name of the file.
        encoding: of text; None: UTF-8.

    Raises:
        BadData: no such file, or none of a known format.
        BadParams: a format that does not fit, or an unknown encoding.
    """

    def __init__(
        self, path: Path, task_type: TaskType, reader: Reader, declared: str | None, encoding: str | None
    ) -> None:
        self.path, self._encoding = path, encoding
        self.shown = "stdin" if path == STDIN else str(path)
        self.warnings: Counter[str] = Counter()
        self._reader, self._layout = reader, Layout(task_type)
        self._kind = self._format(declared)
        if not FORMATS[self._kind].holds(task_type):
            remedy = "write the rows as jsonl"
            raise BadParams(Code.CONTRADICTION, "--format", f"'{self._kind}' holds no {task_type}", remedy)
        if encoding is not None and (problem := encodings.problem(encoding)):
            raise BadParams(Code.CONTRADICTION, "--encoding", problem, encodings.remedy())

    def rows(self) -> Iterator[RequestRow]:
        """Every row, including those that cannot be answered.

        Raises:
            BadData: the whole file is unusable, or it changed while it was read.
        """
        self.warnings.clear()
        source: Path | BufferedReader = self.path
        if self.path == STDIN:
            assert isinstance(sys.stdin.buffer, BufferedReader)
            source = sys.stdin.buffer
        if FORMATS[self._kind].made_of == "columns":
            self._check(parquet_files.columns(self.path) or list(self._reader.columns.values()))
        file = SourceFile(
            source, self.shown, self._layout, self._reader.columns, self._check, self.warnings, self._encoding
        )
        with unchanged(file):
            for row in FORMATS[self._kind].read(file):
                # A wrong answer is no problem here: prediction reads no answers.
                if row.problem and row.problem.code != Code.OFFSETS:
                    yield RequestRow(str(row.line), row.line, {}, row.problem)
                else:
                    yield self._reader.read(row.values, row.line, f"{self.shown}:{row.line}")

    def _check(self, columns: list[str]) -> None:
        self._reader.check(columns, f"{self.shown}:1", lambda name: _mapping(name, columns))

    def _format(self, declared: str | None) -> Format:
        named = next((name for name in FORMATS if name == declared), None)
        if declared is not None and named is None:
            problem = f"'{declared}' is unknown"
            raise BadParams(Code.CONTRADICTION, "--format", problem, f"write one of {', '.join(FORMATS)}")
        if self.path == STDIN:
            lines = ", ".join(name for name, spec in FORMATS.items() if spec.made_of == "lines")
            if named is None:
                problem = "stdin has no name that shows its format"
                raise BadParams(Code.CONTRADICTION, "--format", problem, f"write --format with one of {lines}")
            if FORMATS[named].made_of != "lines":
                problem = f"'{named}' cannot be read from stdin"
                raise BadParams(Code.CONTRADICTION, "--format", problem, f"give a file, or one of {lines}")
            return named
        if self.path.is_dir():
            raise BadData(Code.FILE, self.path, "is a folder", "name one file of it")
        if not self.path.exists():
            raise BadData(Code.FILE, self.path, "no such file", "check the path")
        check_regular(self.path, self.shown)
        kind = format_of(self.path, named)
        if kind is None:
            remedy = f"known: {known_suffixes()}; or write --format"
            raise BadData(Code.FILE, self.path, "the name tells no known format", remedy)
        if FORMATS[kind].made_of == "columns":
            check_name(self.path)
        return kind


def _mapping(name: str, columns: list[str]) -> str:
    """The option to add where a column is missing, with the column of the file that is most similar."""
    others = [column for column in columns if column != "id"]
    column = closest(name, columns) or (others[0] if len(others) == 1 else "NAME")
    text = ", or --columns text=NAME for a text whose words are to be found" if name == "tokens" else ""
    return f"say which column it is: --columns {quote(f'{name}={column}')}{text}"
