"""A file that was read in the wrong format -> an error whose remedy names the right one.

It looks at the beginning of the file, and only once something failed: how a file is read depends on its name and on
`format` alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adaptbert.base.task_types import TaskType
from adaptbert.codes import Code
from adaptbert.collection.readers.formats.spec import FORMATS, Format
from adaptbert.collection.readers.lines import head
from adaptbert.errors import BadData, UserError

_MISREAD = (
    Code.NOTHING_LEFT,
    Code.JSON_NOT_IN_LINES,
    Code.COLUMN_MISSING,
    Code.COLUMN_CASE,
    Code.LABEL_TYPE,
    Code.LIST_EXPECTED,
    Code.COLUMN_COUNT,
    Code.BAD_CSV,
)
"""Codes of what another format may explain: columns that are missing, or hold something else."""


@contextmanager
def hinted(path: Path, kind: Format, encoding: str | None, task_type: TaskType | None, write: str) -> Iterator[None]:
    """Inside, the file is read.

    Args:
        kind: in which it is read, for its name.
        task_type: None: a corpus, which has none of the formats that can be told.
        write: how the user names a format, `{}`.
    """
    try:
        yield
    except UserError as error:
        looks = other_format(path, kind, encoding, task_type) if error.code in _MISREAD else None
        if looks is None:
            raise
        remedy = f"this looks like {FORMATS[looks].title}: write {write.format(looks)}"
        raise BadData(error.code, error.place, error.problem, remedy) from None


def other_format(path: Path, kind: Format, encoding: str | None, task_type: TaskType | None) -> Format | None:
    """What the file looks like, if it is not `kind` and holds rows of the task type."""
    if task_type is None:
        return None
    try:
        text = head(path, encoding).lstrip()
    except UserError:
        return None
    looks = next(
        (name for name, spec in FORMATS.items() if spec.looks_like is not None and spec.looks_like(text)), kind
    )
    return looks if looks != kind and FORMATS[looks].holds(task_type) else None
