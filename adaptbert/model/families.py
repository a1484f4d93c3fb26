"""Families of encoders: what BERT and its descendants do not have in common; a new one is an entry of `FAMILIES`.

The modules of the layers have the same names in all of them (adaptbert.model.encoder).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from adaptbert.codes import Code
from adaptbert.errors import BadParams

if TYPE_CHECKING:
    from torch import Tensor

Head = Literal["none", "masked_lm", "pretraining", "sequence", "tokens", "spans"]
"""What stands on the encoder: nothing; the head of masked-language modelling, alone or with one for pairs of sentences;
scores of a text, of its tokens, or of the tokens where an answer starts and ends."""


OURS = "crf."
"""Prefix of the weights that this project puts beside those of Hugging Face's classes."""


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


BERT = Family(  # Devlin et al. 2019
    name="bert",
    classes={
        "none": "BertModel",
        "masked_lm": "BertForMaskedLM",
        "pretraining": "BertForPreTraining",
        "sequence": "BertForSequenceClassification",
        "tokens": "BertForTokenClassification",
        "spans": "BertForQuestionAnswering",
    },
    prefix="bert.",
    pretrained={
        "masked-LM head": "cls.predictions.",
        "pooler": "bert.pooler.",
        "next-sentence head": "cls.seq_relationship.",
    },
    decoder="cls.predictions.decoder.",
    heads=("cls.", "classifier.", "bert.pooler.", "pooler.", "qa_outputs.", OURS),
    buffers=("embeddings.position_ids",),
    first_position=lambda config: 0,
    sentence_vectors=lambda model, hidden: model.dropout(model.bert.pooler(hidden[:, None])),
    last_layer=lambda model: model.classifier,
    token_head=lambda model: (model.cls.predictions.transform, model.cls.predictions.decoder),
    pair_scores=lambda model, hidden: model.cls.seq_relationship(model.bert.pooler(hidden[:, None])),
)
FAMILIES: dict[str, Family] = {family.name: family for family in (BERT,)}


def family_of(config: Any) -> Family:
    """Family of the Hugging Face config of a model."""
    return FAMILIES[config.model_type]
