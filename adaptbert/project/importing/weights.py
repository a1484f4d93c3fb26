"""The tensors of a checkpoint under the names of today, as one safetensors file.

Values and their type stay as they are: half precision takes half the room, and every stage computes in float32 anyway.
What is left out: buffers, which are no weights; the decoder of masked-language modelling where it is the embedding
matrix once more; and heads of other tasks.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.errors import BadData, shortened
from adaptbert.model.checkpoint_files import CONFIG, COPY, WEIGHTS, refuse_strays
from adaptbert.project.importing.pickled import refuse_pointer, tensors_of
from adaptbert.project.importing.source import Source

if TYPE_CHECKING:
    import torch

DENSE = "cls.predictions.transform.dense"
NORM = "cls.predictions.transform.LayerNorm"
HEAD = {"cls.predictions.bias", *(f"{part}.{end}" for part in (DENSE, NORM) for end in ("weight", "bias"))}
"""Of masked-language modelling, besides the decoder."""
DECODER = "cls.predictions.decoder.weight"
DECODER_BIAS = "cls.predictions.decoder.bias"
POOLER = {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}
SENTENCE_HEAD = {"cls.seq_relationship.weight", "cls.seq_relationship.bias"}
EMBEDDINGS = "bert.embeddings.word_embeddings.weight"

_OF_2019 = re.compile(r"(?<=LayerNorm\.)(gamma|beta)$")
_BUFFERS = ("bert.embeddings.position_ids", "bert.embeddings.token_type_ids")
_MODEL = ("embeddings.", "encoder.", "pooler.")
"""Beginnings of names in a file that holds the encoder alone, without `bert.`"""


@dataclass(frozen=True)
class Written:
    """What a file of weights holds.

    Attributes:
        names: of today, of all tensors that this project uses.
        parameters: their numbers; a decoder that is tied to the embeddings counts once.
        dtypes: their types.
        unused: names of tensors that are not used.
    """

    names: frozenset[str]
    parameters: int
    dtypes: list[str]
    unused: list[str]

    @property
    def has_head(self) -> bool:
        return self.names >= HEAD

    @property
    def has_pooler(self) -> bool:
        return self.names >= POOLER

    @property
    def has_sentence_head(self) -> bool:
        return self.names >= SENTENCE_HEAD


def write(source: Source, folder: Path) -> tuple[list[str], list[str]]:
    """Write model.safetensors: a copy, or the tensors of other files.

    Returns:
        Names that were left out, and notes.

    Raises:
        BadData: a file is damaged, holds code, or not the tensors of a BERT.
    """
    from safetensors.torch import save_file

    target = folder / WEIGHTS
    if source.is_whole:
        refuse_pointer(source.weights[0])
        shutil.copyfile(source.weights[0], target)
        return [], []
    tensors: dict[str, torch.Tensor] = {}
    others: list[str] = []
    for file in source.weights:
        part, rest = _read(file)
        tensors |= part
        others += rest
    tied = source.config.get("tie_word_embeddings", True) is not False
    kept, left_out, notes = sorted_out(tensors, source.weights[0], tied=tied)
    save_file(_apart(kept), target, {"format": "pt"})
    shutil.copymode(folder / CONFIG, target)  # safetensors writes it readable by its owner only
    return [*left_out, *others], notes


def inspect(file: Path, config: Any) -> Written:
    """What the written file holds, for a config that agrees with its encoder.

    Raises:
        BadData: NaN or Inf, or a head of another shape than config.json says.
    """
    import torch
    from safetensors import safe_open

    shapes: dict[str, list[int]] = {}
    unused, dtypes, parameters = [], set(), 0
    with safe_open(file, "pt") as opened:
        stored = sorted(opened.keys())
        today = _names(stored)
        tied = config.tie_word_embeddings
        for name in stored:
            if (new := today[name]) is None or not _is_used(new):
                unused.append(name)
                continue
            if tied and new in (DECODER, DECODER_BIAS):
                continue
            tensor = opened.get_tensor(name)
            if not bool(torch.isfinite(tensor).all()):
                remedy = "take another copy of the model"
                raise BadData(Code.WEIGHTS_NOT_FINITE, file, f"{name} holds NaN or Inf", remedy)
            shapes[new] = list(tensor.shape)
            dtypes.add(str(tensor.dtype).removeprefix("torch."))
            parameters += tensor.numel()
    _check_heads(shapes, config, file)
    return Written(frozenset(shapes), parameters, sorted(dtypes), unused)


def sorted_out(
    tensors: Mapping[str, "torch.Tensor"], place: Path, *, tied: bool
) -> tuple[dict[str, "torch.Tensor"], list[str], list[str]]:
    """The tensors to write under the names of today, the names of those left out, and notes.

    Args:
        tied: whether the decoder is the embedding matrix.
    """
    import torch

    kept: dict[str, torch.Tensor] = {}
    left_out: list[str] = []
    for name, new in _names(tensors).items():
        if new is None:
            continue
        if not _is_used(new):
            left_out.append(shortened(name))
        elif new in kept:
            raise BadData(Code.WEIGHTS_DO_NOT_FIT, place, f"holds {shortened(new)} twice, under two names", COPY)
        else:
            kept[new] = tensors[name]
    notes = []
    bias = kept.pop(DECODER_BIAS, None)
    if bias is not None:
        kept.setdefault("cls.predictions.bias", bias)
    decoder = kept.pop(DECODER, None) if tied else None
    if decoder is not None and EMBEDDINGS in kept and not torch.equal(decoder, kept[EMBEDDINGS]):
        notes.append(
            f"{DECODER} was left out: config.json ties it to the word embeddings, from which its values differ"
        )
    return {name: kept[name] for name in sorted(kept)}, left_out, notes


def _read(file: Path) -> tuple[dict[str, "torch.Tensor"], list[str]]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if file.suffix == ".bin":
        return tensors_of(file)
    refuse_pointer(file)
    try:
        return load_file(file), []
    except SafetensorError as error:
        raise BadData(Code.BAD_SAFETENSORS, file, f"bad safetensors file: {error}", COPY) from None


def _names(stored: Sequence[str] | Mapping[str, Any]) -> dict[str, str | None]:
    """Stored name -> name of today; None for a buffer."""
    plain = {name: _OF_2019.sub(lambda old: {"gamma": "weight", "beta": "bias"}[old[1]], name) for name in stored}
    if not any(name.startswith("bert.") for name in plain.values()):
        plain = {name: f"bert.{new}" if new.startswith(_MODEL) else new for name, new in plain.items()}
    return {name: None if new in _BUFFERS else new for name, new in plain.items()}


def _is_used(name: str) -> bool:
    """Whether a name of today is of the encoder, the pooler or a head of pre-training."""
    return name.startswith("bert.") or name in HEAD | SENTENCE_HEAD | {DECODER, DECODER_BIAS}


def _apart(tensors: Mapping[str, "torch.Tensor"]) -> dict[str, "torch.Tensor"]:
    """Each with memory of its own, as safetensors demands; what has it already is not copied."""
    owned: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        storage = tensor.untyped_storage()
        is_own = tensor.is_contiguous() and storage.nbytes() == tensor.numel() * tensor.element_size()
        shared = storage.data_ptr() in seen
        seen.add(storage.data_ptr())
        owned[name] = tensor.detach() if is_own and not shared else tensor.detach().clone().contiguous()
    return owned


def _check_heads(shapes: Mapping[str, list[int]], config: Any, file: Path) -> None:
    """`Checkpoint.load` checks the encoder only; a head of another shape would silently be drawn anew."""
    import torch
    from transformers import BertForPreTraining

    with torch.device("meta"):
        model = BertForPreTraining(config)
    known = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    heads = [name for name in shapes if name.startswith("cls.") or name in POOLER]
    refuse_strays([name for name in heads if known.get(name) != shapes[name]], file)
