"""How much there is to train on: rows, classes and tokens of the texts and tasks that params.yaml names.

Exact as far as the stages have validated and tokenised the files as they are now; before, by the files: all rows of
small ones, the first rows of others, and as many as they have lines.
"""

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.sources import Source, Task
from adaptbert.core.files import read_json
from adaptbert.data.files import Files
from adaptbert.data.formats import FORMATS, format_of
from adaptbert.data.rows import Row
from adaptbert.data.task_description import FILE, TaskDescription
from adaptbert.errors import UserError
from adaptbert.project.preflight import ROWS, is_small, without_warnings
from adaptbert.project.task_inference import is_chinese

TOKENIZED, VALIDATED = Path("data/tokenized"), Path("data/validated/tasks")
CHARACTERS, OF_CHINESE = 4.2, 1.5
"""Of a token, [CLS] and [SEP] counted: of English by the vocabulary of BERT, of Chinese by one of characters."""
_BLOCK = 1 << 20


class Amount(NamedTuple):
    """Of a text, or of the training rows of a task.

    Attributes:
        classes: labels of a task, those that were seen; 0: no row has a class.
        is_exact: whether the tokens were counted.
        shares: of the rows, by each class that they have.
    """

    rows: float
    tokens: float
    is_exact: bool
    classes: int = 0
    shares: tuple[float, ...] = ()


class _Read(NamedTuple):
    """What a file shows."""

    rows: float
    characters: float
    is_chinese: bool
    labels: Mapping[str, float]
    """Label -> share of the rows that have it."""


class Amounts:
    """Of a recipe; each file is looked at once.

    Args:
        with_outputs: whether outputs of stages may be those of this recipe.
    """

    def __init__(self, recipe: Recipe, *, with_outputs: bool = True) -> None:
        self._recipe, self._with_outputs = recipe, with_outputs
        self._seen: dict[str, _Read | None] = {}

    def corpus(self, name: str, base: str) -> Amount | None:
        """None where it cannot be read, which `adaptbert check` reports."""
        source = self._recipe.corpora[name]
        if counted := self._counted(Path(source.path), TOKENIZED / base / "corpora" / name / "corpus.json"):
            return Amount(counted["texts"], counted["tokens"], True)
        read = self._read(source, source.path, "")
        return read and Amount(read.rows, _tokens(read), False)

    def task(self, name: str, base: str) -> Amount | None:
        """The same of the rows that a task is trained on."""
        task, train = self._recipe.tasks[name], Path(self._recipe.tasks[name].train)
        counted = self._counted(train, TOKENIZED / base / "tasks" / name / "corpus.json")
        described = self._described(train, VALIDATED / name)
        read = self._read(task, task.train, "train")
        shares = tuple(read.labels.values()) if read else ()
        if counted and described:
            return Amount(described.rows["train"], counted["tokens"], True, len(described.labels), shares)
        if read is None:
            return None
        share = 1 - sum(task.split.shares().values()) if task.split is not None else 1
        rows, classes = read.rows * share, len({*read.labels, *(task.labels or ())})
        if described:
            rows, classes = described.rows["train"], len(described.labels)
        return Amount(rows, _tokens(read) * share, False, classes, shares)

    def _read(self, source: Source, place: str, split: str) -> _Read | None:
        if source.key not in self._seen:
            self._seen[source.key] = _read(source, place, split)
        return self._seen[source.key]

    def _counted(self, source: Path, output: Path) -> dict[str, int] | None:
        """An output of a stage, if it is younger than the file that it was made of."""
        try:
            is_young = self._with_outputs and output.stat().st_mtime >= source.stat().st_mtime
            return read_json(output) if is_young else None
        except (OSError, ValueError):
            return None

    def _described(self, source: Path, folder: Path) -> TaskDescription | None:
        try:
            return TaskDescription.read(folder) if self._counted(source, folder / FILE) else None
        except (OSError, ValueError, KeyError):  # by an older version
            return None


def _tokens(read: _Read) -> float:
    return read.characters / (OF_CHINESE if read.is_chinese else CHARACTERS)


def _read(source: Source, place: str, split: str) -> _Read | None:
    path = Path(place)
    try:
        is_whole = is_small([path])
        with without_warnings():
            return _of_rows(source, Files(path, source, split, None if is_whole else ROWS), is_whole=is_whole)
    except (UserError, OSError):
        return None


def _of_rows(source: Source, files: Files, *, is_whole: bool) -> _Read | None:
    inputs, column = ["text"], ""
    if isinstance(source, Task):
        inputs, column = [*source.spec.rows.inputs], source.spec.output.column
    rows = characters = 0.0
    labels, texts, every = Counter[str](), list[str](), 0
    for name, of_file in _by_file(files.rows()):
        read, last, length = 0, 1, 0
        for row in of_file:
            last = row.line
            if row.problem is None:
                text = " ".join(_text(row.values[field]) for field in inputs)
                read, length, every = read + 1, length + len(text), every + 1
                texts += [text] if len(texts) < ROWS else []
                if isinstance(source, Task):
                    labels.update(set(source.spec.output.labels(row.values[column])))
        times = 1 if is_whole else max(1.0, _lines(files.path / name if files.path.is_dir() else files.path) / last)
        rows, characters = rows + times * read, characters + times * length
    shares = {label: count / every for label, count in labels.items()}
    return _Read(rows, characters, is_chinese(texts), shares) if rows else None


def _by_file(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    of_file: list[Row] = []
    for row in rows:
        if of_file and row.file != of_file[0].file:
            yield of_file[0].file, of_file
            of_file = []
        of_file.append(row)
    if of_file:
        yield of_file[0].file, of_file


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _lines(path: Path) -> int:
    """Of a file; of one without lines its rows, where that is known."""
    kind = format_of(path)
    if kind == "parquet":
        import pyarrow.parquet as pq

        return int(pq.read_metadata(path).num_rows)
    if kind is not None and FORMATS[kind].made_of != "lines":
        return 0
    with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))
