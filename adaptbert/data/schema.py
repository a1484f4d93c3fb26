"""The pandera schemas of raw rows: a frame in, the invalid rows with their reasons out.

`collect` writes typed columns without nulls; what else a row may hold is checked here, lazily, so that all errors of
all rows are reported together.
"""

from collections.abc import Callable, Mapping
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Scheme
from adaptbert.data.cleaning import clean
from adaptbert.data.layout import Layout
from adaptbert.data.tag_schemes import fits

if TYPE_CHECKING:
    import pandas as pd
    import pandera.pandas as pa


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
NO_TOKENS = Reason(Code.TEXT_MISSING, "empty", "no tokens")
TOKEN_EMPTY = Reason(Code.TAGS, "token_empty", "a token is empty")
TOKEN_INVISIBLE = Reason(Code.TAGS, "token_invisible", "a token has no visible character, so no pieces")
TAG_ILLEGAL = Reason(Code.TAGS, "tag_illegal", "the tags break the scheme of the file")
OFFSET_OUTSIDE = Reason(Code.OFFSETS, "offset_outside", "the offset of an answer is outside its context")
ANSWER_ELSEWHERE = Reason(Code.OFFSETS, "answer_elsewhere", "an answer is not at its offset")
_ORDER = [
    EMPTY, PAIR_MISSING, LABEL_MISSING, OUT_OF_RANGE, NO_TOKENS, TOKEN_EMPTY, TOKEN_INVISIBLE, TAG_ILLEGAL,
    OFFSET_OUTSIDE, ANSWER_ELSEWHERE,
]  # fmt: skip
"""The gravest first: a row has one reason."""
_BY_TEXT = {reason.text: reason for reason in _ORDER}

ANY_NUMBER = (-inf, inf)
_Holds = tuple[Reason, Callable[[Any], bool]]
"""What holds for a valid cell, and the reason of others."""


TOKENS: list[_Holds] = [
    (NO_TOKENS, lambda tokens: len(tokens) > 0),
    (TOKEN_EMPTY, lambda tokens: all(map(_not_blank, tokens))),
    (TOKEN_INVISIBLE, lambda tokens: all(not _not_blank(token) or clean(token)[0] for token in tokens)),
]
"""What holds for the words of a row, also of one to predict."""


def _columns(layout: Layout, scheme: Scheme, bounds: tuple[float, float]) -> dict[str, tuple[type, list[_Holds]]]:
    """Column -> its type and what holds for its cells."""
    low, high = bounds
    text: list[_Holds] = [] if layout.is_corpus else [(EMPTY, _not_blank)]  # a corpus: by validate.min_characters
    tags: _Holds = (LABEL_MISSING, lambda row: all(map(_not_blank, row)))
    if layout.outputs and layout.output.marks_spans:
        tags = (TAG_ILLEGAL, lambda row: fits(row, scheme))
    columns: dict[str, tuple[type, list[_Holds]]] = {
        **dict.fromkeys(("text", "context", "question"), (str, text)),
        **{name: (str, [(PAIR_MISSING, _not_blank)]) for name in ("text_a", "text_b")},
        "label": (str, [(LABEL_MISSING, _not_blank)]),
        "labels": (object, [(LABEL_MISSING, lambda row: all(map(_not_blank, row)))]),
        "value": (float, [(OUT_OF_RANGE, lambda value: isfinite(value) and low <= value <= high)]),
        "tokens": (object, TOKENS),
        "tags": (object, [tags]),
        "answers": (object, []),
    }
    return {name: columns[name] for name in layout.fields}


def schema(layout: Layout, scheme: Scheme, bounds: tuple[float, float]) -> "pa.DataFrameSchema":
    """The pandera schema of raw rows."""
    import pandera.pandas as pa

    of_both = [(OFFSET_OUTSIDE, _inside), (ANSWER_ELSEWHERE, _at_its_offset)] if "answers" in layout.fields else []
    return pa.DataFrameSchema(
        {
            name: pa.Column(kind, [pa.Check(holds, element_wise=True, error=reason.text) for reason, holds in checks])
            for name, (kind, checks) in _columns(layout, scheme, bounds).items()
        },
        checks=[pa.Check(_of_answers(holds), error=reason.text) for reason, holds in of_both],
    )


def faulty(
    frame: "pd.DataFrame",
    layout: Layout,
    scheme: Scheme = "bio",
    bounds: tuple[float, float] = ANY_NUMBER,
) -> dict[int, Reason]:
    """Position of each invalid row -> its first reason, in the order of `_ORDER`.

    Args:
        scheme: of the tags of spans.
        bounds: of regression values.
    """
    from pandera.errors import SchemaErrors

    if frame.empty:  # its columns have no types to check
        return {}
    try:
        schema(layout, scheme, bounds).validate(frame, lazy=True)
    except SchemaErrors as errors:
        cases = errors.failure_cases
    else:
        return {}
    reasons: dict[int, Reason] = {}
    for check, row in zip(cases["check"], cases["index"], strict=True):
        reasons[int(row)] = min(_BY_TEXT[check], reasons.get(int(row), _BY_TEXT[check]), key=_ORDER.index)
    return dict(sorted(reasons.items()))


def _of_answers(holds: Callable[[str, Mapping[str, Any]], bool]) -> "Callable[[pd.DataFrame], pd.Series[bool]]":
    """Whether it holds for a context and each of its answers."""
    import pandas as pd

    def check(frame: "pd.DataFrame") -> "pd.Series[bool]":
        pairs = zip(frame["context"], frame["answers"], strict=True)
        return pd.Series([all(holds(context, answer) for answer in answers) for context, answers in pairs], frame.index)

    return check


def _not_blank(text: str) -> bool:
    return text.strip() != ""


def _inside(context: str, answer: Mapping[str, Any]) -> bool:
    return bool(0 <= answer["start"] <= len(context) - len(answer["text"]))


def _at_its_offset(context: str, answer: Mapping[str, Any]) -> bool:
    return _not_blank(answer["text"]) and context.startswith(answer["text"], answer["start"])
