"""Loads a fine-tuned checkpoint: the model and its shape, as they were evaluated.

Modules that Hugging Face's class lacks (a CRF) are in the same model.safetensors under names of their own:
stock transformers ignores them, this module loads them.
"""

from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.errors import BadData
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import WEIGHTS
from adaptbert.tasks.shape import Shape
from adaptbert.tasks.shapes import from_card


def load_fine_tuned(saved: Checkpoint) -> tuple[Any, Shape]:
    """The model, in evaluation, and its shape; `saved.card.task` has the rest.

    Raises:
        BadData: not fine-tuned by this project, or weights are missing or damaged.
    """
    import torch
    from safetensors import safe_open

    task = saved.card.task if saved.card else None
    if task is None:
        problem = "not a checkpoint of `finetune`"
        raise BadData(Code.NOT_A_CHECKPOINT, saved.source, problem, "name a folder below models/finetune")
    shape = from_card(task.as_json())
    model, drawn = saved.model_and_drawn(shape.head, 0)
    stock = {name for name, _ in model.named_parameters()}
    shape = shape.extend(model)
    ours = {name: parameter for name, parameter in model.named_parameters() if name not in stock}
    file = Path(saved.source) / WEIGHTS
    with safe_open(file, "pt") as tensors:
        loaded = {name: tensors.get_tensor(name) for name in ours.keys() & set(tensors.keys())}
    fitting = {name for name, tensor in loaded.items() if tensor.shape == ours[name].shape}
    if lacking := sorted(drawn | (ours.keys() - fitting)):
        problem = f"{lacking[0]} is missing, or of another shape"
        raise BadData(Code.OTHER_ARCHITECTURE, file, problem, "copy the whole checkpoint")
    for name, parameter in ours.items():
        if not bool(torch.isfinite(loaded[name]).all()):
            raise BadData(Code.DAMAGED_CHECKPOINT, file, f"{name} holds NaN or Inf", "copy the whole checkpoint")
        parameter.data.copy_(loaded[name])
    return model.eval(), shape
