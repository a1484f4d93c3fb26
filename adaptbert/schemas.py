"""What a valid row looks like, and which rows are not: a frame in, the faulty rows with a reason out.

pandera checks a frame lazily, so that every fault of every row is found at once. A fault of a row is returned; a fault
of a column (missing, of another type) makes all rows unreadable and is raised.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptbert.errors import BadData, UserError, nearest, raise_all
from adaptbert.normalise import clean

if TYPE_CHECKING:
    import pandas as pd
    import pandera.pandas as pa


class Reason(NamedTuple):
    """Why a row is rejected.

    Attributes:
        code: entry of the catalogue of bad inputs.
        name: how it is counted in metrics/validate.json.
        text: what the reject file says.
    """

    code: int
    name: str
    text: str


ID_MISSING = Reason(86, "id_missing", "id is missing")
TEXT_NULL = Reason(41, "text_null", "text is null")
EMPTY = Reason(74, "empty", "text is empty")
LABEL_MISSING = Reason(62, "label_missing", "label missing")
TOKENS_NULL = Reason(74, "empty", "no tokens")
TAGS_NULL = Reason(62, "label_missing", "tags missing")
LENGTHS = Reason(88, "lengths_differ", "tokens and tags are not equally many")
TOKEN_EMPTY = Reason(91, "token_empty", "a token is empty")
TOKEN_INVISIBLE = Reason(92, "token_invisible", "a token has no visible character, so no pieces")
TAG_ILLEGAL = Reason(89, "tag_illegal", "I- does not continue an entity of its own type, or a tag is not O, B-x, I-x")

SHAPES = ("single_sentence", "sequence_labelling")
_PAYLOAD = {"corpus": ("text",), "single_sentence": ("text", "label"), "sequence_labelling": ("tokens", "tags")}


def columns(shape: str) -> list[str]:
    """The columns of a validated set; a raw one has `file` and `line` too."""
    return ["id", *_PAYLOAD[shape]]


def schema(shape: str) -> "pa.DataFrameSchema":
    """The pandera schema of raw rows.

    Args:
        shape: `corpus`, or the shape of a labelled set.
    """
    import pandera.pandas as pa

    fields = {
        "corpus": lambda: {"text": _text([])},
        "single_sentence": lambda: {
            "text": _text([_check(EMPTY, lambda text: text.strip() != "")]),
            "label": pa.Column(str, [_check(LABEL_MISSING, lambda label: label.strip() != "")], description="class"),
        },
        "sequence_labelling": lambda: {
            "tokens": pa.Column(
                object,
                [
                    _check(TOKENS_NULL, lambda tokens: len(tokens) > 0),
                    _check(TOKEN_EMPTY, lambda tokens: all(token and not token.isspace() for token in tokens)),
                    _check(TOKEN_INVISIBLE, lambda tokens: all(_visible(token) for token in tokens)),
                ],
                description="words, one piece of text each",
            ),
            "tags": pa.Column(
                object,
                [_check(TAG_ILLEGAL, lambda tags: is_bio([str(tag) for tag in tags]))],
                description="BIO tags, one a token",
            ),
        },
    }
    wide = [pa.Check(_equally_long, error=LENGTHS.text)] if shape == "sequence_labelling" else []
    return pa.DataFrameSchema(
        {
            "id": pa.Column(str, [_check(ID_MISSING, lambda name: name != "")], description="unique in its set"),
            **fields[shape](),
            "file": pa.Column(str, description="where the row was read from"),
            "line": pa.Column(int, description="line or row in that file, from 1"),
        },
        checks=wide,
    )


def faulty(frame: "pd.DataFrame", shape: str, place: str | Path) -> dict[int, Reason]:
    """Position of each faulty row -> its first reason, in the order in which the reasons stand above.

    Raises:
        BadData: a column is missing or of another type.
    """
    from pandera.errors import SchemaErrors

    wanted = schema(shape)
    raise_all(_missing([str(name) for name in wanted.columns], [str(name) for name in frame.columns], place))
    rows = frame.reset_index(drop=True)  # failures are told by index: it must be unique
    try:
        wanted.validate(rows, lazy=True)
    except SchemaErrors as errors:
        cases = errors.failure_cases
    else:
        return {}
    raise_all(_mistyped(cases[cases["check"].str.startswith("dtype(")], rows, place))
    found: dict[int, Reason] = {}
    for column, check, row in zip(cases["column"], cases["check"], cases["index"], strict=True):
        reason = _NULL[column] if check == "not_nullable" else _BY_TEXT[check]
        found[int(row)] = min(reason, found.get(int(row), reason), key=_ORDER.index)
    return dict(sorted(found.items()))


def is_bio(tags: Sequence[str]) -> bool:
    """Every I-x continues a B-x or I-x of the same type, and there is nothing but O, B-x and I-x."""
    before = "O"
    for tag in tags:
        prefix, _, kind = tag.partition("-")
        if tag != "O" and (prefix not in ("B", "I") or not kind):
            return False
        if prefix == "I" and before not in (f"B-{kind}", tag):
            return False
        before = tag
    return True


_ORDER = [
    ID_MISSING,
    TEXT_NULL,
    EMPTY,
    LABEL_MISSING,
    TOKENS_NULL,
    TAGS_NULL,
    LENGTHS,
    TOKEN_EMPTY,
    TOKEN_INVISIBLE,
    TAG_ILLEGAL,
]
_NULL = {"id": ID_MISSING, "text": TEXT_NULL, "label": LABEL_MISSING, "tokens": TOKENS_NULL, "tags": TAGS_NULL}


_KIND = {"tokens": "lists of text", "tags": "lists of text", "line": "integers"} | dict.fromkeys(
    ["id", "text", "label", "file"], "text"
)
_BY_TEXT = {reason.text: reason for reason in _ORDER}


def _check(reason: Reason, holds: Callable[[Any], bool]) -> "pa.Check":
    import pandera.pandas as pa

    return pa.Check(holds, element_wise=True, error=reason.text)


def _text(checks: "list[pa.Check]") -> "pa.Column":
    import pandera.pandas as pa

    return pa.Column(str, checks, description="one document or sentence")


def _visible(token: str) -> bool:
    return not token or token.isspace() or clean(token)[0] != ""


def _equally_long(frame: "pd.DataFrame") -> "pd.Series[bool]":
    import pandas as pd

    pairs = zip(frame["tokens"], frame["tags"], strict=True)
    equal = [tokens is None or tags is None or len(tokens) == len(tags) for tokens, tags in pairs]
    return pd.Series(equal, index=frame.index)


def _missing(wanted: Sequence[str], found: Sequence[str], place: str | Path) -> list[UserError]:
    errors: list[UserError] = []
    for name in wanted:
        if name not in found:
            other_case = name.lower() in [column.lower() for column in found]
            problem = f"column '{name}' missing{nearest(name, found)}; found {', '.join(found)}"
            errors.append(BadData(58 if other_case else 56, place, problem, "rename it or map it under `columns`"))
    return errors


def _mistyped(cases: "pd.DataFrame", frame: "pd.DataFrame", place: str | Path) -> list[UserError]:
    """One error a column; the values stay out of the message."""
    return [
        BadData(
            42, place, f"column '{name}' is {frame[name].dtype}, expected {_KIND[name]}", "nothing is cast; convert it"
        )
        for name in dict.fromkeys(cases["column"])
    ]
