"""What every section of params.yaml is made of.

A value that becomes an allocation or the length of a loop has an upper bound, well above what anyone has trained with
and below what ends in minutes of silence or a killed process: a zero too many is reported at once.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PrivateAttr, model_validator

from adaptbert.codes import Code
from adaptbert.errors import BadParams, Place, shortened

CHANGE = "change one of them"


class FromWeights(NamedTuple):
    """A default that depends on where the weights of a base come from."""

    random: Any
    trained: Any
    """Default for a checkpoint that has been trained, public or not."""


class Section(BaseModel, extra="forbid", frozen=True, strict=True, allow_inf_nan=False):
    """Some options: typed and frozen.

    A field with `FromWeights` has one default for random weights and another for a checkpoint; `filled` writes it.
    """

    _key: str = PrivateAttr("")

    @model_validator(mode="after")
    def _check_agreement(self) -> Self:
        self._agree()
        return self

    def _agree(self) -> None:
        """Raises Contradiction where values exclude each other."""

    @property
    def key(self) -> str:
        """Dotted key in params.yaml of a corpus or a task, for messages; empty for values from elsewhere."""
        return self._key

    @classmethod
    def filled(cls, values: Mapping[str, Any], *, random: bool) -> dict[str, Any]:
        """The values as they stand in the file, with the defaults that depend on the weights."""
        known = dict(values)
        for name, field in cls.model_fields.items():
            default = next((each for each in field.metadata if isinstance(each, FromWeights)), None)
            if default is not None:
                known.setdefault(name, default.random if random else default.trained)
            elif isinstance(field.annotation, type) and issubclass(field.annotation, Section):
                below = known.get(name, {})
                known[name] = field.annotation.filled(below, random=random) if isinstance(below, Mapping) else below
        return known


def empty(value: object) -> object:
    """A section without a value is an empty one."""
    return {} if value is None else value


Values = Annotated[dict[str, Any], BeforeValidator(empty)]
"""A section as it is written."""


class Differs(NamedTuple):
    """A section whose values can differ."""

    cls: type[Section]
    by: tuple[str, ...]
    """The kinds of names that `overrides` can have for it; later ones win."""


class Contradiction(ValueError):
    """What a validator raises when values exclude each other.

    Args:
        message: names the keys and the values.
        key: of the value that is to be changed, where that is clear.
    """

    def __init__(
        self, message: str, remedy: str = CHANGE, code: Code = Code.CONTRADICTION, *, key: str | None = None
    ) -> None:
        super().__init__(message)
        self.remedy, self.code, self.keys = remedy, code, () if key is None else (key,)

    def at(self, place: Place | str) -> BadParams:
        """The error for the user."""
        return BadParams(self.code, place, str(self), self.remedy)


RESERVED = ("none", "own", "all", "true", "false", "null", "yes", "no", "on", "off")
"""Words of the schema and of YAML, so nothing can have these names."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_NO_WORD = re.compile(r"[^\w]+")
_OF_NAMES = "names begin with a letter a-z and go on with a-z, 0-9 and _, 40 characters at most"


def is_name(text: str) -> bool:
    """Whether this can be the name of a base, a corpus, a task or an arm: part of the names of stages and files.

    Without `-`, which joins the names of a checkpoint, so that no two have one key.
    """
    return _NAME.fullmatch(text) is not None and text not in RESERVED


def plain(text: str) -> str:
    """The text in small letters, with `_` in place of what is no letter or digit; it may still be no name."""
    return _NO_WORD.sub("_", unicodedata.normalize("NFKC", text)).strip("_").lower()


def why_no_name(text: str) -> tuple[str, str]:
    """The problem of a text that is no name, and the remedy: a name like it, where there is one."""
    if text in RESERVED:
        return f"'{text}' is a word of the schema or of YAML", "give it another name"
    like = plain(text)
    offer = f"call it {like}: " if is_name(like) else ""
    return f"'{shortened(text)}' cannot be the name of a stage", offer + _OF_NAMES


def _checked(text: str) -> str:
    if not is_name(text):
        raise Contradiction(*why_no_name(text), Code.BAD_NAME)
    return text


Name = Annotated[str, AfterValidator(_checked)]
Seed = Annotated[int, Field(ge=0, lt=2**64)]
Positions = Annotated[int, Field(gt=0, le=8_192)]
LongText = Literal["head", "head_tail", "windows"]
Decoder = Literal["softmax", "crf"]
"""Options of fine-tuning, and of a task in the card of a checkpoint."""
