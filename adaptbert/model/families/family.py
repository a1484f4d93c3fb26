"""What the house asks of a family of encoders: its classes in transformers, the names of its weights, its head.

The modules of the layers have the same names in BERT and its descendants (adaptbert.model.encoder).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from adaptbert.codes import Code
from adaptbert.errors import BadParams

if TYPE_CHECKING:
    from torch import Tensor

Head = Literal["none", "masked_lm", "pretraining", "sequence", "tokens", "spans"]
"""What stands on the encoder: nothing; the head of masked-language modelling, alone or with one for pairs of sentences;
scores of a text, of its tokens, or of the tokens where an answer starts and ends."""

_LAYER = re.compile(r"(?:^|\.)encoder\.layer\.(\d+)\.")
_EMBEDDINGS = re.compile(r"(?:^|\.)embeddings\.")


@dataclass(frozen=True)
class Family:
    """One family.

    Attributes:
        name: `model_type` in config.json.
        classes: head -> name of its class in transformers.
        prefix: of the weights of the encoder in a model with a head.
        pretrained: what pre-training leaves above the encoder, by its name, and the prefix of its weights.
        decoder: prefix of the weights that turn hidden states into scores of tokens; they may be the embeddings.
        heads: prefixes of all weights above the encoder, in a model with a head and without one.
        buffers: what old checkpoints hold inside the encoder besides weights.
        first_position: of a config, the embedding of the first position of a text; those before it are not used.
        sentence_vectors: a model with the head `sequence` and the hidden states of [CLS], (texts, hidden), to the input
            of its last layer, (texts, hidden).
        last_layer: of a model with the head `sequence`, which is linear.
        token_head: of a model with the head `masked_lm` or `pretraining`: what transforms hidden states, and the linear
            layer from that to scores of the tokens.
        pair_scores: a model with the head `pretraining` and the hidden states of [CLS], (pairs, hidden), to the scores
            of the labels 0 and 1, (pairs, 2).
    """

    name: str
    classes: Mapping[Head, str]
    prefix: str
    pretrained: Mapping[str, str]
    decoder: str
    heads: tuple[str, ...]
    buffers: tuple[str, ...]
    first_position: Callable[[Any], int]
    sentence_vectors: "Callable[[Any, Tensor], Tensor]"
    last_layer: Callable[[Any], Any]
    token_head: Callable[[Any], tuple[Any, Any]]
    pair_scores: "Callable[[Any, Tensor], Tensor]"

    def hugging_face(self, head: Head) -> Any:
        """The class of transformers with this head.

        Raises:
            BadParams: the family has none for pairs of sentences.
        """
        import transformers

        if head not in self.classes:
            problem, remedy = f"a model of the kind {self.name} has no head for pairs of sentences", "write none"
            raise BadParams(Code.CONTRADICTION, "sentence_objective", problem, remedy)
        return getattr(transformers, self.classes[head])

    @property
    def pretraining_head(self) -> Head:
        """What keeps most of what pre-training leaves."""
        return "pretraining" if "pretraining" in self.classes else "masked_lm"

    def longest(self, config: Any) -> int:
        """The most tokens of a text."""
        positions: int = config.max_position_embeddings
        return positions - self.first_position(config)


def depths(names: Iterable[str]) -> dict[str, int]:
    """The depth of each parameter of an encoder, with a head or without, by its name.

    The embeddings are 0, layer i of n is i + 1, everything above (a pooler, a head) is n + 1.
    """
    by_name: dict[str, int | None] = {}
    for name in names:
        layer = _LAYER.search(name)
        by_name[name] = 1 + int(layer[1]) if layer else 0 if _EMBEDDINGS.search(name) else None
    top = 1 + max((depth for depth in by_name.values() if depth is not None), default=0)
    return {name: top if depth is None else depth for name, depth in by_name.items()}
