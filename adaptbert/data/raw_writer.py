"""Writes the rows of a source to a folder in data/raw: Parquet, unreadable rows with reasons, a manifest.

Rows are written in batches, so that memory does not grow with the text.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from adaptbert.codes import Code
from adaptbert.core.files import write_json
from adaptbert.data.labelled_set import TEST_GROUPS
from adaptbert.data.layout import Layout
from adaptbert.data.parquet import Table
from adaptbert.data.readers.encodings import REMEDY
from adaptbert.data.readers.records import Problem, Row
from adaptbert.errors import BadData

_TEXT, _NUMBER = pa.string(), pa.int64()


class RawWriter:
    """Counts, digests and writes the rows of one corpus, or of the splits of one task.

    Args:
        folder: exists and is empty.
        layout: the columns of a row.
    """

    def __init__(self, folder: Path, layout: Layout) -> None:
        self.folder, self.layout = folder, layout
        self.rows: dict[str, int] = {}
        self.rows_in: dict[str, int] = {}
        self.characters = 0
        self._digest = hashlib.sha256()
        self._tables = ExitStack()
        split = [] if layout.is_corpus else [("split", _TEXT)]
        columns = [("id", _TEXT), *split, ("file", _TEXT), ("line", _NUMBER), ("code", _NUMBER), ("reason", _TEXT)]
        self._unreadable = self._table("unreadable.parquet", columns)
        self._groups: Table | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tables.__exit__(kind, error, traceback)

    def write(self, rows: Iterable[Row], name: str, place: str | Path) -> None:
        """One file of rows.

        Args:
            name: of the file, without its suffix: `text`, or the split.
            place: what messages call the source.
        """
        columns = [(field.name, field.type) for field in self.layout.arrow()]
        problems: Counter[Problem] = Counter()
        written = 0
        with Table(self.folder / f"{name}.parquet", [*columns, ("file", _TEXT), ("line", _NUMBER)]) as table:
            for row in rows:
                common = {"id": row.id, "file": row.file, "line": row.line}
                if row.problem is not None:
                    problems[row.problem] += 1
                    split = {} if self.layout.is_corpus else {"split": name}
                    self._unreadable.add({**common, **split, **row.problem._asdict()})
                    continue
                written += 1
                characters = sum(_characters(row.values[field]) for field in self.layout.inputs)
                self.characters += characters
                table.add({**common, **row.values}, characters)
                if name == "test" and row.group is not None:
                    self._add_group(row)
                content = [row.id, *(row.values[field] for field in self.layout.fields)]
                self._digest.update(json.dumps(content, ensure_ascii=False).encode())
        self.rows[name], self.rows_in[name] = written, written + problems.total()
        if not written:
            raise _nothing_left(problems, place)

    def finish(self, about: Mapping[str, Any], warnings: Mapping[str, int]) -> dict[str, Any]:
        """Write the manifest and return it."""
        is_corpus = self.layout.is_corpus
        manifest = {
            **about,
            "rows": sum(self.rows.values()) if is_corpus else self.rows,
            "rows_in": sum(self.rows_in.values()) if is_corpus else self.rows_in,
            "characters": self.characters,
            "digest": self._digest.hexdigest(),
            "warnings": dict(sorted(warnings.items())),
        }
        write_json(self.folder / "manifest.json", manifest)
        return manifest

    def _table(self, name: str, columns: list[tuple[str, pa.DataType]]) -> Table:
        """A table that is closed with the writer."""
        return self._tables.enter_context(Table(self.folder / name, columns))

    def _add_group(self, row: Row) -> None:
        """For the comparison, which draws the test rows of a group together."""
        if self._groups is None:
            self._groups = self._table(TEST_GROUPS, [("id", _TEXT), ("group", _TEXT)])
        self._groups.add({"id": row.id, "group": row.group})


def _characters(cell: str | list[str]) -> int:
    return len(cell) if isinstance(cell, str) else sum(map(len, cell))


def _nothing_left(problems: Counter[Problem], place: str | Path) -> BadData:
    if not problems:
        return BadData(Code.NOTHING_LEFT, place, "0 documents", "name a source with text")
    (code, _), _ = problems.most_common(1)[0]
    counts = "; ".join(f"{count:,} x {reason}" for (_, reason), count in problems.most_common(5))
    problem = f"0 of {problems.total():,} documents left: {counts}"
    return BadData(Code.NOTHING_LEFT, place, problem, REMEDY if code == Code.ENCODING else "mend them")
