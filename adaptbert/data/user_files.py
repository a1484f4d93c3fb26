"""Reads rows from the user's files in any format of `readers.spec`, plain or gzip: one file or a folder."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Source
from adaptbert.core.files import file_digest
from adaptbert.data.layout import Layout
from adaptbert.data.readers.fields import AS_IT_IS, TEXTS, Fields, Labelling
from adaptbert.data.readers.lines import check_name, check_regular
from adaptbert.data.readers.records import Head, Row, SourceFile, changed, check_columns_differ, unchanged
from adaptbert.data.readers.spec import FORMATS, format_of, known_suffixes
from adaptbert.data.source_config import names
from adaptbert.errors import BadData, UserError, raise_all

MOST_FILES, MOST_CHARACTERS = 50, 1_000_000
"""Where only first rows are read: files of a folder, and characters of a file."""
_ARCHIVES = {".zip", ".tar", ".tgz", ".7z", ".bz2", ".xz", ".zst", ".rar"}


class Files:
    """Rows of one file or of all files in a folder, in the order of their names.

    Args:
        layout: the fields of a row.
        split: of a task, prefix of the ids of rows without a mapped id; empty for a corpus.
        labelling: how the files encode labels.
        head: rows that are read of each of the first files; the errors of all of them are reported together.
            None: all files are read completely, and the first error is raised.

    Attributes:
        digests: file -> sha256 of its bytes; complete after `survey`.
        is_whole: whether `head` left nothing out.
    """

    def __init__(
        self,
        path: Path,
        layout: Layout,
        config: Source,
        split: str = "",
        labelling: Labelling = AS_IT_IS,
        head: int | None = None,
    ) -> None:
        self.path, self.layout, self.config, self.split = path, layout, config, split
        self.head, self.is_whole = head, True
        self.warnings: Counter[str] = Counter()
        self.fields = Fields(layout, names(config, layout), config.replace, labelling)
        self.digests: dict[str, str] = {}
        self._types: dict[str, tuple[str, str]] = {}  # column -> type and the first file that has it

    def rows(self) -> Iterator[Row]:
        """Raises BadData for an unusable file."""
        self.survey()
        read: dict[str, str] = {}
        failures: list[UserError] = []
        for name, digest in self.digests.items():
            if digest in read:
                self.warnings[f"{name} has the bytes of {read[digest]}: read once"] += 1
                continue
            read[digest] = name
            try:
                yield from self._rows(name)
            except UserError as error:
                if self.head is None:
                    raise
                failures.append(error)
                if error.code == Code.BAD_PATTERN:  # it would take as long in each of the other files
                    break
        raise_all(failures)

    def provenance(self) -> dict[str, Any]:
        return {"files": self.digests}

    def survey(self) -> None:
        """Find the files and their digests; all errors of names and Parquet columns are reported together."""
        if self.digests:
            return
        names = list(self._names())
        if self.head is not None:
            self.is_whole &= len(names) <= MOST_FILES
            del names[MOST_FILES:]
        failures: list[BadData] = []
        for name in names:
            try:
                check_regular(self._place(name), str(self._place(name)))
                self._check_types(name)
            except BadData as error:
                failures.append(error)
        raise_all(failures)
        self.digests = {name: self._digest(name) for name in names}

    def _names(self) -> Iterator[str]:
        """Of the files; those of a folder by their path in it."""
        if str(self.path).startswith("~"):
            raise BadData(Code.FILE, self.path, "~ is not expanded", "write the path out")
        if not self.path.exists():
            raise BadData(Code.FILE, self.path, "no such file or folder", "check `path` in params.yaml")
        if not self.path.is_dir():
            self._check_format(self.path)
            yield self.path.name
            return
        paths: dict[str, Path] = {}
        for folder, folders, files in os.walk(self.path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in folders:
                check_name(Path(folder) / name)
            for file in sorted(files):
                if not file.startswith(".") and not file.endswith(".dvc"):
                    place = Path(folder) / file
                    self._check_format(place)
                    paths[place.relative_to(self.path).as_posix()] = place
        if not paths:
            problem = "no file in this folder"
            raise BadData(Code.FILE, self.path, problem, f"put {known_suffixes()} files into it")
        real: dict[str, str] = {}
        for name, place in sorted(paths.items()):
            if (first := real.setdefault(os.path.realpath(place), name)) != name:
                raise BadData(Code.FILE, place, f"listed twice: it is {first}", "remove one of the two links")
            yield name

    def _check_format(self, place: Path) -> None:
        check_name(place)  # ids of rows contain the name
        suffixes = [suffix.lower() for suffix in place.suffixes]
        if _ARCHIVES.intersection(suffixes[-2:]):
            raise BadData(Code.WRONG_FORMAT, place, "archive, not text", "unpack it first")
        if format_of(place, self.config.format) is None:
            problem = "the name tells no known format"
            raise BadData(Code.FILE, place, problem, f"known: {known_suffixes()}; rename it or move it away")
        if suffixes[-2:] == [".parquet", ".gz"]:
            raise BadData(Code.DAMAGED_FILE, place, "Parquet inside gzip", "unpack it; Parquet is compressed inside")

    def _check_types(self, name: str) -> None:
        """Parquet parts must agree on a column, and it must hold text; other formats have no types."""
        place = self._place(name)
        kind = format_of(place, self.config.format)
        if kind is None or FORMATS[kind].made_of != "columns":
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            schema = pq.read_schema(place)
        except (pa.ArrowInvalid, OSError):
            return  # reading reports it with more detail
        check_columns_differ(schema.names, self.fields.columns.values(), str(place))
        for field, column in self.fields.columns.items():
            if column not in schema.names:
                continue
            shown = _type(schema.field(column).type)
            if "binary" in shown:
                raise BadData(Code.COLUMNS, place, f"column '{column}' is binary, expected string", "decode it first")
            if field in TEXTS and shown not in ("string", "null"):
                problem = f"column '{column}' is {shown}, expected string"
                raise BadData(Code.COLUMNS, place, problem, "write it as string")
            first_type, first = self._types.setdefault(column, (shown, name))
            if first_type != shown:
                problem = f"column '{column}': {first_type} in {first}, {shown} in {name}"
                raise BadData(Code.COLUMNS, place, problem, "write all parts with one type")

    def _rows(self, name: str) -> Iterator[Row]:
        place = self._place(name)
        kind = format_of(place, self.config.format)
        assert kind is not None, "survey rejects files without a format"
        file = SourceFile(
            place,
            str(place),
            self.layout,
            self.fields.columns,
            lambda columns: self._check_columns(columns, place),
            self.warnings,
            self.config.encoding,
            name,
            self._stem(name),
        )
        rows, head = FORMATS[kind].read(file), Head(self.head or 0, MOST_CHARACTERS)
        with unchanged(file):
            for row in rows if self.head is None else head.of(rows):
                yield self.fields.read(row, f"{place}:{row.line}")
        self.is_whole &= head.is_whole
        if self._digest(name) != self.digests[name]:
            raise changed(file)

    def _digest(self, name: str) -> str:
        """sha256 of its bytes; of its path where only a beginning of a large file is read: paths are unique."""
        place = self._place(name)
        if self.head is not None and place.stat().st_size > MOST_CHARACTERS:
            return hashlib.sha256(os.fsencode(os.path.realpath(place))).hexdigest()
        return file_digest(place)

    def _check_columns(self, columns: list[str], place: Path) -> None:
        mapping = f"{self.config.key}.columns" if self.config.key else "`columns`"
        self.fields.check(columns, f"{place}:1", self.split, mapping)
        extra = [column for column in columns if column not in self.fields.columns.values()]
        if extra:
            # Only mapped ids are read: they may repeat, and decide what is held out.
            hint = " (rows are named after file and line; `columns: {id: id}` names them by their id)"
            unread = hint if "id" in extra and "id" not in self.fields.columns else ""
            self.warnings[f"files with columns that are not read: {', '.join(extra)}{unread}"] += 1

    def _stem(self, name: str) -> str:
        """Prefix of ids, also of documents. In a folder the whole name, so that a.txt and a.csv differ."""
        if self.path.is_dir():
            return f"{self.split}/{name}" if self.split else name
        stem = name[: -len(".gz")] if name.lower().endswith(".gz") else name
        return self.split or Path(stem).stem

    def _place(self, name: str) -> Path:
        return self.path / name if self.path.is_dir() else self.path


def _type(arrow: Any) -> str:
    """The type of a Parquet column, for comparison and messages; all kinds of strings are one."""
    import pyarrow.types as types

    while types.is_dictionary(arrow):
        arrow = arrow.value_type
    is_text = types.is_string(arrow) or types.is_large_string(arrow) or types.is_string_view(arrow)
    return "string" if is_text else str(arrow)
