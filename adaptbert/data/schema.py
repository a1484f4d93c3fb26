"""The pandera schemas of raw rows: a frame in, the invalid rows with their reasons out.

pandera validates lazily, so that all errors of all rows are reported together. An invalid row is returned; a missing
or mistyped column makes all rows unreadable and is raised.
"""

from collections.abc import Callable, Mapping
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Scheme
from adaptbert.data.cleaning import clean
from adaptbert.data.layout import Layout, missing_columns
from adaptbert.data.tag_schemes import fits
from adaptbert.errors import BadData, UserError, raise_all

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


ID_MISSING = Reason(Code.BAD_ID, "id_missing", "id is missing")
TEXT_NULL = Reason(Code.TEXT_NULL, "text_null", "text is null")
EMPTY = Reason(Code.TOO_SHORT, "empty", "text is empty")
LABEL_MISSING = Reason(Code.LABEL_MISSING, "label_missing", "label missing")
TOKENS_NULL = Reason(Code.TOO_SHORT, "empty", "no tokens")
TAGS_NULL = Reason(Code.LABEL_MISSING, "label_missing", "tags missing")
LENGTHS = Reason(Code.TOKENS_AND_TAGS_DIFFER, "lengths_differ", "tokens and tags are not equally many")
TOKEN_EMPTY = Reason(Code.EMPTY_TOKEN, "token_empty", "a token is empty")
TOKEN_INVISIBLE = Reason(Code.INVISIBLE_TOKEN, "token_invisible", "a token has no visible character, so no pieces")
TAG_ILLEGAL = Reason(Code.ILLEGAL_TAGS, "tag_illegal", "the tags break the scheme of the file")
PAIR_MISSING = Reason(Code.PAIR_INCOMPLETE, "text_missing", "text_a or text_b missing")
OUT_OF_RANGE = Reason(Code.BAD_VALUE, "out_of_range", "value is not finite, or outside the range")
OFFSET_OUTSIDE = Reason(Code.OFFSET_OUTSIDE_TEXT, "offset_outside", "the offset of an answer is outside its context")
ANSWER_ELSEWHERE = Reason(Code.ANSWER_NOT_AT_OFFSET, "answer_elsewhere", "an answer is not at its offset")


ANY_NUMBER = (-inf, inf)


def schema(layout: Layout, scheme: Scheme, bounds: tuple[float, float]) -> "pa.DataFrameSchema":
    """The pandera schema of raw rows."""
    import pandera.pandas as pa

    low, high = bounds
    fields = {
        "text": lambda: _text_column([_check(EMPTY, _not_blank)] if layout.outputs else []),
        "text_a": lambda: _text_column([_check(PAIR_MISSING, _not_blank)]),
        "text_b": lambda: _text_column([_check(PAIR_MISSING, _not_blank)]),
        "context": lambda: _text_column([_check(EMPTY, _not_blank)]),
        "question": lambda: _text_column([_check(EMPTY, _not_blank)]),
        "label": lambda: pa.Column(str, [_check(LABEL_MISSING, _not_blank)], description="class"),
        "labels": lambda: _list_column(
            [_check(LABEL_MISSING, lambda labels: all(map(_named, labels)))], "classes, perhaps none"
        ),
        "value": lambda: pa.Column(
            float, [_check(OUT_OF_RANGE, lambda x: isfinite(x) and low <= x <= high)], description="number to be found"
        ),
        "tokens": lambda: _list_column(
            [
                _check(TOKENS_NULL, lambda tokens: len(tokens) > 0),
                _check(TOKEN_EMPTY, lambda tokens: all(token and not token.isspace() for token in tokens)),
                _check(TOKEN_INVISIBLE, lambda tokens: all(_visible(token) for token in tokens)),
            ],
            "words, one piece of text each",
        ),
        "tags": lambda: _list_column([_tag_check(layout, scheme)], "one a token"),
        "answers": lambda: _list_column([], "texts and their offsets in the context, perhaps none"),
    }
    together = {  # output column -> its checks against the inputs
        "tags": [pa.Check(_equally_long, error=LENGTHS.text)],
        "answers": [
            pa.Check(_each_answer(_inside), error=OFFSET_OUTSIDE.text),
            pa.Check(_each_answer(_at_its_offset), error=ANSWER_ELSEWHERE.text),
        ],
    }
    return pa.DataFrameSchema(
        {
            "id": pa.Column(str, [_check(ID_MISSING, lambda name: name != "")], description="unique in its set"),
            **{name: fields[name]() for name in layout.fields},
            "file": pa.Column(str, description="where the row was read from"),
            "line": pa.Column(int, description="line or row in that file, from 1"),
        },
        checks=[check for name in layout.outputs for check in together.get(name, [])],
    )


def faulty(
    frame: "pd.DataFrame",
    layout: Layout,
    place: str | Path,
    scheme: Scheme = "bio",
    bounds: tuple[float, float] = ANY_NUMBER,
) -> dict[int, Reason]:
    """Position of each invalid row -> its first reason, in the order of `_ORDER`.

    Args:
        scheme: of the tags of spans.
        bounds: of regression values.

    Raises:
        BadData: a column is missing or of another type.
    """
    from pandera.errors import SchemaErrors

    expected = schema(layout, scheme, bounds)
    raise_all(missing_columns(Code.COLUMN_MISSING, map(str, expected.columns), list(map(str, frame.columns)), place))
    if frame.empty:  # its columns have no types to check
        return {}
    rows = frame.reset_index(drop=True)  # pandera reports failures by index: it must be unique
    try:
        expected.validate(rows, lazy=True)
    except SchemaErrors as errors:
        cases = errors.failure_cases
    else:
        return {}
    raise_all(_mistyped(cases[cases["check"].str.startswith("dtype(")], rows, place))
    reasons: dict[int, Reason] = {}
    for column, check, row in zip(cases["column"], cases["check"], cases["index"], strict=True):
        reason = _NULL[column] if check == "not_nullable" else _BY_TEXT[check]
        reasons[int(row)] = min(reason, reasons.get(int(row), reason), key=_ORDER.index)
    return dict(sorted(reasons.items()))


_ORDER = [
    ID_MISSING,
    TEXT_NULL,
    EMPTY,
    PAIR_MISSING,
    LABEL_MISSING,
    OUT_OF_RANGE,
    TOKENS_NULL,
    TAGS_NULL,
    LENGTHS,
    TOKEN_EMPTY,
    TOKEN_INVISIBLE,
    TAG_ILLEGAL,
    OFFSET_OUTSIDE,
    ANSWER_ELSEWHERE,
]
_NULL = {
    "id": ID_MISSING, "text": TEXT_NULL, "text_a": PAIR_MISSING, "text_b": PAIR_MISSING, "context": TEXT_NULL,
    "question": TEXT_NULL, "tokens": TOKENS_NULL, "tags": TAGS_NULL,
    **dict.fromkeys(["label", "labels", "value", "answers"], LABEL_MISSING),
}  # fmt: skip
_KIND = {"line": "integers", "value": "numbers"} | dict.fromkeys(["tokens", "tags", "labels", "answers"], "lists")
_BY_TEXT = {reason.text: reason for reason in _ORDER}


def _check(reason: Reason, holds: Callable[[Any], bool]) -> "pa.Check":
    import pandera.pandas as pa

    return pa.Check(holds, element_wise=True, error=reason.text)


def _text_column(checks: "list[pa.Check]") -> "pa.Column":
    import pandera.pandas as pa

    return pa.Column(str, checks, description="one document or sentence")


def _list_column(checks: "list[pa.Check]", what: str) -> "pa.Column":
    import pandera.pandas as pa

    return pa.Column(object, checks, description=what)


def _tag_check(layout: Layout, scheme: Scheme) -> "pa.Check":
    if not layout.output.marks_spans:
        return _check(LABEL_MISSING, lambda tags: all(map(_named, tags)))
    return _check(TAG_ILLEGAL, lambda tags: fits([str(tag) for tag in tags], scheme))


def _not_blank(text: str) -> bool:
    return text.strip() != ""


def _named(label: object) -> bool:
    return isinstance(label, str) and _not_blank(label)


def _visible(token: str) -> bool:
    return not token or token.isspace() or clean(token)[0] != ""


def _equally_long(frame: "pd.DataFrame") -> "pd.Series[bool]":
    import pandas as pd

    pairs = zip(frame["tokens"], frame["tags"], strict=True)
    equal = [tokens is None or tags is None or len(tokens) == len(tags) for tokens, tags in pairs]
    return pd.Series(equal, index=frame.index)


def _mistyped(cases: "pd.DataFrame", frame: "pd.DataFrame", place: str | Path) -> list[UserError]:
    """One error a column; messages show no values."""
    return [
        BadData(
            Code.NOT_TEXT,
            place,
            f"column '{name}' is {frame[name].dtype}, expected {_KIND.get(name, 'text')}",
            "nothing is cast; convert it",
        )
        for name in dict.fromkeys(cases["column"])
    ]


Answer = Mapping[str, Any]


def _each_answer(holds: Callable[[str, Answer], bool]) -> "Callable[[pd.DataFrame], pd.Series[bool]]":
    """A check that `holds` is true for all answers of a row."""
    import pandas as pd

    def check(frame: "pd.DataFrame") -> "pd.Series[bool]":
        pairs = zip(frame["context"], frame["answers"], strict=True)
        good = [c is None or answers is None or all(holds(c, answer) for answer in answers) for c, answers in pairs]
        return pd.Series(good, index=frame.index)

    return check


def _inside(context: str, answer: Answer) -> bool:
    return bool(0 <= answer["start"] <= len(context) - len(answer["text"]))


def _at_its_offset(context: str, answer: Answer) -> bool:
    text: str = answer["text"]
    start: int = answer["start"]
    return text.strip() != "" and context.startswith(text, start)
