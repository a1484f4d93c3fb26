"""Checks of the files of a checkpoint before anything is allocated: a checkpoint may come from anywhere.

config.json is typed, every size in it has a bound, and the header of model.safetensors must list exactly the tensors
that the config describes.
"""

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from adaptbert.codes import Code
from adaptbert.core.record import shown, validated
from adaptbert.errors import BadData, raise_all
from adaptbert.model.families.family import Family
from adaptbert.model.families.registry import FAMILIES, family_of

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
FILES = (
    CONFIG,
    WEIGHTS,
    "card.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
)
OURS = "crf."
"""Prefix of the weights that this project puts beside those of Hugging Face's classes."""
COPY = "copy the whole checkpoint again"

_MAX_JSON = 16 * 1024 * 1024
"""Bytes of config.json or card.json; they come to some thousands."""
_MAX_PARAMETERS = 20_000_000_000
"""The largest BERT that was published has 4 billion."""
_SINCE_2019 = {"gamma": "weight", "beta": "bias"}
_FLOATS = ("F64", "F32", "F16", "BF16")

Share = Annotated[float, Field(ge=0, lt=1)]


class FileConfig(BaseModel):
    """The checked keys of a JSON file of a checkpoint; other keys are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class Architecture(FileConfig):
    """config.json of a BERT; absent keys have the default of Hugging Face."""

    vocab_size: Annotated[int, Field(ge=1, le=10_000_000)] = 1
    hidden_size: Annotated[int, Field(ge=1, le=65_536)] = 1
    num_hidden_layers: Annotated[int, Field(ge=1, le=1_000)] = 1
    num_attention_heads: Annotated[int, Field(ge=1, le=4_096)] = 1
    intermediate_size: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    max_position_embeddings: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    type_vocab_size: Annotated[int, Field(ge=1, le=10_000)] = 1
    num_labels: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    id2label: dict[Annotated[str, Field(pattern=r"^\d{1,7}$")], str] | None = None
    label2id: dict[str, int] | None = None
    hidden_act: str = "gelu"
    hidden_dropout_prob: Share = 0.0
    attention_probs_dropout_prob: Share = 0.0
    classifier_dropout: Share | None = None
    initializer_range: Annotated[float, Field(ge=0, le=100)] = 0.0
    layer_norm_eps: Annotated[float, Field(gt=0, le=1)] = 1e-12
    pad_token_id: Annotated[int, Field(ge=0)] | None = None
    problem_type: Literal["regression", "single_label_classification", "multi_label_classification"] | None = None

    @model_validator(mode="after")
    def _agree(self) -> "Architecture":
        fields = self.model_fields_set
        if {"hidden_size", "num_attention_heads"} <= fields and self.hidden_size % self.num_attention_heads:
            raise ValueError(f"hidden_size {self.hidden_size} is no multiple of {self.num_attention_heads} heads")
        if "vocab_size" in fields and self.pad_token_id is not None and self.pad_token_id >= self.vocab_size:
            raise ValueError(f"pad_token_id {self.pad_token_id}, and vocab_size is {self.vocab_size}")
        layer = 4 * self.hidden_size**2 + 2 * self.hidden_size * self.intermediate_size
        rows = self.vocab_size + self.max_position_embeddings + self.type_vocab_size
        if (total := self.num_hidden_layers * layer + rows * self.hidden_size) > _MAX_PARAMETERS:
            raise ValueError(f"it describes {total:,} parameters, more than {_MAX_PARAMETERS:,}")
        return self


def check_regular(folder: Path) -> None:
    """Refuse a folder, a pipe or a broken link in place of a file.

    Raises:
        BadData: with all of them.
    """
    raise_all(
        [
            BadData(Code.FILE, folder / name, f"{_kind(folder / name)}, not a file", COPY)
            for name in FILES
            if (folder / name).is_symlink() or (folder / name).exists()
            if not (folder / name).is_file()
        ]
    )


def read_object(file: Path) -> dict[str, Any]:
    """A JSON file that holds one object.

    Raises:
        BadData: it does not hold one object, or is larger than 16 MiB.
    """
    if (size := file.stat().st_size) > _MAX_JSON:
        raise BadData(Code.DAMAGED_CHECKPOINT, file, f"{size:,} bytes of JSON, more than {_MAX_JSON:,}", COPY)
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or brackets without end
        values = None
    if not isinstance(values, dict):
        raise BadData(Code.DAMAGED_CHECKPOINT, file, "not a JSON object", COPY)
    return values


def downloaded(name: str, revision: str, file: str, *, required: bool = True) -> Path | None:
    """The path of a file of a hub model, in the cache of the user; None: the model has no such file.

    Raises:
        BadData: no such model, or the hub does not answer; or no such file, which is `required`.
    """
    from transformers.utils.hub import cached_file

    try:
        path = cached_file(name, file, revision=revision, _raise_exceptions_for_missing_entries=required)
    except (OSError, ValueError) as error:
        raise not_on_the_hub(name, error) from None
    return Path(path) if path else None


def not_on_the_hub(name: str, error: Exception) -> BadData:
    """The error for a model, or a file of it, that transformers cannot load from the hub."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    remedy = (
        "check the spelling, or the network (HF_HUB_OFFLINE=1 allows only what was downloaded before); from a folder: "
        "`adaptbert import FOLDER --base NAME`"
    )
    return BadData(Code.NOT_A_CHECKPOINT, name, f"cannot be loaded from the hub: {reason}", remedy)


def check_architecture(config: Mapping[str, Any], place: str | Path) -> None:
    """Refuse other architectures, keys that could run code, and sizes out of bounds.

    Args:
        config: config.json.
        place: of it, for the messages.
    """
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        problem = f"model_type {kind if isinstance(kind, str) else shown(kind)}, expected {' or '.join(FAMILIES)}"
        raise BadData(Code.OTHER_ARCHITECTURE, place, problem, "name a checkpoint of the BERT architecture")
    refused = [key for key in ("auto_map", "_attn_implementation_internal") if config.get(key)]
    if refused:
        problem = f"config key {refused[0]} not allowed: it could run code"
        raise BadData(Code.DAMAGED_CHECKPOINT, place, problem, "remove the key")
    if config.get("quantization_config"):
        problem = "the weights are quantized"
        raise BadData(Code.OTHER_ARCHITECTURE, place, problem, "name the checkpoint that they were made from")
    validated(Architecture, config, place, COPY)


def check_tensors(file: Path, config: Any, place: str | Path) -> None:
    """Compare the header of the weights with the encoder that the config describes; nothing is allocated.

    Args:
        config: a Hugging Face config that passed `check_architecture`.

    Raises:
        BadData: not safetensors; tensors are missing, left over, of another shape, or no floating-point numbers.
    """
    import torch
    from safetensors import SafetensorError, safe_open

    family = family_of(config)
    with torch.device("meta"):
        encoder = family.hugging_face("none")(config, add_pooling_layer=False)
    try:
        with safe_open(file, "pt") as tensors:
            parts = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118, it is no mapping
            shapes = {name: part.get_shape() for name, part in parts.items()}
            types = {name: part.get_dtype() for name, part in parts.items()}
    except SafetensorError as error:
        raise BadData(Code.DAMAGED_CHECKPOINT, file, f"bad safetensors file: {error}", COPY) from None
    prefix = family.prefix if any(name.startswith(family.prefix) for name in shapes) else ""
    buffers, others = tuple(prefix + name for name in family.buffers), above_encoder(family)
    known = {prefix + name: list(tensor.shape) for name, tensor in encoder.named_parameters()}
    of_encoder = {_renamed(name): shape for name, shape in shapes.items() if not name.startswith((*others, *buffers))}
    refuse_strays([name for name in known | of_encoder if known.get(name) != of_encoder.get(name)], place)
    for name, kind in types.items():
        if kind not in _FLOATS and not name.startswith(buffers):
            raise BadData(Code.OTHER_ARCHITECTURE, file, f"{name} is {kind}, expected floating-point numbers", COPY)


def above_encoder(family: Family) -> tuple[str, ...]:
    """Prefixes of the weights above the encoder."""
    return (*family.heads, OURS)


def refuse_strays(names: Collection[str], place: str | Path) -> None:
    """Refuse weights of the encoder that are missing, left over or of another shape than config.json says.

    Args:
        names: of these.
    """
    if names:
        first = sorted(names)[:3]
        listed = ", ".join(first) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        problem = f"weights and config.json disagree: {listed}"
        raise BadData(Code.OTHER_ARCHITECTURE, place, problem, "copy the whole checkpoint")


def _renamed(name: str) -> str:
    """The present name of a weight from a checkpoint of 2019."""
    return re.sub(r"LayerNorm\.(gamma|beta)$", lambda old: f"LayerNorm.{_SINCE_2019[old[1]]}", name)


def _kind(path: Path) -> str:
    if path.is_dir():
        return "a folder"
    return "a link to nowhere" if path.is_symlink() and not path.exists() else "a pipe or a device"
