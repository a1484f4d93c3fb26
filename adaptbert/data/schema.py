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
from adaptbert.errors import BadData, raise_all

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
TEXT_NULL = Reason(Code.TEXT_MISSING, "text_null", "text is null")
EMPTY = Reason(Code.TEXT_MISSING, "empty", "text is empty")
PAIR_MISSING = Reason(Code.TEXT_MISSING, "text_missing", "text_a or text_b missing")
LABEL_MISSING = Reason(Code.LABEL_MISSING, "label_missing", "label missing")
OUT_OF_RANGE = Reason(Code.BAD_LABEL, "out_of_range", "value is not finite, or outside the range")
TOKENS_NULL = Reason(Code.TEXT_MISSING, "empty", "no tokens")
TAGS_NULL = Reason(Code.LABEL_MISSING, "label_missing", "tags missing")
LENGTHS = Reason(Code.TAGS, "lengths_differ", "tokens and tags are not equally many")
TOKEN_EMPTY = Reason(Code.TAGS, "token_empty", "a token is empty")
TOKEN_INVISIBLE = Reason(Code.TAGS, "token_invisible", "a token has no visible character, so no pieces")
TAG_ILLEGAL = Reason(Code.TAGS, "tag_illegal", "the tags break the scheme of the file")
OFFSET_OUTSIDE = Reason(Code.OFFSETS, "offset_outside", "the offset of an answer is outside its context")
ANSWER_ELSEWHERE = Reason(Code.OFFSETS, "answer_elsewhere", "an answer is not at its offset")
_ORDER = [
    ID_MISSING, TEXT_NULL, EMPTY, PAIR_MISSING, LABEL_MISSING, OUT_OF_RANGE, TOKENS_NULL, TAGS_NULL, LENGTHS,
    TOKEN_EMPTY, TOKEN_INVISIBLE, TAG_ILLEGAL, OFFSET_OUTSIDE, ANSWER_ELSEWHERE,
]  # fmt: skip
"""The gravest first: a row has one reason."""
_BY_TEXT = {reason.text: reason for reason in _ORDER}

ANY_NUMBER = (-inf, inf)
_KINDS: Mapping[type, str] = {str: "text", int: "integers", float: "numbers", object: "lists"}
"""Type of a column -> what messages call its values."""


class _Column(NamedTuple):
    """A column: its type, the reason of a null, and what holds for its other cells, each with the reason if not."""

    kind: type
    null: Reason
    checks: tuple[tuple[Reason, Callable[[Any], bool]], ...] = ()


def _columns(layout: Layout, scheme: Scheme, bounds: tuple[float, float]) -> dict[str, _Column]:
    low, high = bounds
    text = _Column(str, TEXT_NULL, ((EMPTY, _not_blank),))
    of_pair = _Column(str, PAIR_MISSING, ((PAIR_MISSING, _not_blank),))
    tags: tuple[Reason, Callable[[Any], bool]] = (LABEL_MISSING, _all_named)
    if layout.outputs and layout.output.marks_spans:
        tags = (TAG_ILLEGAL, lambda row: fits([str(tag) for tag in row], scheme))
    columns = {
        "text": text if layout.outputs else text._replace(checks=()),
        "text_a": of_pair,
        "text_b": of_pair,
        "context": text,
        "question": text,
        "label": _Column(str, LABEL_MISSING, ((LABEL_MISSING, _not_blank),)),
        "labels": _Column(object, LABEL_MISSING, ((LABEL_MISSING, _all_named),)),
        "value": _Column(float, LABEL_MISSING, ((OUT_OF_RANGE, lambda x: isfinite(x) and low <= x <= high),)),
        "tokens": _Column(
            object,
            TOKENS_NULL,
            (
                (TOKENS_NULL, lambda tokens: len(tokens) > 0),
                (TOKEN_EMPTY, lambda tokens: all(token and not token.isspace() for token in tokens)),
                (TOKEN_INVISIBLE, lambda tokens: all(_visible(token) for token in tokens)),
            ),
        ),
        "tags": _Column(object, TAGS_NULL, (tags,)),
        "answers": _Column(object, LABEL_MISSING),
    }
    place = {"file": _Column(str, ID_MISSING), "line": _Column(int, ID_MISSING)}
    identity = _Column(str, ID_MISSING, ((ID_MISSING, lambda name: name != ""),))
    return {"id": identity, **{name: columns[name] for name in layout.fields}, **place}


_TOGETHER: Mapping[str, tuple[tuple[str, Reason, Callable[[Any, Any], bool]], ...]] = {
    "tags": (("tokens", LENGTHS, lambda tokens, tags: len(tokens) == len(tags)),),
    "answers": (
        ("context", OFFSET_OUTSIDE, lambda context, answers: all(_inside(context, each) for each in answers)),
        ("context", ANSWER_ELSEWHERE, lambda context, answers: all(_at_its_offset(context, each) for each in answers)),
    ),
}
"""Output column -> an input column, and what holds for both, where neither is null."""


def schema(layout: Layout, scheme: Scheme, bounds: tuple[float, float]) -> "pa.DataFrameSchema":
    """The pandera schema of raw rows."""
    import pandera.pandas as pa

    return pa.DataFrameSchema(
        {
            name: pa.Column(kind, [pa.Check(holds, element_wise=True, error=reason.text) for reason, holds in checks])
            for name, (kind, _, checks) in _columns(layout, scheme, bounds).items()
        },
        checks=[
            pa.Check(_of_both(given, name, holds), error=reason.text)
            for name in layout.outputs
            for given, reason, holds in _TOGETHER.get(name, ())
        ],
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

    columns = _columns(layout, scheme, bounds)
    raise_all(missing_columns(columns, list(map(str, frame.columns)), place))
    if frame.empty:  # its columns have no types to check
        return {}
    rows = frame.reset_index(drop=True)  # pandera reports failures by index: it must be unique
    try:
        schema(layout, scheme, bounds).validate(rows, lazy=True)
    except SchemaErrors as errors:
        cases = errors.failure_cases
    else:
        return {}
    mistyped = dict.fromkeys(cases[cases["check"].str.startswith("dtype(")]["column"])
    raise_all([_mistyped(name, rows[name].dtype, columns[name].kind, place) for name in mistyped])
    reasons: dict[int, Reason] = {}
    for column, check, row in zip(cases["column"], cases["check"], cases["index"], strict=True):
        reason = columns[column].null if check == "not_nullable" else _BY_TEXT[check]
        reasons[int(row)] = min(reason, reasons.get(int(row), reason), key=_ORDER.index)
    return dict(sorted(reasons.items()))


def _mistyped(name: str, found: object, kind: type, place: str | Path) -> BadData:
    """Shows no values."""
    problem = f"column '{name}' is {found}, expected {_KINDS[kind]}"
    return BadData(Code.COLUMNS, place, problem, "nothing is cast; convert it")


def _of_both(given: str, output: str, holds: Callable[[Any, Any], bool]) -> "Callable[[pd.DataFrame], pd.Series[bool]]":
    import pandas as pd

    def check(frame: "pd.DataFrame") -> "pd.Series[bool]":
        pairs = zip(frame[given], frame[output], strict=True)
        good = [one is None or other is None or holds(one, other) for one, other in pairs]
        return pd.Series(good, index=frame.index)

    return check


def _not_blank(text: str) -> bool:
    return text.strip() != ""


def _all_named(row: Any) -> bool:
    return all(isinstance(label, str) and _not_blank(label) for label in row)


def _visible(token: str) -> bool:
    return not token or token.isspace() or clean(token)[0] != ""


def _inside(context: str, answer: Mapping[str, Any]) -> bool:
    return bool(0 <= answer["start"] <= len(context) - len(answer["text"]))


def _at_its_offset(context: str, answer: Mapping[str, Any]) -> bool:
    text: str = answer["text"]
    start: int = answer["start"]
    return text.strip() != "" and context.startswith(text, start)
