"""Reads rows from the user's files in any of `FORMATS`, plain or gzip: one file or a folder.

In: the section of a corpus or a task. Out: its rows, and, complete after the last of them, the digests of the files and
counts of repairs and omissions. A task has a source for each split, checks across splits, and splits that are cut off
its training rows.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Source, Task
from adaptbert.core.files import file_digest
from adaptbert.data.cleaning import letters
from adaptbert.data.fields import Fields, column_names
from adaptbert.data.formats import FORMATS, KNOWN, format_of
from adaptbert.data.label_names import NONE_APPLIES, of_cell, renaming
from adaptbert.data.layout import Layout, as_text
from adaptbert.data.read_text import check_name, check_regular
from adaptbert.data.rows import Row, SourceFile, first_rows
from adaptbert.data.source_config import layout_of, names
from adaptbert.data.tag_schemes import OUTSIDE
from adaptbert.errors import BadData, UserError, failures_of, raise_all

MOST_FILES, MOST_CHARACTERS = 50, 1_000_000
"""Most files of a folder, and characters of a file (more of many rows), where only first rows are read."""


class Files:
    """Rows of one file or of all files in a folder, in the order of their names.

    Args:
        split: of a task, prefix of the ids of rows without a mapped id; empty for a corpus.
        head: rows that are read of each of the first files; None: all files are read completely.

    Attributes:
        warnings: counts of repairs and omissions, complete after the last row.
    """

    def __init__(self, path: Path, config: Source, split: str = "", head: int | None = None) -> None:
        self.path, self.config, self.split, self.layout, self.head = path, config, split, layout_of(config), head
        self.warnings: Counter[str] = Counter()
        labels = (config.separator, config.map_labels) if isinstance(config, Task) else (None, None)
        self.fields = Fields(self.layout, names(config, self.layout), config.replace, *labels)

    def rows(self) -> Iterator[Row]:
        """Raises BadData for unusable files: the errors of all of them, after the rows of the others."""
        read: dict[str, str] = {}
        failures: list[UserError] = []
        for name, digest in self.digests.items():
            if (same := read.setdefault(digest, name)) != name:
                self.warnings[f"{name} has the bytes of {same}: read once"] += 1
                continue
            try:
                yield from self._rows(name)
            except UserError as error:
                failures.append(error)
                if error.code == Code.BAD_PATTERN:  # it would take as long in each of the other files
                    break
        raise_all(failures)

    @cached_property
    def digests(self) -> dict[str, str]:
        """File -> sha256 of its bytes; all errors of names are reported together."""
        names = self._names()[: None if self.head is None else MOST_FILES]
        raise_all([error for name in names for error in failures_of(check_regular, self._place(name))])
        return {name: self._digest(name) for name in names}

    def _names(self) -> list[str]:
        """Names of the files; those of a folder by their path in it, sorted."""
        if not self.path.exists():
            raise BadData(Code.FILE, self.path, "no such file or folder", "check `path` in params.yaml")
        if not self.path.is_dir():
            self._check_format(self.path)
            return [self.path.name]
        found: list[str] = []
        for place in sorted(self.path.rglob("*")):
            inside = place.relative_to(self.path)
            if not (place.is_dir() or place.suffix == ".dvc" or any(part.startswith(".") for part in inside.parts)):
                self._check_format(place)
                found.append(inside.as_posix())
        if not found:
            raise BadData(Code.FILE, self.path, "no file in this folder", f"put {KNOWN} files into it")
        return sorted(found)

    def _check_format(self, place: Path) -> None:
        check_name(place)  # ids of rows contain the name
        if format_of(place, self.config.format) is None:
            remedy = f"known: {KNOWN}; rename it, unpack an archive, or move it away"
            raise BadData(Code.FILE, place, "the name tells no known format", remedy)

    def _rows(self, name: str) -> Iterator[Row]:
        place = self._place(name)
        kind = format_of(place, self.config.format)
        assert kind is not None, "`_names` rejects files without a format"
        file = SourceFile(
            place, str(place), self.layout, self.fields.columns, partial(self._check_columns, place), self.warnings,
            self.config.encoding, name, self._stem(name),
        )  # fmt: skip
        rows = FORMATS[kind].read(file)
        for row in rows if self.head is None else first_rows(rows, self.head, max(MOST_CHARACTERS, 500 * self.head)):
            yield self.fields.read(row, f"{place}:{row.line}")
        if self._digest(name) != self.digests[name]:
            raise file.error(Code.FILE, "changed while reading", "run again when nothing writes to it")

    def _digest(self, name: str) -> str:
        """sha256 of its bytes; of its path where only a beginning of a large file is read: paths are unique."""
        place = self._place(name)
        if self.head is not None and place.stat().st_size > MOST_CHARACTERS:
            return sha256(os.fsencode(os.path.realpath(place))).hexdigest()
        return file_digest(place)

    def _check_columns(self, place: Path, columns: list[str]) -> None:
        mapping = f"{self.config.key}.columns" if self.config.key else "`columns`"
        self.fields.check(columns, f"{place}:1", mapping)
        extra = [column for column in columns if column not in self.fields.columns.values()]
        if extra:
            # Only mapped ids are read: they may repeat, and decide what is held out.
            hint = " (results name a row by its line in the file; with `columns: {id: id}` by its id)"
            unread = hint if "id" in extra and "id" not in self.fields.columns else ""
            self.warnings[f"files with columns that are not read: {column_names(extra)}{unread}"] += 1

    def _stem(self, name: str) -> str:
        """Prefix of ids, also of documents. In a folder the whole name, so that a.txt and a.csv differ."""
        if self.path.is_dir():
            return f"{self.split}/{name}" if self.split else name
        return self.split or Path(name[: -len(".gz")] if name.lower().endswith(".gz") else name).stem

    def _place(self, name: str) -> Path:
        return self.path / name if self.path.is_dir() else self.path


class LabelledFiles:
    """The files of each split of a task, and the checks across splits.

    Args:
        paths: split -> its path; those that `split` of the task cuts off the training rows are not read.
        head: rows that are read of each file, see `Files`.

    Raises:
        BadData: two splits have the same bytes.
    """

    def __init__(self, paths: Mapping[str, Path], task: Task, head: int | None = None) -> None:
        self.shares = task.split.shares() if task.split is not None else {}
        self._task, self._layout, self._is_head = task, layout_of(task), head is not None
        is_tool = task.format == "doccano" and self._layout.has_spans  # many sentences of CoNLL have no span
        self._asks = (is_tool or task.target == "labels") and "" not in (task.map_labels or {})
        self._outside = {OUTSIDE} if is_tool else set[str]()
        self._files = {
            split: Files(path, task, split, head) for split, path in paths.items() if split not in self.shares
        }
        self._maps_group = "group" in (task.columns or {})
        self._groups: dict[str, set[str]] = {split: set() for split in paths}
        self._of_documents: Counter[str] = Counter()
        first_place: dict[str, str] = {}
        raise_all([error for files in self._files.values() for error in failures_of(getattr, files, "digests")])
        for split, files in self._files.items():
            for name, digest in files.digests.items():
                if digest in first_place:
                    problem = f"{name} has the bytes of {first_place[digest]}"
                    raise BadData(Code.FILE, files.path, problem, "a split needs a file of its own")
            first_place |= {digest: f"{split}: {name}" for name, digest in files.digests.items()}

    def rows(self, split: str) -> Iterator[Row]:
        """Raises BadData where a mapped group is in two splits or a split is cut off too few rows, and at the end of a
        split without labels, with labels of another type than those before, or of test rows that are all one such
        group. What is wrong with documents of the format is a warning.
        """
        is_cut = bool(self.shares) and split in ("train", *self.shares)
        labelled = unlabelled = empty = 0
        for row in self._cut_off(split) if is_cut else self._files[split].rows():
            if row.problem is not None:
                unlabelled += row.problem.code in (Code.LABEL_MISSING, Code.LEFT_OUT)
            else:
                labelled += 1
                empty += self._asks and {*row.values[self._layout.output.column]} <= self._outside
                self._check_group(row, split)
            yield row
        if unlabelled and not labelled:
            remedy = "a split needs labels; rows without them are for prediction"
            raise BadData(Code.LABEL_MISSING, split, f"{split} has no labels", remedy)
        if 2 * empty > labelled:
            problem = f"{empty:,} of {labelled:,} rows have no label: {NONE_APPLIES}"
            remedy = renaming({"": None}, self._task, self._task.key or "the task")
            remedy += " to leave them out; where none applies, '': ''"
            raise BadData(Code.LABEL_MISSING, self._files.get(split, self._files["train"]).path, problem, remedy)
        if split == "test" and labelled > 1 and not self._is_head and len(self._groups["test"]) == 1:
            self._of_documents[ONE_DOCUMENT] = labelled
            if self._maps_group:  # rows are resampled by groups
                problem = f"all {labelled:,} test rows are of one group, so that nothing is known of other groups"
                remedy = "take rows of more groups for test, or take `group` out of `columns`"
                raise BadData(Code.GROUPS, _SECTION, problem, remedy)
        self._check_label_kinds()

    @property
    def warnings(self) -> Counter[str]:
        return sum((files.warnings for files in self._files.values()), self._of_documents)

    @property
    def digests(self) -> dict[str, dict[str, str]]:
        """Split -> file -> sha256."""
        return {split: files.digests for split, files in self._files.items()}

    def cut(self) -> dict[str, Any]:
        """The splits that are cut off the training rows, with their shares, and the column whose hash decides."""
        columns = self._files["train"].fields.columns
        has_documents = any(row.group for rows in self._pool.values() for row in rows)
        by = "document" if has_documents else " and ".join(self._layout.shared)
        return {**self.shares, "by_hash_of": columns.get("group", by)}

    @cached_property
    def _pool(self) -> dict[str, list[Row]]:
        files = self._files["train"]
        rows = [*files.rows()]
        pool = cut(rows, self._layout, self.shares)
        if not (self._maps_group or all(pool.values())) and (documents := {row.group for row in rows} - {None}):
            self._of_documents[FEW_DOCUMENTS] = len(documents)
            pool = cut([row._replace(group=None) for row in rows], self._layout, self.shares)
        if moved := keep_labels(pool, self._layout, self._labels_of):
            files.warnings[KEPT_IN_TRAIN] = moved
        return pool

    def _labels_of(self, row: Row) -> set[str]:
        cell = row.values.get(self._layout.output.column)
        return {*of_cell(cell, self._layout, self._task.span_scheme)} if row.problem is None else set()

    def _cut_off(self, split: str) -> list[Row]:
        if not self._pool[split]:
            total, kept = sum(map(len, self._pool.values())), self.warnings[KEPT_IN_TRAIN]
            problem, remedy = f"{total:,} rows cannot be split: none falls to {split}", "give more rows"
            if kept:
                problem += f", and {kept:,} stay in train, which has no other row of their label"
                remedy = "give more rows of rare labels, or one name to several of them by map_labels"
            raise BadData(Code.TOO_FEW_ROWS, _SECTION, problem, f"{remedy}, or a file for {split}")
        return self._pool[split]

    def _check_group(self, row: Row, split: str) -> None:
        if row.group is None:
            return
        self._groups[split].add(row.group)
        first = next((other for other, groups in self._groups.items() if other != split and row.group in groups), None)
        if first is not None and self._maps_group:
            problem = f"the group of row '{row.id}' is in {first}, too"
            remedy = "split by group, or drop its rows from one of the two"
            raise BadData(Code.GROUPS, f"{row.file}:{row.line}", problem, remedy)
        self._of_documents[IN_TWO_SPLITS] += first is not None

    def _check_label_kinds(self) -> None:
        """Reject a column that mixes types: labels 1 and "1" would become equal."""
        kinds: dict[str, str] = {}
        for files in self._files.values():
            kinds |= {kind: place for kind, place in files.fields.label_kinds.items() if kind not in kinds}
        if len(kinds) > 1:
            first = ", ".join(f"{name} ({place})" for name, place in kinds.items())
            problem = f"labels have mixed types: {first}"
            raise BadData(Code.BAD_LABEL, list(kinds.values())[-1], problem, "write them all alike")


_SECTION = "params.yaml: tasks"
KEPT_IN_TRAIN = "rows that stay in train, which has no other row of their label"
"""A warning of splits that are cut off."""
IN_TWO_SPLITS = "rows whose document is in another split, too"
ONE_DOCUMENT = "test rows that are all of one document, and are resampled one by one"
FEW_DOCUMENTS = "document(s), too few to be split whole: rows are split by their text"
OF_DOCUMENTS = (IN_TWO_SPLITS, ONE_DOCUMENT, FEW_DOCUMENTS)
"""Warnings of documents of the format (CoNLL, SQuAD), of which nobody said that they are groups."""


# ---- splits by a hash


def cut(rows: Iterable[Row], layout: Layout, shares: Mapping[str, float]) -> dict[str, list[Row]]:
    """The rows of one source by split, in memory; rows that cannot be read belong to train.

    The split of a row depends only on its text, or on its group where it has one, so that rows added later move no
    other row, and copies of one text stay together. Questions about one context stay together as well.
    """
    pool: dict[str, list[Row]] = {split: [] for split in ("train", *shares)}
    for row in rows:
        split = "train" if row.problem is not None else split_of(_key(row, layout), shares)
        pool[split].append(row)
    return pool


def keep_labels(pool: dict[str, list[Row]], layout: Layout, labels: Callable[[Row], set[str]]) -> int:
    """Move rows to train, which would not have a label of the others without them: how many they are.

    Of the texts or groups with such a label, the first by a hash moves, with all its rows; nothing else does.
    """
    trained = {label for row in pool["train"] for label in labels(row)}
    others, before, moved = [name for name in pool if name != "train"], len(pool["train"]), set[str]()
    lacking = [(_key(row, layout), labels(row)) for name in others for row in pool[name] if not labels(row) <= trained]
    for key, of_row in sorted(lacking, key=lambda pair: sha256(pair[0].encode()).digest()):
        if not of_row <= trained:
            moved.add(key)
            trained |= of_row
    for split in others if moved else ():
        rows = pool[split]
        pool["train"] += [row for row in rows if _key(row, layout) in moved]
        pool[split] = [row for row in rows if _key(row, layout) not in moved]
    return len(pool["train"]) - before


def _key(row: Row, layout: Layout) -> str:
    """What decides the split of a row."""
    if row.group is not None:
        return f"group {row.group}"
    return "\n".join(letters(as_text(row.values[name])) for name in layout.shared)


def split_of(key: str, shares: Mapping[str, float], salt: str = "split ") -> str:
    """`train`, or one of the splits that have a share.

    Args:
        salt: before the key, so that this choice is independent of other hashes of a text.
    """
    draw = int.from_bytes(sha256(f"{salt}{key}".encode()).digest()[:6]) / 2**48
    for name, share in shares.items():
        if draw < share:
            return name
        draw -= share
    return "train"
