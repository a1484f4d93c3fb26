"""Suggests another format in the error of a file that was read in the wrong one.

The format is guessed from the beginning of the file, and only after an error: how a file is read depends on its name
and on `format` alone.
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
"""Codes of errors that another format may explain: missing columns, or columns of another type."""


@contextmanager
def hinted(path: Path, kind: Format, encoding: str | None, task_type: TaskType | None, write: str) -> Iterator[None]:
    """A context in which the file is read; its errors suggest another format where the file looks like one.

    Args:
        kind: in which it is read, by its name.
        task_type: None: a corpus, which has none of the formats that can be guessed.
        write: how the user declares a format, with `{}` for its name.
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
    """The format that the file looks like, if it is not `kind` and can have rows of the task type."""
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
