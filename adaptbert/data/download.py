"""A data set of the Hugging Face hub as Parquet files, which params.yaml names like any others.

A split becomes `<split>.parquet`; class numbers become the names of their classes.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.core.files import atomic_write
from adaptbert.errors import BadData, Temporary

if TYPE_CHECKING:
    from datasets import Dataset


_OF_A_TASK = {"validation": "dev"}
"""Splits as the hub calls them -> as a task does."""


def download(name: str, revision: str | None, config: str | None, out: Path) -> list[str]:
    """Write the splits to a new folder: all of them, or none.

    Args:
        name: on the hub; or a local folder that `datasets` can load.
        revision: branch, tag or commit; None: main.
        config: of a data set that has several.

    Returns:
        What was written, from which commit, and how params.yaml names it.

    Raises:
        BadData: no such data set, configuration or revision; a damaged file, or one of CSV; something stands at `out`.
        Temporary: the hub does not respond.
    """
    if out.exists():
        raise BadData(Code.ALREADY_THERE, out, "is there already", "remove it, or name another folder: --out FOLDER")
    with TemporaryDirectory(prefix="adaptbert-") as cache, _errors(name), atomic_write(out) as folder:
        commit, splits = _load(name, revision, config, cache)
        folder.mkdir()
        for split, rows in splits.items():
            _with_class_names(rows, f"{name}: {split}").to_parquet(folder / f"{split}.parquet")
    files = {split: out / f"{split}.parquet" for split in splits}
    words = [f"--{_OF_A_TASK.get(split, split)} {quote(str(path))}" for split, path in files.items()]
    counts = (
        f"  {files[split]}: {len(rows):,} rows of {', '.join(rows.column_names)}" for split, rows in splits.items()
    )
    return [
        f"{name}{f': commit {commit}' if commit else ''}",
        *counts,
        f"as a corpus, below `corpora`: {out.name}: {{path: {next(iter(files.values()))}, columns: {{text: COLUMN}}}}",
        f"as a task: adaptbert add-task {' '.join(words)}",
    ]


def _load(name: str, revision: str | None, config: str | None, cache: str) -> tuple[str, Mapping[str, "Dataset"]]:
    """The commit, empty of a folder, and the rows of each split."""
    import datasets

    logging.getLogger("datasets").setLevel(logging.CRITICAL)  # errors are reported once, by adaptbert
    try:
        builder = datasets.load_dataset_builder(name, config, revision=revision, cache_dir=cache)
    except ValueError as error:
        if isinstance(error, _damage()):
            raise
        problem = str(error).split("\n")[0].rstrip(".")
        raise BadData(Code.FILE, name, problem, "check --config and --revision") from None
    if builder.info.builder_name == "csv":  # of which `datasets` makes numbers and nulls: 007, NA
        fetch = f"fetch its files, which are read as they stand: hf download {name} --repo-type dataset --local-dir DIR"
        raise BadData(Code.FILE, name, "its files are CSV, which say no types", fetch)
    builder.download_and_prepare()
    return "" if Path(name).is_dir() else str(builder.hash or ""), builder.as_dataset()


def _with_class_names(rows: "Dataset", place: str) -> "Dataset":
    """The rows with text in place of the numbers of classes, alone or in lists."""
    import datasets

    features, text = rows.features.copy(), datasets.Value("string")
    items = {column: getattr(feature, "feature", feature) for column, feature in features.items()}  # a list has one
    names = {
        column: kind.names for column, kind in items.items() if isinstance(kind, datasets.ClassLabel) and kind.names
    }
    for column in names:
        features[column] = datasets.List(text) if hasattr(features[column], "feature") else text
    if not names:
        return rows

    def named(row: dict[str, Any]) -> dict[str, Any]:
        return {column: _named(row[column], classes, place) for column, classes in names.items()}

    return rows.map(named, features=features)


def _named(value: Any, names: Sequence[str], place: str) -> Any:
    """The name; null where the number is below 0: so test sets of the hub hide their labels."""
    if isinstance(value, list):
        labels = [_named(each, names, place) for each in value]
        return None if None in labels else labels
    if value is None or value < 0:
        return None
    if value >= len(names):
        problem = f"label {value}, and the data set names {len(names)} classes, from 0"
        raise BadData(Code.UNKNOWN_LABEL, place, problem, "tell its authors, or mend the files by hand")
    return names[value]


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Errors of `datasets` as ours, without their messages, which may show a row."""
    from datasets.exceptions import DataFilesNotFoundError, DatasetNotFoundError
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except (DatasetNotFoundError, DataFilesNotFoundError, FileNotFoundError):
        problem = "no such data set or revision on the hub, or it is private or gated"
        remedy = "check name and revision; for a private or gated one: accept its terms, then hf auth login"
        raise BadData(Code.FILE, name, problem, remedy) from None
    except (ConnectionError, TimeoutError, HfHubHTTPError) as error:
        problem = f"the hub does not answer ({type(error).__name__})"
        remedy = "check the network and HF_HUB_OFFLINE, then run again"
        raise Temporary(Code.UNREACHABLE, name, problem, remedy) from None
    except RuntimeError as error:
        if "scripts are no longer supported" not in str(error):
            raise
        problem = "it is read by a script of its authors, and no such code is run"
        remedy = "the hub mostly has its rows as Parquet: --revision refs/convert/parquet"
        raise BadData(Code.FILE, name, problem, remedy) from None
    except _damage() as error:
        problem = f"a file of it cannot be read ({type(error.__cause__ or error).__name__})"
        remedy = "fetch its files by hand and mend them"
        raise BadData(Code.DAMAGED_FILE, name, problem, remedy) from None


def _damage() -> tuple[type[Exception], ...]:
    """What `datasets` raises for a file that cannot be read; the last for an empty one."""
    from datasets.exceptions import DatasetsError
    from pyarrow import ArrowException

    return DatasetsError, ArrowException, UnicodeDecodeError, StopIteration
