"""Typed values of params.yaml: the base class of every section."""

from pydantic import BaseModel, ConfigDict, PrivateAttr

from adaptbert.codes import Code


class Config(BaseModel):
    """Some values of params.yaml: typed, frozen, complete. A field without a default is required."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    _key: str = PrivateAttr("")

    @property
    def key(self) -> str:
        """Dotted key of the section in params.yaml, for messages; empty for values from elsewhere."""
        return self._key


CHANGE = "change one of them"


class Names(Config):
    """A section whose keys are names, such as those of the sets in `collect`; the values are read elsewhere."""

    model_config = ConfigDict(extra="allow")

    def sorted(self) -> list[str]:
        """In an order that does not depend on the file."""
        return sorted(self.model_extra or {})


class Contradiction(ValueError):
    """See `contradiction`."""

    def __init__(self, message: str, remedy: str, code: Code = Code.CONTRADICTION) -> None:
        super().__init__(message)
        self.remedy, self.code = remedy, code


def contradiction(message: str, remedy: str = CHANGE, code: Code = Code.CONTRADICTION) -> Contradiction:
    """What a validator raises when values exclude each other; name the keys and the values in the message."""
    return Contradiction(message, remedy, code)
