"""Writes the rows of a source to a folder in data/raw: Parquet, unreadable rows with reasons, a manifest.

Rows are written in batches, so that memory does not grow with the text.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from adaptbert.codes import Code
from adaptbert.core.files import write_json
from adaptbert.data.labelled_set import TEST_GROUPS
from adaptbert.data.layout import Layout
from adaptbert.data.parquet_writer import Table, count_characters
from adaptbert.data.readers.encodings import REMEDY
from adaptbert.data.readers.records import Problem, Row
from adaptbert.errors import BadData


class RawWriter:
    """Counts, digests and writes the rows of one corpus, or of the splits of one task.

    Args:
        folder: exists and is empty.
        layout: the columns of a row.
    """

    def __init__(self, folder: Path, layout: Layout) -> None:
        self.folder, self.layout = folder, layout
        self._is_corpus = layout.is_corpus
        self.rows: dict[str, int] = {}
        self.rows_in: dict[str, int] = {}
        self.characters = 0
        self._digest = hashlib.sha256()
        split = [] if self._is_corpus else [("split", pa.string())]
        columns = [("id", pa.string()), *split, ("file", pa.string()), ("line", pa.int64()), ("code", pa.int64())]
        self._unreadable = Table(folder / "unreadable.parquet", [*columns, ("reason", pa.string())])
        self._groups: Table | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._unreadable.__exit__(kind, error, traceback)
        if self._groups is not None:
            self._groups.__exit__(kind, error, traceback)

    def write(self, rows: Iterable[Row], name: str, place: str | Path) -> None:
        """One file of rows.

        Args:
            name: of the file, without its suffix: `text`, or the split.
            place: what messages call the source.
        """
        fields, inputs = self.layout.fields, self.layout.inputs
        columns = [(field.name, field.type) for field in self.layout.arrow()]
        problems: Counter[Problem] = Counter()
        written = 0
        with Table(self.folder / f"{name}.parquet", [*columns, ("file", pa.string()), ("line", pa.int64())]) as table:
            for row in rows:
                if row.problem is not None:
                    problems[row.problem] += 1
                    self._add_unreadable(row, row.problem, name)
                    continue
                written += 1
                content = [row.values[field] for field in fields]
                characters = sum(count_characters(row.values[field]) for field in inputs)
                self.characters += characters
                table.add({"id": row.id, **row.values, "file": row.file, "line": row.line}, characters)
                if name == "test" and row.group is not None:
                    self._add_group(row)
                self._digest.update(json.dumps([row.id, *content], ensure_ascii=False).encode())
        self.rows[name], self.rows_in[name] = written, written + problems.total()
        if not written:
            raise _nothing_left(problems, place)

    def finish(self, about: Mapping[str, Any], warnings: Mapping[str, int]) -> dict[str, Any]:
        """Write the manifest and return it."""
        manifest = {
            **about,
            "rows": sum(self.rows.values()) if self._is_corpus else self.rows,
            "rows_in": sum(self.rows_in.values()) if self._is_corpus else self.rows_in,
            "characters": self.characters,
            "digest": self._digest.hexdigest(),
            "warnings": dict(sorted(warnings.items())),
        }
        write_json(self.folder / "manifest.json", manifest)
        return manifest

    def _add_group(self, row: Row) -> None:
        """For the comparison, which draws the test rows of a group together."""
        if self._groups is None:
            self._groups = Table(self.folder / TEST_GROUPS, [("id", pa.string()), ("group", pa.string())])
        self._groups.add({"id": row.id, "group": row.group})

    def _add_unreadable(self, row: Row, problem: Problem, name: str) -> None:
        values = {"id": row.id, "file": row.file, "line": row.line}
        split = {} if self._is_corpus else {"split": name}
        self._unreadable.add({**values, **split, "code": problem.code, "reason": problem.reason})


def _nothing_left(problems: Counter[Problem], place: str | Path) -> BadData:
    if not problems:
        return BadData(Code.NOTHING_LEFT, place, "0 documents", "name a source with text")
    (code, _), _ = problems.most_common(1)[0]
    counts = "; ".join(f"{count:,} x {reason}" for (_, reason), count in problems.most_common(5))
    problem = f"0 of {problems.total():,} documents left: {counts}"
    return BadData(Code.NOTHING_LEFT, place, problem, REMEDY if code == Code.NOT_DECODABLE else "mend them")
