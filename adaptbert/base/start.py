"""A start: what all arms climb from, random weights or a public checkpoint."""

import re
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction

if TYPE_CHECKING:
    from transformers import BertConfig

RANDOM, FOLDERS = "scratch", "models/init/"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_SIZES = "layers: 2, hidden_size: 256, heads: 4, intermediate_size: 1024, max_positions: 512"


def is_hub_name(text: str) -> bool:
    """Whether this can be the name of a model on the hub, `bert-base-chinese` or `hfl/rbt3`; else it is a path."""
    return _HUB_NAME.fullmatch(text) is not None and not text.startswith("models/")


class EncoderConfig(Config):
    """The shape of a BERT that starts from random weights (Devlin et al. 2019, section 3)."""

    layers: Annotated[int, Field(ge=1, le=bounds.LAYERS)]
    hidden_size: Annotated[int, Field(ge=8, le=bounds.HIDDEN)]
    heads: Annotated[int, Field(ge=1, le=bounds.HEADS)]
    intermediate_size: Annotated[int, Field(ge=8, le=bounds.INTERMEDIATE)]
    max_positions: Annotated[int, Field(ge=8, le=bounds.POSITIONS)]
    """Tokens of the longest document that it can read."""

    @model_validator(mode="after")
    def _divisible(self) -> "EncoderConfig":
        if self.hidden_size % self.heads:
            remainder = self.hidden_size % self.heads
            heads = next(heads for heads in range(self.heads, 0, -1) if self.hidden_size % heads == 0)
            problem = f"hidden_size {self.hidden_size} % heads {self.heads} = {remainder}, not 0"
            raise contradiction(problem, f"write heads: {heads}, or a hidden_size that {self.heads} divides")
        weights = self.layers * (4 * self.hidden_size**2 + 2 * self.hidden_size * self.intermediate_size)
        if weights > bounds.PARAMETERS:
            problem = f"{weights:,} weights in {self.layers} layers, more than {bounds.PARAMETERS:,}"
            raise contradiction(problem, "write smaller sizes; BERT-base has 12 layers of 768 and 3072")
        return self

    def hugging_face(self, vocabulary_size: int, pad: int) -> "BertConfig":
        """The same as a Hugging Face config."""
        from transformers import BertConfig

        return BertConfig(
            vocab_size=vocabulary_size,
            hidden_size=self.hidden_size,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=self.intermediate_size,
            max_position_embeddings=self.max_positions,
            pad_token_id=pad,
        )


class StartConfig(Config):
    """Where the weights and the vocabulary come from."""

    init: Annotated[str, Field(min_length=1)]
    """`scratch`; a Hugging Face folder, `models/init/<start>`; or the name of a model on the hub."""
    revision: Annotated[str, Field(min_length=1)] | None = None
    """Of a model on the hub: a commit, a tag or a branch; required there."""
    encoder: EncoderConfig | None = None
    """The shape of a BERT from `scratch`; a checkpoint brings its own."""

    @model_validator(mode="after")
    def _complete(self) -> "StartConfig":
        if self.is_random != (self.encoder is not None):
            problem = f"init is {self.init} and encoder is {'given' if self.encoder else 'missing'}"
            add = f"add `encoder: {{{_SIZES}}}`, or other sizes"
            raise contradiction(problem, "take encoder out: a checkpoint brings its own" if self.encoder else add)
        on_hub = not self.is_random and is_hub_name(self.init)
        is_known = on_hub or self.is_random or self.is_folder  # another path is refused by project.ladder_rules
        if is_known and on_hub != (self.revision is not None):
            remedy = "add it, e.g. `revision: main`" if on_hub else "take it out: it is of a model on the hub"
            raise contradiction(
                f"init is {self.init} and revision is {'given' if self.revision else 'missing'}", remedy
            )
        return self

    @property
    def is_random(self) -> bool:
        return self.init == RANDOM

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of this project, and no name on the hub."""
        return self.init.startswith(FOLDERS)

    @property
    def hub_revision(self) -> str:
        assert self.revision is not None
        return self.revision
