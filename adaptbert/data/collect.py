"""Reads a corpus or a task into a folder of data/raw: Parquet, unreadable rows with reasons, a manifest.

Rows are written in batches, so that memory does not grow with the text.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Corpus, Task, maker
from adaptbert.core.files import write_json
from adaptbert.data.files import Files, LabelledFiles
from adaptbert.data.labelled_set import TEST_GROUPS
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.parquet import Table
from adaptbert.data.rows import Problem, Row
from adaptbert.data.source_config import layout_of
from adaptbert.errors import BadData, failures_of, raise_all

_TEXT, _NUMBER = pa.string(), pa.int64()


def collect_corpus(corpus: Corpus, folder: Path, head: int | None = None) -> dict[str, Any]:
    """Write text.parquet, unreadable.parquet and manifest.json to an empty folder; returns the manifest.

    Args:
        head: rows that are read of each file; None: all.
    """
    files = Files(Path(corpus.path), corpus, head=head)
    with RawWriter(folder, CORPUS) as writer:
        writer.write(files.rows(), "text", corpus.path)
        about = {"demonstration": maker(corpus.path) is not None, "files": files.digests}
        return writer.finish(about, files.warnings)


def collect_task(task: Task, paths: Mapping[str, Path], folder: Path, head: int | None = None) -> dict[str, Any]:
    """Write the rows of each split, and the errors of unreadable ones, to an empty folder; returns its manifest, or
    raises the errors of all splits.

    Args:
        paths: of train, dev and test.
        head: rows that are read of each file; None: all.
    """
    files, layout = LabelledFiles(paths, task, head), layout_of(task)
    with RawWriter(folder, layout) as writer:
        errors = [failures_of(writer.write, files.rows(split), split, path) for split, path in paths.items()]
        raise_all(list({str(error): error for of_split in errors for error in of_split}.values()))
        about = {"demonstration": maker(task.train) is not None, "task": task.model_dump(exclude_unset=True)}
        cut = {"split": files.cut()} if files.shares else {}
        return writer.finish({**about, **cut, "files": files.digests}, files.warnings)


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
        split = [] if layout.is_corpus else [("split", _TEXT)]
        columns = [("id", _TEXT), *split, ("file", _TEXT), ("line", _NUMBER), ("code", _NUMBER), ("reason", _TEXT)]
        self._unreadable = Table(folder / "unreadable.parquet", [*columns, ("remedy", _TEXT)])
        self._groups: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._unreadable.__exit__(*error)

    def write(self, rows: Iterable[Row], name: str, place: str | Path) -> None:
        """One file of rows.

        Args:
            name: of the file, without its suffix: `text`, or the split.
            place: what messages call the source.
        """
        problems: Counter[Problem] = Counter()
        written = 0
        split = {} if self.layout.is_corpus else {"split": name}
        columns = [*self.layout.arrow(), ("file", _TEXT), ("line", _NUMBER)]
        with Table(self.folder / f"{name}.parquet", columns) as table:
            for row in rows:
                common = {"id": row.id, "file": row.file, "line": row.line}
                if row.problem is not None:
                    problems[row.problem] += 1
                    self._unreadable.add({**common, **split, **row.problem._asdict()})
                    continue
                written += 1
                characters = sum(len("".join(row.values[field])) for field in self.layout.inputs)
                self.characters += characters
                table.add({**common, **row.values}, characters)
                if name == "test" and row.group is not None:
                    self._groups.append({"id": row.id, "group": row.group})
                content = [row.id, *(row.values[field] for field in self.layout.fields)]
                self._digest.update(json.dumps(content, ensure_ascii=False).encode())
        self.rows[name], self.rows_in[name] = written, written + problems.total()
        if not written:
            most = problems.most_common(5)
            counts = "; ".join(f"{count:,} x {problem.reason}" for problem, count in most)
            state = f"0 of {problems.total():,} documents left: {counts}" if most else "0 documents"
            remedy = most[0][0].remedy if most else "name a source with text"
            raise BadData(Code.NOTHING_LEFT, place, state, remedy)

    def finish(self, about: Mapping[str, Any], warnings: Mapping[str, int]) -> dict[str, Any]:
        """Write the manifest and return it."""
        # For the comparison, which draws the test rows of a group together; where all are of one, nothing would vary.
        if len({row["group"] for row in self._groups}) > 1:
            with Table(self.folder / TEST_GROUPS, [("id", _TEXT), ("group", _TEXT)]) as table:
                for row in self._groups:
                    table.add(row)
        rows, rows_in = (
            sum(counts.values()) if self.layout.is_corpus else counts for counts in (self.rows, self.rows_in)
        )
        manifest = {
            **about,
            "rows": rows,
            "rows_in": rows_in,
            "characters": self.characters,
            "digest": self._digest.hexdigest(),
            "warnings": dict(sorted(warnings.items())),
        }
        write_json(self.folder / "manifest.json", manifest)
        return manifest
