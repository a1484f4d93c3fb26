"""A data set of the Hugging Face hub as Parquet files, which params.yaml names like any others.

A split becomes `<split>.parquet`; `.download.json` beside them remembers the commit. Class numbers become the names of
their classes. Cells of CSV stay text (`NA`, `007`) where the data set declares no type.
"""

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adaptbert.codes import Code
from adaptbert.core.files import atomic_write, read_json, write_json
from adaptbert.errors import TEMPORARY, BadData, UserError

RECORD = ".download.json"
"""Hidden, so that the folder can be read as a corpus."""
_BATCH = 1_000


class HubUnreachable(UserError):
    """The hub does not respond; the same command may succeed later."""

    exit_code = TEMPORARY


def download(name: str, revision: str | None, config: str | None, out: Path) -> dict[str, Any]:
    """Write the splits to a folder, which is replaced as a whole, and return their record.

    Args:
        name: on the hub; or a local folder that `datasets` can load.
        revision: branch, tag or commit; None: main. The record names the commit.
        config: of a data set that has several.

    Raises:
        BadData: no such data set, configuration or revision; a damaged file; something else stands at `out`.
        HubUnreachable: the hub does not respond.
    """
    if out.exists() and not (out / RECORD).is_file():
        raise BadData(Code.ALREADY_THERE, out, "is there, and was not downloaded", "name another folder: --out FOLDER")
    with TemporaryDirectory(prefix="adaptbert-") as cache, _errors(name):
        commit, splits = _load(name, revision, config, cache)
        about = {split: {"rows": len(rows), "columns": rows.column_names} for split, rows in splits.items()}
        record = {"name": name, "config": config, "revision": commit, "splits": about}
        with atomic_write(out) as folder:
            folder.mkdir()
            for split, rows in splits.items():
                _write(rows, folder / f"{split}.parquet", f"{name}: {split}")
            write_json(folder / RECORD, record)
    return record


def _load(name: str, revision: str | None, config: str | None, cache: str) -> tuple[str | None, Mapping[str, Any]]:
    """The commit, None of a folder, and the rows of each split."""
    import datasets

    logging.getLogger("datasets").setLevel(logging.CRITICAL)  # errors are reported once, by adaptbert
    load = partial(datasets.load_dataset_builder, name, config, revision=revision, cache_dir=cache)
    try:
        builder = load()
    except ValueError as error:
        if not isinstance(error, _damage()):
            problem = str(error).split("\n")[0].rstrip(".")
            raise BadData(Code.FILE, name, problem, "check --config and --revision") from None
        raise
    if builder.info.builder_name == "csv":
        stream = next(iter(builder.as_streaming_dataset().values()))
        (row,) = deque(stream, 1)  # read to its end: else the file stays open
        builder = load(**_as_written(builder.info.features or {}, row))
    builder.download_and_prepare()
    return None if Path(name).is_dir() else builder.hash, builder.as_dataset()


def _as_written(declared: Mapping[str, Any], columns: Iterable[str]) -> dict[str, Any]:
    """Options of the CSV reader that keep cells as text; empty cells of columns with a declared type are missing."""
    typed = {name for name, kind in declared.items() if getattr(kind, "dtype", "") != "string"}
    return {
        "keep_default_na": False,
        "na_values": {name: [""] for name in typed},
        "converters": dict.fromkeys({*columns} - typed, str),
    }


def _write(rows: Any, path: Path, place: str) -> None:
    """One split; classes by their names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    classes = {name: found for name, kind in rows.features.items() if (found := _classes(kind))}
    schema = rows.features.arrow_schema.remove_metadata()
    for name, kind in rows.features.items():
        if name in classes:
            is_list = hasattr(kind, "feature")
            named = pa.list_(pa.string()) if is_list else pa.string()
            schema = schema.set(schema.get_field_index(name), pa.field(name, named))
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in rows.with_format("arrow").iter(_BATCH):
            cells = {name: batch[name] for name in batch.column_names}
            for name, names in classes.items():
                cells[name] = [_named(value, names, place) for value in batch[name].to_pylist()]
            writer.write_table(pa.table(cells, schema=schema))


def _classes(feature: Any) -> list[str] | None:
    """The names of the classes of a column that has one in each row, or a list of them."""
    return getattr(getattr(feature, "feature", feature), "names", None)


def _named(value: Any, names: Sequence[str], place: str) -> Any:
    """Null where it is below 0: so test sets of the hub hide their labels."""
    if isinstance(value, list):
        labels = [_named(each, names, place) for each in value]
        return None if None in labels else labels
    if value is None or value < 0:
        return None
    if value >= len(names):
        problem = f"label {value}, and the data set names {len(names)} classes, from 0"
        raise BadData(Code.UNKNOWN_LABEL, place, problem, "tell its authors, or mend the files by hand")
    return names[value]


def lines(out: Path) -> list[str]:
    """What was written, and how params.yaml names it."""
    record = read_json(out / RECORD)
    files = {split: out / f"{split}.parquet" for split in record["splits"]}
    commit = record["revision"] or "of a folder"
    counts = (
        f"  {files[split]}: {about['rows']:,} rows of {', '.join(about['columns'])}"
        for split, about in record["splits"].items()
    )
    first, words = next(iter(files.values())), " ".join(f"{split}={path}" for split, path in files.items())
    return [
        f"{record['name']}, {commit}:",
        *counts,
        f"as a corpus, below `corpora`: {out.name}: {{path: {first}, columns: {{text: COLUMN}}}}",
        f"as a task: adaptbert add-task {words}",
    ]


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
        raise HubUnreachable(Code.UNREACHABLE, name, problem, remedy) from None
    except _damage() as error:
        problem = f"a file of it cannot be read ({type(error.__cause__ or error).__name__})"
        remedy = "fetch its files by hand and mend them"
        raise BadData(Code.DAMAGED_FILE, name, problem, remedy) from None


def _damage() -> tuple[type[Exception], ...]:
    """What `datasets` raises for a file that cannot be read; the last for an empty one."""
    from datasets.exceptions import DatasetsError
    from pandas.errors import ParserError
    from pyarrow import ArrowException

    return DatasetsError, ArrowException, ParserError, UnicodeDecodeError, StopIteration
