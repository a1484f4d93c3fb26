"""The pandera schema of raw rows: a frame in, the invalid rows with their reasons out.

`collect` writes typed columns without nulls; what else a row may hold is checked here, lazily, so that all errors of
all rows are reported together.
"""

from collections.abc import Callable, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Scheme
from adaptbert.data.cleaning import clean
from adaptbert.data.layout import Layout
from adaptbert.data.tag_schemes import fits

if TYPE_CHECKING:
    import pandas as pd


class Reason(NamedTuple):
    """Why a row is rejected.

    Attributes:
        code: in data/rejected, as a number.
        name: its key in metrics/validate.json.
        text: in the reject file.
    """

    code: Code
    name: str
    text: str


EMPTY = Reason(Code.TEXT_MISSING, "empty", "text is empty")
PAIR_MISSING = Reason(Code.TEXT_MISSING, "text_missing", "text_a or text_b missing")
LABEL_MISSING = Reason(Code.LABEL_MISSING, "label_missing", "label missing")
OUT_OF_RANGE = Reason(Code.BAD_LABEL, "out_of_range", "value is not finite, or outside the range")
NO_TOKENS = Reason(Code.TEXT_MISSING, "empty", "no token with a visible character")
TOKEN_EMPTY = Reason(Code.TAGS, "token_empty", "a token is empty")
TAG_ILLEGAL = Reason(Code.TAGS, "tag_illegal", "the tags break the scheme of the file")
OFFSET_OUTSIDE = Reason(Code.OFFSETS, "offset_outside", "the offset of an answer is outside its context")
ANSWER_ELSEWHERE = Reason(Code.OFFSETS, "answer_elsewhere", "an answer is not at its offset")

ANY_NUMBER = (-inf, inf)
_Holds = Callable[[Any], bool]


def _not_blank(text: str) -> bool:
    return text.strip() != ""


def _none_blank(texts: Sequence[str]) -> bool:
    return all(map(_not_blank, texts))


TOKENS: list[tuple[Reason, _Holds]] = [
    (TOKEN_EMPTY, all),
    (NO_TOKENS, lambda tokens: any(clean(token)[0] for token in tokens)),
]
"""What holds for the words of a row, also of one to predict; a blank one is left out when they are read."""


def checks(layout: Layout, scheme: Scheme, bounds: Sequence[float]) -> list[tuple[str, Reason, _Holds]]:
    """Column, the reason of an invalid cell, and what holds for others; the gravest first: a row has one reason."""
    low, high = bounds
    if layout.is_corpus:  # a text is checked by its length
        return []
    every: list[tuple[str, Reason, _Holds]] = [
        *((name, EMPTY, _not_blank) for name in ("text", "context", "question")),
        *((name, PAIR_MISSING, _not_blank) for name in ("text_a", "text_b")),
        ("label", LABEL_MISSING, _not_blank),
        ("labels", LABEL_MISSING, _none_blank),
        ("tags", LABEL_MISSING, lambda tags: layout.has_spans or _none_blank(tags)),
        ("value", OUT_OF_RANGE, lambda value: isfinite(value) and low <= value <= high),
        *(("tokens", reason, holds) for reason, holds in TOKENS),
        ("tags", TAG_ILLEGAL, lambda tags: not layout.has_spans or fits(tags, scheme)),
        ("answers", OFFSET_OUTSIDE, lambda cell: all(_is_inside(cell[0], **answer) for answer in cell[1])),
        ("answers", ANSWER_ELSEWHERE, lambda cell: all(_is_there(cell[0], **answer) for answer in cell[1])),
    ]
    return [check for check in every if check[0] in layout.fields]


def _is_inside(context: str, text: str, start: int) -> bool:
    return 0 <= start <= len(context) - len(text)


def _is_there(context: str, text: str, start: int) -> bool:
    return _not_blank(text) and context.startswith(text, start)


def faulty(frame: "pd.DataFrame", layout: Layout, scheme: Scheme, bounds: Sequence[float]) -> dict[int, Reason]:
    """Position of each invalid row -> its gravest reason, by the scheme of its tags and the bounds of its value."""
    import pandera.pandas as pa
    from pandera.errors import SchemaErrors

    if "answers" in frame:  # they are checked with their context
        pairs: list[Any] = list(zip(frame["context"], frame["answers"], strict=True))
        frame = frame.assign(answers=pairs)
    every = checks(layout, scheme, bounds)
    columns: dict[str, list[pa.Check]] = {name: [] for name in layout.fields}
    for number, (name, _, holds) in enumerate(every):
        columns[name].append(pa.Check(holds, element_wise=True, error=str(number)))
    schema = pa.DataFrameSchema({name: pa.Column(checks=of_column) for name, of_column in columns.items()})
    try:
        schema.validate(frame, lazy=True)
    except SchemaErrors as errors:
        cases = errors.failure_cases[["index", "check"]].astype(int)
        return {int(row): every[gravest][1] for row, gravest in cases.groupby("index")["check"].min().items()}
    return {}
