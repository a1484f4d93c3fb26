"""The files of a checkpoint, checked before anything is allocated: a checkpoint may come from anywhere.

config.json is typed, every size in it has a bound, and the header of model.safetensors must list exactly the tensors
that the config describes. card.json, of checkpoints that this project wrote, says where the weights come from, and of
a fine-tuned one how it encodes and decodes its task.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from adaptbert.codes import Code
from adaptbert.config.plan import SCRATCH
from adaptbert.config.schema.task_types import Type
from adaptbert.core.files import file_digest
from adaptbert.core.printable import printable
from adaptbert.core.record import Number, Record, shown, validated
from adaptbert.errors import BadData, nearest, raise_all
from adaptbert.model.classes import class_of, is_of_head, without_weights
from adaptbert.text.tokenizer import cached

CARD, CONFIG, WEIGHTS = "card.json", "config.json", "model.safetensors"
FILES = (CARD, CONFIG, WEIGHTS, "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
COPY = "copy the whole checkpoint again"

_MAX_JSON = 16 * 1024 * 1024
"""Bytes of config.json or card.json; they come to some thousands."""
_MAX_PARAMETERS = 20_000_000_000
"""ESM-2, the largest encoder that is known here, has 15 billion."""
_MOST = 10_000_000
"""The largest number in config.json."""
_MOST_DRAWN = 200_000_000
"""Numbers that weights may lack before transformers is asked which: it takes memory for them."""
_FLOATS = ("F64", "F32", "F16", "BF16")
IDS = "_ids"
"""How buffers of positions end, which older checkpoints hold beside weights."""

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def damaged(place: str | Path, problem: str, remedy: str = COPY) -> BadData:
    """The error for a file of a checkpoint that is not what was written."""
    return BadData(Code.DAMAGED_CHECKPOINT, place, problem, remedy)


def check_folder(folder: Path) -> None:
    """Refuse what is no folder with a config.json; and a folder, a pipe or a broken link in place of a file.

    Raises:
        BadData: of these links with all of them.
    """
    name_one = "name the folder of a checkpoint"
    if folder.is_file():
        problem, remedy = "is a file, and a checkpoint is a folder", f"name its folder: {folder.parent}"
        raise BadData(Code.NOT_A_CHECKPOINT, folder, problem, remedy)
    if not folder.is_dir():
        beside = sorted(other.name for other in folder.parent.glob("*/"))
        remedy = f"there are {', '.join(beside)}" if beside else name_one
        raise BadData(Code.NOT_A_CHECKPOINT, folder, f"no such folder{nearest(folder.name, beside)}", remedy)
    paths = [folder / name for name in FILES]
    there = [path for path in paths if path.is_symlink() or path.exists()]
    raise_all([BadData(Code.FILE, path, "no file, or a link to none", COPY) for path in there if not path.is_file()])
    if not (folder / CONFIG).is_file():
        raise BadData(Code.NOT_A_CHECKPOINT, folder, "no config.json: not a Hugging Face folder", name_one)


def read_object(file: Path) -> dict[str, Any]:
    """A JSON file that holds one object.

    Raises:
        BadData: it does not hold one object, or is larger than 16 MiB.
    """
    if (size := file.stat().st_size) > _MAX_JSON:
        raise damaged(file, f"{size:,} bytes of JSON, more than {_MAX_JSON:,}")
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or brackets without end
        values = None
    if not isinstance(values, dict):
        raise damaged(file, "not a JSON object")
    return values


# ---- config.json


class Architecture(Record, extra="ignore"):
    """The sizes that most kinds of encoders have, and the labels of a head, under the names that BERT gives them; what
    is absent has the default of Hugging Face."""

    vocab_size: Annotated[int, Field(ge=1, le=_MOST)] = 1
    hidden_size: Annotated[int, Field(ge=1, le=65_536)] = 1
    num_hidden_layers: Annotated[int, Field(ge=1, le=200)] = 1
    num_attention_heads: Annotated[int, Field(ge=1, le=4_096)] = 1
    intermediate_size: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    max_position_embeddings: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    type_vocab_size: Annotated[int, Field(ge=0, le=10_000)] = 1
    num_labels: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    id2label: dict[Annotated[str, Field(pattern=r"^\d{1,7}$")], str] | None = None
    label2id: dict[str, int] | None = None
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


_OF_THE_HEAD = {"num_labels", "id2label", "label2id", "problem_type"}
_OF_THE_USE = {"is_decoder", "add_cross_attention", "use_cache"}
"""Keys that config classes declare and that do not describe the encoder."""
_UNDECLARED = {"position_buckets", "norm_rel_ebd", "share_att_key", "conv_kernel_size", "conv_act", "conv_groups"}
_UNDECLARED |= {"attention_head_size", "embedding_size", "pooler_hidden_size", "cls_dropout", "talking_head"}
_UNDECLARED |= {"rope_theta", "rope_scaling", "partial_rotary_factor", "global_rope_theta", "local_rope_theta"}
_UNDECLARED |= {"global_attn_every_n_layers", "head_dim", "original_max_position_embeddings"}
"""Keys that describe an encoder and that its class reads without declaring them: those of DeBERTa, and those that
rotary positions and windows had before transformers 5."""
_OF_THE_FILE = {"model_type", "architectures", "dtype", "torch_dtype", "transformers_version", "_name_or_path"}
_OF_THE_FILE |= {"bos_token_id", "eos_token_id", "sep_token_id", "output_past", "auto_map"}
"""Keys of config.json that do not describe the encoder, and change nothing that it is used for."""
_OTHER_KINDS = {
    "_attn_implementation_internal": ("config key not allowed: it could run code", "remove the key"),
    "quantization_config": ("the weights are quantized", "name the checkpoint that they were made from"),
    "pruned_heads": ("attention heads were pruned", "name the checkpoint that they were pruned from"),
    "position_embedding_type": ("relative positions are not supported", "take a model with absolute positions"),
}
"""Key of config.json -> why a model that has it is not what its kind says, and what to do; where its class does not
declare the key."""
_OTHER = "name the checkpoint of an encoder, e.g. bert, roberta, xlm-roberta, modernbert, deberta-v2 or electra"


def _check_values(kind: Any, config: Mapping[str, Any], place: str | Path) -> None:
    known = {field.name for field in fields(kind)}
    for key, (problem, remedy) in _OTHER_KINDS.items():
        if (value := config.get(key)) and value != "absolute" and key not in known:
            raise BadData(Code.OTHER_ARCHITECTURE, place, f"{problem} ({key})", remedy)
    if "longrope" in str(config.get("rope_parameters", config.get("rope_scaling"))):
        problem = "the positions of a short text depend on the longest beside it (longrope)"
        raise BadData(Code.OTHER_ARCHITECTURE, place, problem, _OTHER)
    names = kind.attribute_map  # `hidden_size` is called `dim` in DistilBERT

    class Named(Architecture, alias_generator=lambda name: names.get(name, name)):
        pass

    validated(Named, config, place, COPY)
    for key in _described(kind) & config.keys():
        values = value if isinstance(value := config[key], list) else [value]
        numbers = [number for number in values if isinstance(number, int | float)]
        # Sizes may be -1, where they are not set; rates and shares are no negative numbers.
        if not all((0 if isinstance(number, float) else -_MOST) <= number <= _MOST for number in numbers):
            raise damaged(f"{place}: {key}", f"{shown(value)} is out of bounds")


def _config_class(config: Mapping[str, Any], place: str | Path) -> Any:
    """The class that transformers has for this kind of config.json."""
    from transformers import CONFIG_MAPPING, __version__
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES, MODEL_MAPPING_NAMES

    name = config.get("model_type")
    is_known = isinstance(name, str) and name in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    # Funnel has one encoder for texts and another for tokens, and so for masked-language modelling.
    kind = CONFIG_MAPPING[name] if is_known and isinstance(MODEL_MAPPING_NAMES.get(name), str) else None
    # Code that transformers has taken over still stands in config.json, as in those of EuroBERT.
    code = config.get("auto_map")
    of_config = str(code.get("AutoConfig", "")) if isinstance(code, Mapping) else ""
    if code and (kind is None or of_config.rpartition(".")[2] != kind.__name__):
        problem, remedy = "its model is code, which is not run (auto_map)", "name a checkpoint without code of its own"
        raise BadData(Code.OTHER_ARCHITECTURE, place, problem, remedy)
    if kind is None:
        named = name if isinstance(name, str) else shown(name)
        problem = f"model_type {named}, of which transformers {__version__} has no model with masked-language modelling"
        raise BadData(Code.OTHER_ARCHITECTURE, place, problem, _OTHER)
    if kind.sub_configs_defaults or config.get("is_encoder_decoder", kind.is_encoder_decoder):
        what = "several models in one" if kind.sub_configs_defaults else "an encoder with a decoder"
        raise BadData(Code.OTHER_ARCHITECTURE, place, f"model_type {name} is {what}", _OTHER)
    return kind


def _described(kind: Any) -> set[str]:
    """Keys of config.json that describe an encoder of this kind."""
    from transformers import PreTrainedConfig

    own = {field.name for field in fields(kind) if field.default is not None or field.name not in _OF_THE_FILE}
    of_all = {field.name for field in fields(PreTrainedConfig)}
    described: set[str] = own - of_all - _OF_THE_USE | _UNDECLARED | kind.attribute_map.keys()
    return described


def hugging_face_config(values: Mapping[str, Any], place: str | Path, *, labels: bool = False, **changes: Any) -> Any:
    """The architecture in config.json as a config of Hugging Face, and its `labels`; not what the model was used for.

    Otherwise what is trained from a decoder, or from a classifier, would be saved as one.

    Raises:
        BadData: no encoder with masked-language modelling in transformers, keys that could run code, sizes out of
            bounds.
    """
    kind = _config_class(values, place)
    _check_values(kind, values, place)
    kept = _described(kind) | (_OF_THE_HEAD if labels else set())
    try:
        return kind(**{key: value for key, value in values.items() if key in kept} | changes)
    except Exception as error:  # transformers has errors of its own for values of another type
        raise damaged(place, f"cannot be used: {' '.join(str(error).split())}") from None


def old_use(values: Mapping[str, Any]) -> Iterator[str]:
    """A notice of the keys that `hugging_face_config` leaves out of config.json and that change something."""
    kept = _described(_config_class(values, CONFIG)) | _OF_THE_FILE
    usual = json.loads(hugging_face_config(values, CONFIG).to_json_string(use_diff=False)) | {"num_labels": 2}
    others = {key: value for key, value in values.items() if key not in kept}
    # A key that transformers does not know counts where it is true.
    used = [key for key, value in others.items() if value not in (None, usual.get(key, value is not True and value))]
    if used:
        keys = printable(", ".join(used))
        yield f"notice: of config.json the architecture is kept, not what the model was used for: {keys}"


# ---- card.json


class TaskCard(Record, extra="ignore"):
    """How a task was read when the checkpoint was evaluated."""

    name: str
    type: Type
    labels: list[str]
    range: list[Number] | None = None
    """The least and the largest training value of a regression."""
    no_answer: bool | None = None
    replace: list[Annotated[list[str], Field(min_length=2, max_length=2)]] | None = None
    columns: dict[str, str] | None = None
    positive: str | None = None
    options: dict[str, Any]
    """Options of the task type; see `adaptbert.tasks.heads.from_card`."""
    max_length: Annotated[int, Field(ge=3, le=1_000_000)]
    tuned: dict[str, Number]
    seed: int | None = None
    """Seed of fine-tuning, whose weights these are: the best on dev."""
    scores: dict[str, Number] | None = None
    """Split/metric -> the score of these weights."""

    @model_validator(mode="after")
    def _agree(self) -> "TaskCard":
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("a label twice")
        return self


_OF_A_TASK = {name for name, field in TaskCard.model_fields.items() if field.is_required()}


class Provenance(Record, extra="ignore"):
    """The provenance of the weights of a checkpoint."""

    stage: str
    checkpoint: str
    """Folder below models/, which names base and replicate: `finetune/section-domain-small-1`."""
    params: dict[str, Any]
    task: TaskCard | None = None
    """The task on which it was fine-tuned, if any."""
    init: str | None
    """Digest of the checkpoint that training began from; None: random weights."""
    texts: list[dict[str, Any]] | None = None
    """The ledger: all text that the weights have seen, oldest first."""
    measured: dict[str, dict[str, float]] | None = None
    """Measures by held-out text."""
    vocabulary: dict[str, str | int] | None = None
    """Extension of the vocabulary in this step: from which tokenizer, by how many tokens."""
    padded: bool | None = None
    """Whether documents were padded, because this kind of encoder cannot keep packed ones apart."""
    random_head: bool | None = None
    """Whether the head of masked-language modelling is still at chance level; only where it began untrained."""


class Card(Provenance):
    """card.json. It has no run id and no time, so that equal results have equal hashes."""

    weights: Digest | None
    """Digest of model.safetensors; None: an architecture, whose weights are drawn when it is trained."""
    config: Digest
    """Digest of config.json."""
    tokenizer: Digest


def read_card(file: Path) -> Card | None:
    """The card of a checkpoint; None without one, or for that of another project.

    Raises:
        BadData: values are missing or of another type; or `weights` is null for a checkpoint that was trained.
    """
    values = read_object(file) if file.is_file() else {}
    if len({"stage", "checkpoint", "weights", "tokenizer"} & values.keys()) < 2:
        return None
    task = values.get("task")
    if isinstance(task, Mapping) and _OF_A_TASK - task.keys():
        raise incomplete_task(file)
    card = validated(Card, values, file, COPY)
    if card.weights is None and (card.checkpoint.partition("/")[0] != SCRATCH or card.task is not None):
        problem = f"`weights` is null, but {card.checkpoint} was trained: its answers would be those of random weights"
        raise damaged(file, problem)
    return card


def check_digests(card: Card, folder: Path, fingerprint: str) -> None:
    """Refuse files that differ from those that the card was written for.

    Args:
        fingerprint: of the tokenizer in the folder.
    """
    weights = folder / WEIGHTS
    if card.weights is None and weights.exists():
        raise damaged(folder / CARD, f"`weights` is null, but there is {WEIGHTS}, which would not be read")
    for file, expected in ((weights, card.weights), (folder / CONFIG, card.config)):
        if expected is None:
            continue
        if not file.is_file():
            raise damaged(file, "file is missing", "copy the whole checkpoint, or run its stage again")
        if (digest := file_digest(file)) != expected:
            problem = f"sha256 mismatch: card {expected[:12]}, file {digest[:12]}"
            raise damaged(file, problem, "the file is damaged: restore it with `dvc checkout --force`")
    if card.tokenizer != fingerprint:
        problem = f"tokenizer {fingerprint[:12]}, card says {card.tokenizer[:12]}"
        raise BadData(Code.TOKENIZER, folder, problem, "restore the folder with `dvc checkout --force`")


def incomplete_task(file: Path) -> BadData:
    """The error for a fine-tuned checkpoint whose card lacks keys that predictions need."""
    problem = "it does not say how the task was read"
    return BadData(Code.NOT_FINE_TUNED, file, problem, "fine-tune again with this version")


# ---- model.safetensors


def check_tensors(file: Path, config: Any, place: str | Path) -> list[str]:
    """Compare the header of the weights with the encoder that the config describes; no weights are read.

    transformers itself says what does not fit, as it does when it loads them: it knows the names that weights had in
    older files, and what it converts. It is given tensors of these shapes that hold one number each.

    Args:
        config: a Hugging Face config of `hugging_face_config`.

    Returns:
        The weights of the head of masked-language modelling that are missing.

    Raises:
        BadData: not safetensors; tensors are missing, left over, of another shape, or no floating-point numbers.
    """
    import torch
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, "pt") as tensors:
            parts = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118, it is no mapping
            shapes = {name: part.get_shape() for name, part in parts.items()}
            types = {name: part.get_dtype() for name, part in parts.items()}
    except SafetensorError as error:
        raise damaged(file, f"bad safetensors file: {error}") from None
    masked_lm = class_of(config, "masked_lm")
    check_amount(without_weights(config, masked_lm), sum(map(prod, shapes.values())), place)
    stand_ins = {name: torch.zeros(()).expand(shape) for name, shape in shapes.items()}
    _, info = loaded(masked_lm, None, config, place, state_dict=stand_ins)
    for name, kind in types.items():
        if kind not in _FLOATS and not name.endswith(IDS):
            raise BadData(Code.OTHER_ARCHITECTURE, file, f"{name} is {kind}, expected floating-point numbers", COPY)
    return sorted(info["missing_keys"])


def check_amount(empty: Any, numbers: int, place: str | Path) -> None:
    """Refuse weights of far fewer numbers than the encoder has: transformers takes memory for what is missing.

    Args:
        empty: the model without weights.
        numbers: how many there are.
    """
    described = sum(parameter.numel() for parameter in empty.base_model.parameters())
    if described - numbers > _MOST_DRAWN:
        raise _disagree(f"{numbers:,} numbers, and the encoder has {described:,}", place)


def loaded(
    kind: Any, source: str | None, config: Any, place: str | Path, *, of_encoder: bool = True, **named: Any
) -> tuple[Any, dict[str, Any]]:
    """A model with its weights, and the loading report of transformers.

    Args:
        kind: the class.
        source: a folder, or a name on the hub; None: the weights are given as `state_dict`.
        of_encoder: whether those of another shape count in the encoder only, and not in the head.

    Raises:
        BadData: weights of the encoder are missing, left over or of another shape than config.json says.
    """
    named |= {"ignore_mismatched_sizes": True, "output_loading_info": True}  # all that is wrong is said below
    model, info = kind.from_pretrained(source, config=config, **named)
    unfit = (*info["missing_keys"], *info["unexpected_keys"])
    names = {name for name in unfit if not is_of_head(model, name)}
    names |= {name for name, *_ in info["mismatched_keys"] if not (of_encoder and is_of_head(model, name))}
    if first := sorted(names)[:3]:
        raise _disagree(", ".join(first) + (f" and {len(names) - 3} more" if len(names) > 3 else ""), place)
    return model, info


def _disagree(words: str, place: str | Path) -> BadData:
    remedy = f"{COPY}; if it is whole, its layers are not those of its model_type, and another one is needed"
    return BadData(Code.OTHER_ARCHITECTURE, place, f"weights and config.json disagree: {words}", remedy)


# ---- the hub


def downloaded(name: str, revision: str, file: str, *, required: bool = True) -> Path | None:
    """The path of a file of a hub model, in the cache of the user; None: the model has no such file.

    Raises:
        BadData: no such model, or the hub does not answer; or no such file, which is `required`.
    """
    try:
        return cached(name, revision, file, required=required)
    except (OSError, ValueError) as error:
        raise not_on_the_hub(name, error) from None


def written_config(source: str, revision: str | None) -> dict[str, Any]:
    """What config.json says: that of a folder, or with a revision of a model on the hub."""
    file = downloaded(source, revision, CONFIG) if revision else Path(source, CONFIG)
    assert file is not None
    return read_object(file)


def not_on_the_hub(name: str, error: Exception) -> BadData:
    """The error for a model, or a file of it, that transformers cannot load from the hub."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    remedy = (
        "check the spelling, or the network (HF_HUB_OFFLINE=1 allows only what was downloaded before); from a folder: "
        "`adaptbert import FOLDER --base NAME`"
    )
    return BadData(Code.NOT_A_CHECKPOINT, name, f"cannot be loaded from the hub: {reason}", remedy)
