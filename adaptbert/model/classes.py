"""The classes of transformers by their head, and what can be read from a model without weights.

`base_model_prefix` of a class says what is its encoder; the pooler in it counts as part of the head, because
masked-language modelling has none.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal

from adaptbert.codes import Code
from adaptbert.errors import BadParams

if TYPE_CHECKING:
    from torch import nn

Head = Literal["none", "masked_lm", "pretraining", "sequence", "tokens", "spans"]
"""What stands on the encoder: nothing; the head of masked-language modelling, alone or with one for pairs of sentences;
scores of a text, of its tokens, or of the tokens where an answer starts and ends."""

TASK_HEADS: tuple[Head, ...] = ("sequence", "tokens", "spans")
_CLASSES: Mapping[Head, tuple[str, str]] = {
    "none": ("MODEL_MAPPING_NAMES", ""),
    "masked_lm": ("MODEL_FOR_MASKED_LM_MAPPING_NAMES", ""),
    "pretraining": ("MODEL_FOR_PRETRAINING_MAPPING_NAMES", "for pairs of sentences"),
    "sequence": ("MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES", "for texts and pairs of texts"),
    "tokens": ("MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES", "for tokens"),
    "spans": ("MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES", "for questions with an answer in a text"),
}
"""Head -> where transformers lists its classes by type of model, and what it is for; every type has the first two."""


def class_of(config: Any, head: Head) -> Any:
    """The class of transformers with this head, by the type of model that a Hugging Face config names.

    Raises:
        BadParams: transformers has none.
    """
    import transformers
    from transformers.models.auto import modeling_auto

    mapping, purpose = _CLASSES[head]
    name = getattr(modeling_auto, mapping).get(config.model_type)
    with_head = getattr(transformers, name) if isinstance(name, str) else None
    if head == "pretraining" and with_head is not None:
        heads = getattr(without_weights(config, with_head), "cls", None)
        with_head = with_head if hasattr(heads, "seq_relationship") else None  # others know no pairs of sentences
    if with_head is None:
        problem = f"transformers has no model of the kind {config.model_type} with a head {purpose}"
        if head == "pretraining":
            raise BadParams(Code.CONTRADICTION, "sentence_objective", problem, "write none")
        raise BadParams(Code.CONTRADICTION, "tasks", problem, "take another base for this task")
    return with_head


def without_weights(config: Any, kind: Any = None) -> Any:
    """A model whose tensors have shapes only: of a class, or the encoder alone."""
    import torch

    with torch.device("meta"), torch.random.fork_rng(devices=[]):
        return (kind or class_of(config, "none"))(deepcopy(config))


def is_of_head(model: Any, name: str) -> bool:
    """Whether a weight stands above the encoder or is its pooler, by its name in this model or in the encoder alone."""
    prefix = f"{model.base_model_prefix}."
    first = name.removeprefix(prefix).partition(".")[0]
    is_inside = name.startswith(prefix) or first in dict(model.base_model.named_children())
    return first == "pooler" or not is_inside


def names_of_head(config: Any, head: Head) -> set[str]:
    """Names of the weights above the encoder in the class with this head."""
    model = without_weights(config, class_of(config, head))
    return {name for name, _ in model.named_parameters() if is_of_head(model, name)}


def set_dropout(config: Any, head: Head, rate: float) -> None:
    """Set every rate of dropout in a config, whatever its kind calls them; that of a head only for a task."""
    for name, value in config.to_dict().items():
        of_head = name.startswith("classifier_")
        is_rate = isinstance(value, int | float) and not isinstance(value, bool)  # the head's may be None
        if ("dropout" in name or name.endswith("pdrop")) and (head in TASK_HEADS if of_head else is_rate):
            setattr(config, name, rate)


def position_table(encoder: Any) -> Any:
    """The embeddings of the positions; None where positions are relative or turn the vectors."""
    named = (module for name, module in encoder.named_modules() if name.endswith("position_embeddings"))
    return next((module for module in named if hasattr(module, "padding_idx")), None)  # I-BERT has a class of its own


def first_position(encoder: Any) -> int:
    """The position of the first token of a text: the rows up to that of the padding are not used (in fairseq)."""
    table = position_table(encoder)
    return 0 if table is None or table.padding_idx is None else table.padding_idx + 1


def uncounted(config: Any) -> int | None:
    """The token that a class leaves out where it counts the positions of others; it has to be that of padding alone."""
    return getattr(position_table(without_weights(config)), "padding_idx", None)


def longest(config: Any) -> int:
    """The most tokens of a text."""
    encoder = without_weights(config)
    table = position_table(encoder)
    positions: int = config.max_position_embeddings if table is None else len(table.weight)
    return positions - first_position(encoder)


def layers_of(encoder: Any) -> "nn.ModuleList":
    """The layers; several may be one, whose weights they share."""
    from torch import nn

    return next(module for module in encoder.modules() if isinstance(module, nn.ModuleList))


def last_linear(model: Any) -> Any:
    """The layer whose output are the scores of a text."""
    from torch import nn

    inside = set(model.base_model.modules())
    return [module for module in model.modules() if isinstance(module, nn.Linear) and module not in inside][-1]
