"""What `add-task` concludes of the user's files: the sections of `tasks`, and what it saw."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from adaptbert.base.task_types import TARGETS, TARGETS_OF, Target, TaskType
from adaptbert.codes import Code
from adaptbert.config.schema.sources import Format, named_type
from adaptbert.data.readers import encodings
from adaptbert.data.readers.spec import FORMATS
from adaptbert.errors import BadData, BadParams, nearest, shortened
from adaptbert.project.tasks import columns as of_columns
from adaptbert.project.tasks import targets
from adaptbert.project.tasks.sight import Sight, look
from adaptbert.project.tasks.splits import SPLITS, Splits

_MOST = 60
"""Characters of a value of the first row that are shown."""


class Said(NamedTuple):
    """What the user says of the files; None: by what they hold.

    Attributes:
        columns: field -> column.
    """

    columns: Mapping[str, str] = {}
    shape: TaskType | None = None
    target: Target | None = None
    format: Format | None = None
    encoding: str | None = None
    separator: str | None = None


def said(
    columns: Sequence[str],
    shape: str | None,
    target: str | None,
    kind: str | None,
    encoding: str | None,
    separator: str | None,
) -> Said:
    """The options of the command.

    Args:
        columns: each `OURS=YOURS`.

    Raises:
        BadParams: a name that is not known, or no pair.
    """
    targets_known = [*dict.fromkeys(each for of_type in TARGETS_OF.values() for each in of_type)]
    for option, value, known in (
        ("shape", shape, [*TARGETS_OF]),
        ("target", target, targets_known),
        ("format", kind, [*FORMATS]),
    ):
        if value is not None and value not in known:
            problem = f"'{value}' is not known{nearest(value, known)}"
            raise BadParams(Code.UNKNOWN_KEY, f"--{option}", problem, f"known: {', '.join(known)}")
    if encoding is not None and (reason := encodings.problem(encoding)):
        raise BadParams(Code.UNKNOWN_KEY, "--encoding", reason, encodings.remedy())
    return Said(_pairs(columns), cast(TaskType, shape), cast(Target, target), cast(Format, kind), encoding, separator)


def _pairs(columns: Sequence[str]) -> dict[str, str]:
    """Field -> column."""
    written: dict[str, str] = {}
    for pair in columns:
        field, _, column = pair.partition("=")
        if not field or not column:
            raise BadParams(Code.CONTRADICTION, "--columns", f"'{pair}' is no pair", "write --columns OURS=YOURS")
        if written.setdefault(field, column) != column:
            remedy = "write --columns OURS=YOURS once for each"
            raise BadParams(Code.CONTRADICTION, "--columns", f"'{field}' twice", remedy)
    return written


class Conclusion(NamedTuple):
    """What the files hold.

    Attributes:
        values: of the block in `tasks`, but for the paths.
        shown: lines for the user.
    """

    values: dict[str, Any]
    shown: list[str]


def of_files(splits: Splits, said: Said) -> Conclusion:
    """Look at the files of a task.

    Raises:
        BadData: a file cannot be read, or it is not clear what it holds; the message names the option that says it.
        BadParams: an option that does not fit.
    """
    sights = {split: look(path, said.format, said.encoding) for split, path in splits.files.items()}
    sight = sights["train"]
    for other in sights.values():
        if other.format != sight.format:
            problem = f"{other.format}, while {sight.path} is {sight.format}"
            raise BadData(Code.UNCLEAR_FILE, other.path, problem, "give all files in one format, or name it: --format")
    shape, fields = of_columns.assigned(sight, said.columns, said.shape)
    if shape == "extractive_answer":
        sights = {split: look(path, said.format, said.encoding, whole=True) for split, path in splits.files.items()}
        sight = sight._replace(rows=[row for each in sights.values() for row in each.rows])
    # A user who names the field `labels` or `value` has said the target, too.
    of_field: Target | None = "labels" if "labels" in said.columns else "number" if "value" in said.columns else None
    column = list(fields.values())[len(of_columns.FIELDS[shape]) - 1]
    labels = targets.of_rows(sight, shape, column, said.target or of_field, said.separator)
    target = labels.target
    named = {(TARGETS[target].column if field == "label" else field): name for field, name in fields.items()}
    mapped = {field: name for field, name in named.items() if field != name or field in ("id", "group")}
    row = {field: sight.rows[0].get(name) for field, name in named.items()}
    unread = [name for name in sight.columns if name not in named.values() and not _is_of_conll(sight, name)]
    values: dict[str, Any] = {**named_type(shape, target), **labels.keys}
    if not all(each.is_named for each in sights.values()):
        values["format"] = sight.format
    values |= {"encoding": said.encoding} if said.encoding else {}
    values |= {"columns": mapped} if mapped else {}
    return Conclusion(
        values,
        [
            *_files(sights, splits, grouped="group" in mapped),
            *_fields(row, mapped, unread),
            labels.shown if shape == "extractive_answer" else f"labels of {len(sight.rows):,} rows: {labels.shown}",
        ],
    )


def _is_of_conll(sight: Sight, name: str) -> bool:
    return sight.format == "conll" and (name.isdecimal() or name == "document")


def _files(sights: Mapping[str, Sight], splits: Splits, *, grouped: bool) -> Iterator[str]:
    for split in SPLITS:
        if split in sights:
            title = FORMATS[sights[split].format].title or sights[split].format
            yield f"{split}: {sights[split].path} ({title})"
        else:
            of, by = ("groups", "name, each whole") if grouped else ("rows", "text")
            yield f"{split}: {splits.shares[split]:.0%} of the {of} of train, chosen by a hash of their {by}"


def _fields(row: Mapping[str, Any], mapped: Mapping[str, str], unread: Sequence[str]) -> Iterator[str]:
    yield "the first row:"
    for field, value in row.items():
        column = f" (column {mapped[field]})" if mapped.get(field, field) != field else ""
        yield f"  {field}{column}: {_short(value)}"
    if unread:
        optional = [name for name in ("id", "group") if name in unread]
        hint = f" (read if named: {' '.join(f'--columns {name}={name}' for name in optional)})" if optional else ""
        yield f"columns that are not read: {', '.join(unread)}{hint}"


def _short(value: Any) -> str:
    if isinstance(value, list):
        return shortened(" ".join(map(str, value)), _MOST)
    return shortened(str(value).replace("\n", " "), _MOST)


def paths_of(splits: Splits, places: Mapping[Path, Path]) -> dict[str, Any]:
    """The keys of the files in `collect_task`; a split that is cut off names the file of train.

    Args:
        places: file -> where it lies in the project.
    """
    train = places[splits.files["train"]]
    paths = {split: places[splits.files[split]] if split in splits.files else train for split in SPLITS}
    keys: dict[str, Any] = {split: path.as_posix() for split, path in paths.items()}
    return {**keys, **({"split": dict(splits.shares)} if splits.shares else {})}
