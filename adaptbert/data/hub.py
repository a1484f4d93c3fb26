"""Reads rows of a data set by name and revision, through `datasets`.

`path` is a small YAML file, so that DVC sees a change of revision:

    name: org/name           # on the hub, or a local folder of parquet, csv or jsonl files
    revision: 1f2e3d4c       # a commit, so that the text stays the same; a local folder has none
    config: default          # optional
    split: train             # for a task: {train: train, dev: validation, test: test}
    columns: {text: sentence, label: label}

The data are streamed: the only copies are those in the Hugging Face cache of the user, outside the project. CSV cells
are read as text (`NA`, `007` stay as they are) unless the data set declares a type.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config import load as params
from adaptbert.config.schema.section import Section
from adaptbert.config.schema.sources import Source
from adaptbert.data.layout import Layout
from adaptbert.data.readers.fields import AS_IT_IS, OPTIONAL, Fields, Labelling
from adaptbert.data.readers.records import Problem, Row
from adaptbert.errors import TEMPORARY, BadData, BadParams, UserError

_DAMAGED = {"json": Code.BAD_ROW, "csv": Code.WRONG_FORMAT, "parquet": Code.DAMAGED_FILE}
"""Format -> error code of an unreadable file."""


class HubConfig(Section):
    """The YAML file."""

    name: str
    revision: str | None = None
    config: str | None = None
    split: str | dict[str, str]
    columns: dict[str, str] | None = None


class HubUnreachable(UserError):
    """The hub does not respond; the same command may succeed later."""

    exit_code = TEMPORARY


class HubDataset:
    """Rows of one split.

    Args:
        layout: the fields of a row.
        split: of a task: train, dev or test.
        labelling: how the file encodes labels.
    """

    def __init__(
        self, path: Path, layout: Layout, config: Source, split: str = "", labelling: Labelling = AS_IT_IS
    ) -> None:
        self.path, self.task_split = path, split
        self.dataset = read_config(path, layout)
        self.split = self._split(split)
        self.warnings: Counter[str] = Counter()
        self.fields = Fields(layout, self.dataset.columns, config.replace, labelling)
        self.is_local = Path(self.dataset.name).is_dir()
        if not self.is_local and self.dataset.revision is None:
            raise BadParams(Code.UNKNOWN_KEY, f"{path}: revision", "is missing", "pin a commit of the data set")

    def rows(self) -> Iterator[Row]:
        loaded = self._load()
        stream = self._stream(loaded)
        first = list(islice(stream, 1))
        columns = list(loaded.features or chain(*first))
        self.fields.check(columns, f"{self.path}: {self.split}", self.task_split, f"`columns` of {self.path}")
        classes = {column: _classes(loaded.features, column) for column in self.fields.columns.values()}
        name, prefix = self.dataset.name, f"{Path(self.dataset.name).name}-{self.split}"
        for row, record in enumerate(chain(first, stream), 1):
            place = f"{name}[{row}]"
            values = {
                column: _named(record[column], known, place) if known else record[column]
                for column, known in classes.items()
            }
            yield self.fields.read(Row(f"{prefix}-{row}", name, row, values), place)

    def _stream(self, loaded: Any) -> Iterator[dict[str, Any]]:
        """The rows; a connection that breaks between two rows is reported like one that was never established."""
        import pyarrow as pa

        damage = (ValueError, pa.ArrowException, *((OSError,) if self.is_local else ()))
        try:
            yield from loaded
        except (ConnectionError, TimeoutError) as error:
            raise self._unreachable(error) from None
        except damage as error:
            raise self._damaged(error, loaded.info.builder_name) from None

    def _damaged(self, error: Exception, kind: str) -> BadData:
        """An error that names only the type of `error`, whose message may show row text."""
        code = Code.ENCODING if isinstance(error, UnicodeDecodeError) else _DAMAGED.get(kind, Code.DAMAGED_FILE)
        problem = f"a file of '{self.dataset.name}' cannot be read as {kind} ({type(error).__name__})"
        return BadData(code, f"{self.path}: name", problem, "mend it; `source: files` names the line")

    def _unreachable(self, error: Exception) -> HubUnreachable:
        problem = f"the hub does not answer for '{self.dataset.name}' ({type(error).__name__})"
        remedy = "check the network and HF_HUB_OFFLINE, then run again"
        return HubUnreachable(Code.UNREACHABLE, f"{self.path}: name", problem, remedy)

    def provenance(self) -> dict[str, Any]:
        return {"dataset": self.dataset.model_dump(exclude={"columns"}, exclude_none=True)}

    def _split(self, name: str) -> str:
        split = self.dataset.split
        if isinstance(split, str):
            return split
        if name not in split:
            problem = f"names no '{name}'"
            raise BadParams(Code.UNKNOWN_KEY, f"{self.path}: split", problem, f"name {name or 'one split, as text'}")
        return split[name]

    def _load(self) -> Any:
        import datasets
        import pyarrow as pa
        from datasets.exceptions import DataFilesNotFoundError, DatasetNotFoundError

        datasets.disable_progress_bars()
        logging.getLogger("datasets").setLevel(logging.CRITICAL)  # errors are reported once, by adaptbert
        name, place = self.dataset.name, f"{self.path}: name"
        load = partial(
            datasets.load_dataset,
            name,
            self.dataset.config,
            revision=self.dataset.revision,
            split=self.split,
            streaming=True,
        )
        try:
            loaded = load()
            if loaded.info.builder_name == "csv":
                loaded = load(**_as_written(loaded.features, self.fields.columns.values()))
            return loaded
        except (ConnectionError, TimeoutError) as error:
            raise self._unreachable(error) from None
        except (DatasetNotFoundError, DataFilesNotFoundError, FileNotFoundError):
            problem = f"no data set '{name}' of this revision, or no right to read it"
            raise BadData(Code.FILE, place, problem, "check name and revision; log in for a gated one") from None
        except pa.ArrowException as error:  # before ValueError, its base class; only Parquet is read by now
            raise self._damaged(error, "parquet") from None
        except StopIteration:
            raise BadData(Code.EMPTY_FILE, place, f"a file of '{name}' is empty", "fill it or take it away") from None
        except ValueError as error:
            problem = str(error).split("\n")[0].rstrip(".")
            raise BadData(Code.FILE, place, problem, "check split and config") from None


def read_config(path: Path, layout: Layout) -> HubConfig:
    """Refuses unknown keys and columns, as params.yaml does."""
    config = params.parse(HubConfig, params.read(path), "data set", path)
    known = (*OPTIONAL, *layout.fields)
    for name in config.columns or {}:
        if name not in known:
            problem = f"'{name}' is not a field of a {layout.name}"
            remedy = f"`columns` maps a field to a column; fields are {', '.join(known)}"
            raise BadParams(Code.UNKNOWN_KEY, f"{path}: columns", problem, remedy)
    return config


def _as_written(features: Any, columns: Iterable[str]) -> dict[str, Any]:
    """Options of the CSV reader that keep cells as text.

    Args:
        features: declared by the data set; columns of another type than text have it, and empty cells are missing.
        columns: the columns to read.
    """
    typed = {name for name, kind in (features or {}).items() if getattr(kind, "dtype", "") != "string"}
    return {
        "keep_default_na": False,
        "na_values": {name: [""] for name in typed},
        "converters": dict.fromkeys(set(columns) - typed, str),
    }


def _classes(features: Any, column: str) -> Any:
    """The named classes of a column, one a row or a list of them; None: the column has none."""
    feature = (features or {}).get(column)
    inner = getattr(feature, "feature", feature)
    return inner if hasattr(inner, "int2str") else None


def _named(value: Any, classes: Any, place: str) -> Any:
    """The class names of class numbers; a number below 0 is a missing label.

    Raises:
        BadData: a number without a class.
    """
    if isinstance(value, list):
        names = [_named(number, classes, place) for number in value]
        return next((name for name in names if isinstance(name, Problem)), names)
    if value is None or value < 0:
        return Problem(Code.LABEL_MISSING, "label missing")
    if value >= classes.num_classes:
        problem = f"label {value}, and the data set names {classes.num_classes} classes, from 0"
        raise BadData(Code.UNKNOWN_LABEL, place, problem, "mend the row, or the names of the classes")
    return classes.int2str(value)
