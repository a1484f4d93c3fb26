"""Limits of rows: the section `validate` of params.yaml."""

from typing import Annotated

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction


class Limits(Config):
    """What a row may be like."""

    min_characters: Annotated[int, Field(ge=0, le=bounds.CHARACTERS)]
    """Minimum of a corpus row; labelled rows are only rejected when they are empty."""
    max_characters: Annotated[int, Field(ge=1, le=bounds.CHARACTERS)]
    """Maximum of any row."""
    max_bad_fraction: Annotated[float, Field(ge=0, le=1)]
    """The stage fails when a larger share of the rows of a set is unreadable or invalid."""

    @model_validator(mode="after")
    def _ordered(self) -> "Limits":
        if self.min_characters > self.max_characters:
            raise contradiction(f"min_characters {self.min_characters} > max_characters {self.max_characters}")
        return self
