"""Every type of encoder that the installed transformers opens for masked-language modelling: one table of cases.

A case is a tiny model with random weights, large enough that a leak between documents shows, and a tokenizer trained by
the rules of its type. tests/model/test_any_encoder.py walks the table, docs/encoders.md shows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import AutoConfig

from adaptbert.errors import BadParams
from adaptbert.model.checkpoint import quiet
from adaptbert.model.classes import Head, class_of
from adaptbert.model.encoder import Way
from tests.support.family_tokenizers import family_tokenizer

Expected = Way | Literal["refused"]

SHAPE = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 72,
}
SPREAD = 0.3
"""Makes attention matter, so that a leak shows; transformers initialises with 0.02."""


@dataclass(frozen=True)
class Case:
    """A type of model, and how it is expected to run.

    Attributes:
        kind: `model_type` in config.json.
        changes: of the config, beside `SHAPE`; None: the config of the type does not take this size.
        rules: the type by whose rules the tokenizer is trained; its own if empty.
        variant: what tells it from other cases of its type.
        float32: whether its class fails in bfloat16.
        lacks: head -> why a model with it is refused, though transformers has one.
    """

    kind: str
    way: Expected
    changes: Mapping[str, Any] = field(default_factory=dict)
    rules: str = ""
    variant: str = ""
    float32: bool = False
    lacks: Mapping[Head, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind}, {self.variant}" if self.variant else self.kind

    def lacking(self, head: Head) -> str:
        """Why there is no model with this head that runs; empty where there is one."""
        try:
            class_of(AutoConfig.for_model(self.kind), head)
        except BadParams as error:
            return str(error)
        return self.lacks.get(head, "")

    def tokenizer(self) -> Any:
        """The tokenizer of transformers."""
        return family_tokenizer(self.rules or self.kind)

    def config(self, **more: Any) -> Any:
        """The Hugging Face config, without dropout."""
        usual, pieces = AutoConfig.for_model(self.kind), self.tokenizer()
        first, last = _role(pieces, "cls", "bos"), _role(pieces, "sep", "eos")
        roles = {"cls": first, "bos": first, "sep": last, "eos": last, "pad": _role(pieces, "pad")}
        values = {f"{role}_token_id": number for role, number in roles.items()} | {"vocab_size": len(pieces)}
        values |= {name: size for name, size in SHAPE.items() if hasattr(usual, name)}
        values |= {name: 0.0 for name, rate in usual.to_dict().items() if "drop" in name and isinstance(rate, float)}
        values |= {"mask_token_id": _role(pieces, "mask")} if hasattr(usual, "mask_token_id") else {}
        values |= {**self.changes, **more}
        return AutoConfig.for_model(self.kind, **{name: each for name, each in values.items() if each is not None})

    def model(self, head: Head = "masked_lm", spread: float = SPREAD, **more: Any) -> Any:
        """A model as transformers makes it, in training, always the same.

        Args:
            spread: standard deviation of the weights of a matrix.
            more: changes of the config.

        Raises:
            BadParams: the type has no such head.
        """
        config = self.config(**more)
        torch.manual_seed(0)
        with quiet():
            model = class_of(config, head)(config)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1 and parameter.requires_grad:  # sines stay what they are
                    parameter.normal_(0, spread)
        return model.train()

    def save(self, folder: Path) -> None:
        """A folder as makers publish it: the model with its masked-LM head, and the tokenizer."""
        with quiet():
            self.model().save_pretrained(folder)
        self.tokenizer().save_pretrained(folder)


def _role(pieces: Any, *names: str) -> int:
    """The first of these special tokens that there is."""
    return next(number for name in names if (number := getattr(pieces, f"{name}_token_id")) is not None)


ONE_SEGMENT = {"type_vocab_size": 1}
FACTORED = {"embedding_size": 16}
WINDOW = {"local_attention": 16, "global_attn_every_n_layers": 3}
DEBERTA = {
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "max_relative_positions": -1,
    "position_biased_input": False,
    "type_vocab_size": 0,
}
V3 = {**DEBERTA, "position_buckets": 16, "share_att_key": True, "norm_rel_ebd": "layer_norm"}

CASES = (
    Case("bert", "own"),
    Case("roberta", "packed", ONE_SEGMENT),
    Case("xlm-roberta", "packed", ONE_SEGMENT),
    Case("camembert", "packed", ONE_SEGMENT),
    Case("electra", "packed", FACTORED),
    Case("ernie", "packed", {"use_task_id": True}),
    Case("albert", "packed", FACTORED),
    Case("distilbert", "packed", {"hidden_dim": 48}),
    Case("modernbert", "packed", WINDOW),
    Case("modernbert", "packed", {**WINDOW, "classifier_pooling": "mean"}, "mmbert", "as mmBERT"),
    Case("eurobert", "packed", {"num_key_value_heads": 2, "classifier_pooling": "late"}),
    Case("eurobert", "packed", {"num_key_value_heads": 2, "classifier_pooling": "mean"}, variant="mean pooling"),
    Case("nomic_bert", "packed"),
    Case("gte", "packed"),
    Case("ultrabert", "packed", {"num_key_value_heads": 2, "head_dim": 8, "sliding_window": 8}, "modernbert"),
    Case("jina_embeddings_v3", "packed"),
    Case("xlm-roberta-xl", "packed"),
    Case("roberta-prelayernorm", "packed", ONE_SEGMENT),
    Case("roc_bert", "packed", {f"{of}_embed_dim": 8 for of in ("pronunciation", "shape")}),
    Case("xmod", "packed", {**ONE_SEGMENT, "languages": ["en"], "default_language": "en"}, float32=True),
    Case("esm", "packed"),
    Case("esm", "padded", {"token_dropout": True}, variant="embeddings scaled by the share of masks"),
    Case("esmc", "packed", rules="bert"),
    Case("data2vec-text", "packed", ONE_SEGMENT),
    Case("layoutlm", "packed"),
    Case("deberta-v2", "masked_3d", {**V3, "legacy": True}, variant="as v3"),
    Case("deberta-v2", "masked_3d", {**V3, "legacy": False}, variant="head of the new layout"),
    Case("deberta-v2", "padded", {**V3, "conv_kernel_size": 3, "conv_act": "gelu"}, variant="with a convolution"),
    Case("deberta", "masked_3d", {**DEBERTA, "legacy": True}, float32=True),
    Case("deberta", "masked_3d", {**DEBERTA, "legacy": False}, variant="head of the new layout", float32=True),
    Case("mpnet", "masked_4d", rules="roberta"),
    Case("rembert", "masked_4d", {"input_embedding_size": 16, "output_embedding_size": 16}),
    Case("megatron-bert", "masked_4d"),
    Case("luke", "masked_4d", {"entity_vocab_size": 5, "entity_emb_size": 8}),
    Case("big_bird", "masked_4d", lacks={"spans": "its scores depend on the ids of the question"}),
    Case("squeezebert", "masked_4d", {"embedding_size": 32}),
    Case("ibert", "masked_4d", ONE_SEGMENT),
    Case("roformer", "padded", {"embedding_size": 32}),
    Case(
        "longformer", "padded", {**ONE_SEGMENT, "attention_window": [8, 8, 8]},
        lacks={"spans": "its attention depends on the ids of the question"},
    ),
    Case("mobilebert", "refused", {**FACTORED, "true_hidden_size": 32, "intra_bottleneck_size": 32}),
    Case("convbert", "refused", {**FACTORED, "conv_kernel_size": 3}),
    Case("fnet", "refused"),
    Case(
        "funnel", "refused",
        {"hidden_size": None, "num_hidden_layers": None, "num_attention_heads": None, "intermediate_size": None}
        | {"block_sizes": [2, 1], "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 48, "num_decoder_layers": 1},
    ),
)  # fmt: skip
NAMED = {str(case): case for case in CASES}

LEFT_OUT = {
    "bart": "an encoder and a decoder",
    "mbart": "an encoder and a decoder",
    "mvp": "an encoder and a decoder",
    "flaubert": "its tokenizer is code",
    "modernvbert": "reads pictures",
    "mra": "its attention is a kernel for CUDA, and zero on a processor",
    "neomme": "reads pictures",
    "nystromformer": "its tokenizer has no class of its own; attention by landmarks, which padding moves",
    "perceiver": "its tokenizer is code; all texts have one length",
    "reformer": "its tokenizer has no mask; attention by random hashes",
    "tapas": "reads tables",
    "ultravbert": "reads pictures",
    "xlm": "its tokenizer is code",
    "yoso": "attention by random hashes",
}
"""Other types of transformers' table for masked-language modelling -> why they are no case."""
