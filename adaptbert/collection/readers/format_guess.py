"""A file that was read in the wrong format -> an error whose remedy names the right one.

It looks at the beginning of the file, and only once something failed: how a file is read depends on its name and on
`format` alone.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.collection.readers import doccano
from adaptbert.collection.readers.conll import BREAK
from adaptbert.collection.readers.lines import head
from adaptbert.collection.readers.source_config import OF_SHAPE, Format
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
_NAMES: dict[Format, str] = {
    "squad": "SQuAD or CMRC", "label_studio": "Label Studio", "doccano": "doccano", "conll": "CoNLL"
}  # fmt: skip
_LINES = 40
_ALIKE = 0.75
"""Share of the lines of CoNLL with as many columns as most of them."""


@contextmanager
def hinted(path: Path, kind: Format, encoding: str | None, shape: str, write: str) -> Iterator[None]:
    """Inside, the file is read.

    Args:
        kind: in which it is read, for its name.
        shape: of the task; a corpus has none of the formats that can be told.
        write: how the user names a format, `{}`.
    """
    try:
        yield
    except UserError as error:
        looks = other_format(path, kind, encoding, shape) if error.code in _MISREAD else None
        if looks is None:
            raise
        remedy = f"this looks like {_NAMES[looks]}: write {write.format(looks)}"
        raise BadData(error.code, error.place, error.problem, remedy) from None


def other_format(path: Path, kind: Format, encoding: str | None, shape: str) -> Format | None:
    """What the file looks like, if it is not `kind` and holds rows of the shape."""
    looks = _looks_like(path, encoding) if shape != "corpus" else None
    return looks if looks != kind and OF_SHAPE.get(looks or kind, shape) == shape else None


def _looks_like(path: Path, encoding: str | None) -> Format | None:
    try:
        text = head(path, encoding).lstrip()
    except UserError:
        return None
    if text.startswith(("[", "{")):
        return _of_json(text)
    lines = [line.strip() for line in text.splitlines()[:_LINES] if not line.startswith(BREAK)]
    widths = Counter(len(line.split("\t" if "\t" in line else None)) for line in lines if line)
    (width, count), *_ = widths.most_common(1) or [(0, 0)]
    return "conll" if width > 1 and count > _ALIKE * widths.total() and "" in lines else None


def _of_json(text: str) -> Format | None:
    if '"qas"' in text:
        return "squad"
    if text.startswith("[") and ('"annotations"' in text or '"annotation_id"' in text):
        return "label_studio"
    try:
        first = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return None
    if not isinstance(first, dict) or "text" not in first:
        return None
    return "doccano" if any(isinstance(first.get(key), list) for key in doccano.KEYS) else None
