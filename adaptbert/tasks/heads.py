"""The head of every task type by name, for training and from a fine-tuned checkpoint.

Modules that Hugging Face's class lacks (a CRF) are in the same model.safetensors under names of their own: stock
transformers ignores them, `load_fine_tuned` loads them.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from adaptbert.codes import Code
from adaptbert.config.schema.task_types import SPECS, ByTarget, TaskOptions
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import WEIGHTS, TaskCard
from adaptbert.tasks.head import TaskHead, Weights
from adaptbert.tasks.question_answering import QuestionAnswering
from adaptbert.tasks.texts import FOLDED, MultiLabel, Regression, SingleLabel
from adaptbert.tasks.token_classification import TokenClassification

HEADS: ByTarget[Any] = ByTarget(
    {
        "class": SingleLabel,
        "labels": MultiLabel,
        "number": Regression,
        "answer": QuestionAnswering,
        "spans": TokenClassification,
    }
)


def head_of(task: TaskDescription, options: TaskOptions, class_weights: Weights = None) -> TaskHead:
    """The head of a task; with class weights only while it is trained with them."""
    make = HEADS[task.target]
    head: TaskHead = make(task, options) if class_weights is None else make(task, options, class_weights)
    return head


def from_card(card: TaskCard) -> TaskHead:
    """The head of a fine-tuned checkpoint, from `task` of its card.

    Raises:
        KeyError, ValueError: it is incomplete.
    """
    about = card.as_json()
    if SPECS[card.type].target == "number":
        about["range"] = list(FOLDED)  # its unit is in the weights, whatever range the card names
    task = TaskDescription.of(about)
    head = head_of(task, task.spec.rows.options.model_validate(card.options))
    head.check_tuned(card.tuned)
    return head


def load_fine_tuned(saved: Checkpoint, head: TaskHead) -> tuple[Any, TaskHead]:
    """The model, in evaluation, and its own head.

    Args:
        head: of its card.

    Raises:
        BadData: weights are missing or damaged.
    """
    model, drawn = saved.model_and_drawn(head.head, 0, **head.config())
    stock = {name for name, _ in model.named_parameters()}
    head = head.extend(model)
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
    return model.eval(), head
