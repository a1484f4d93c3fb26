"""What a row may be like: the section `validate` of params.yaml."""

from typing import Annotated

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction


class Limits(Config):
    """What a row may be like."""

    min_characters: Annotated[int, Field(ge=0, le=bounds.CHARACTERS)]
    """Of a row of a corpus; a labelled row is only rejected when it is empty."""
    max_characters: Annotated[int, Field(ge=1, le=bounds.CHARACTERS)]
    """Of any row."""
    max_bad_fraction: Annotated[float, Field(ge=0, le=1)]
    """Share of the rows of a set that may be unreadable or not valid, before the gate stops."""

    @model_validator(mode="after")
    def _ordered(self) -> "Limits":
        if self.min_characters > self.max_characters:
            raise contradiction(f"min_characters {self.min_characters} > max_characters {self.max_characters}")
        return self
