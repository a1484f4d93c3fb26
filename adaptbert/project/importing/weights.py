"""Weights of a public checkpoint -> model.safetensors; transformers gives the tensors their names of today.

A pickle is a program: Python's own unpickler does whatever the file says. torch's restricted unpickler
(`weights_only=True`) knows the few operations that build tensors, and refuses all others. This is the only module of
the library that calls `torch.load` (tests/pipeline/test_layers.py).
"""

import re
import shutil
import warnings
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from adaptbert.codes import Code
from adaptbert.errors import BadData, shortened
from adaptbert.model.checkpoint import Checkpoint, quiet
from adaptbert.model.checkpoint_files import CONFIG, COPY, WEIGHTS, refuse_strays
from adaptbert.model.families.registry import family_of

if TYPE_CHECKING:
    import torch

_POINTER = b"version https://git-lfs.github.com/"
_REFUSED = re.compile(r"\bGLOBAL (\S+)|Trying to call reduce|Can only create new object|Can only build")
"""The words of torch's unpickler for operations that build something else than tensors."""


def write(file: Path, folder: Path, checkpoint: Checkpoint) -> Iterator[str]:
    """Write model.safetensors beside config.json: a copy of such a file, or the tensors of a pickle.

    Args:
        checkpoint: the folder, which has no weights yet.

    Yields:
        What it holds, lacks and leaves out.

    Raises:
        BadData: the file is damaged, would run code, or holds no tensors of such a BERT, or NaN.
    """
    import torch
    from safetensors.torch import save_file

    config = checkpoint.config()
    family = family_of(config)
    decoder = {f"{family.decoder}{part}" for part in ("weight", "bias")}
    stored, others = _stored(file)
    if config.tie_word_embeddings:  # the decoder is the embedding matrix once more
        stored.pop(f"{family.decoder}weight", None)
    # Numbers stay as they are: half precision takes half the room, and every stage computes in float32 anyway.
    dtypes = [tensor.dtype for tensor in stored.values() if tensor.is_floating_point()]
    dtype = reduce(torch.promote_types, dtypes or [torch.float32])  # none: all is missing, which is said below
    with quiet(), checkpoint.readable():
        model, info = family.hugging_face("pretraining").from_pretrained(
            None, config=config, state_dict=stored, dtype=dtype, ignore_mismatched_sizes=True, output_loading_info=True
        )
    lacking, unused = set(info["missing_keys"]), [*info["unexpected_keys"], *others]
    of_heads = tuple(family.pretrained.values())
    strays = [key for key, *_ in info["mismatched_keys"]] + [name for name in unused if name.startswith(family.prefix)]
    refuse_strays([*strays, *(name for name in lacking if not name.startswith(of_heads))], file.parent)
    if config.tie_word_embeddings:
        lacking |= decoder
    # Each with memory of its own, as safetensors demands.
    tensors = {name: tensor.clone().contiguous() for name, tensor in model.state_dict().items() if name not in lacking}
    for name, tensor in tensors.items():
        if not bool(torch.isfinite(tensor).all()):
            remedy = "take another copy of the model"
            raise BadData(Code.DAMAGED_CHECKPOINT, file, f"{name} holds NaN or Inf", remedy)
    if file.name == WEIGHTS:
        shutil.copyfile(file, folder / WEIGHTS)
    else:
        save_file(tensors, folder / WEIGHTS, {"format": "pt"})
        shutil.copymode(folder / CONFIG, folder / WEIGHTS)  # safetensors writes it readable by its owner only
    yield f"{sum(tensor.numel() for tensor in tensors.values()):,} parameters, {str(dtype).removeprefix('torch.')}"
    heads = [head for head, prefix in family.pretrained.items() if any(name.startswith(prefix) for name in tensors)]
    if heads:
        yield f"with {', '.join(heads)}"
    if "masked-LM head" not in heads:
        key = "`pretrain.head_warmup_steps: 300`"
        yield f"notice: no head for masked-language modelling: it begins untrained; {key} trains it first"
    if "pooler" not in heads:
        yield "notice: no pooler: fine-tuning on sentences and pairs begins with an untrained one"
    if unused:
        yield f"in the weights but not used: {', '.join(map(shortened, sorted(unused)))}"


def _stored(file: Path) -> tuple[dict[str, "torch.Tensor"], list[str]]:
    """The tensors of a file, and the names of what else it holds; a large pickle is mapped into memory."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    with file.open("rb") as opened:
        beginning = opened.read(len(_POINTER))
    if beginning == _POINTER:
        problem = "a pointer of Git LFS, not the weights themselves"
        raise BadData(Code.DAMAGED_CHECKPOINT, file, problem, "run `git lfs pull` in its folder, or download the file")
    try:
        if file.name == WEIGHTS:
            loaded = load_file(file)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of torch, about files that it cannot read: the error says so
                loaded = torch.load(file, map_location="cpu", weights_only=True, mmap=beginning.startswith(b"PK\3\4"))
    except SafetensorError as error:
        raise BadData(Code.DAMAGED_CHECKPOINT, file, f"bad safetensors file: {error}", COPY) from None
    except Exception as error:  # damaged bytes raise errors of any kind
        raise _refused(file, str(error).strip() or type(error).__name__) from None
    entries = loaded if isinstance(loaded, Mapping) else {}
    tensors = {str(name): value for name, value in entries.items() if torch.is_tensor(value)}
    if not tensors:
        inside = [str(name) for name, value in entries.items() if isinstance(value, Mapping) and value]
        kind = f"a {type(loaded).__name__}" + (f" with {', '.join(map(shortened, inside))} inside" if inside else "")
        problem = f"holds no tensors by name; found {kind}"
        remedy = "take the file of the model alone, as `model.save_pretrained` writes it"
        raise BadData(Code.OTHER_ARCHITECTURE, file, problem, remedy)
    floats = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    for name, tensor in tensors.items():
        if tensor.dtype not in floats and not name.endswith("_ids"):
            problem = f"{shortened(name)} holds {str(tensor.dtype).removeprefix('torch.')}: the weights are quantized"
            raise BadData(Code.OTHER_ARCHITECTURE, file, problem, "name the checkpoint that they were made from")
        if tensor.layout != torch.strided:
            problem = f"{shortened(name)} is no plain tensor of floating-point numbers"
            raise BadData(Code.OTHER_ARCHITECTURE, file, problem, COPY)
    return tensors, [str(name) for name in entries if str(name) not in tensors]


def _refused(file: Path, words: str) -> BadData:
    """The error for a pickle that torch did not read."""
    if refused := _REFUSED.search(words):
        named = f", it names {refused[1]}" if refused[1] else ""
        problem = f"the pickle holds more than tensors{named}: nothing of it was run, nothing was written"
        remedy = "do not open this file with other programs, which would run it; take the model from its authors"
        return BadData(Code.UNSAFE_WEIGHTS, file, problem, remedy)
    reason = words.splitlines()[0]
    reason = "no file of torch" if "weights_only" in reason else reason
    return BadData(Code.DAMAGED_CHECKPOINT, file, f"cannot be read: {shortened(reason)}", COPY)
