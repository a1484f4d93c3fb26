"""Checks of a cell before training: values that contradict the task, its labels or the checkpoint."""

from adaptbert.codes import Code
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.data.targets import TARGETS
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData, BadParams
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.tasks.options import class_weights
from adaptbert.tasks.shapes import shape_of


def check_cell(task: str, params: Finetune, start: Checkpoint, described: TaskDescription, labels: int) -> None:
    """Refuse a cell before anything is trained.

    Args:
        labels: number of training rows.

    Raises:
        BadParams: options of another task type, or that contradict the target, the labels or the encoder.
        BadData: more tokens than the encoder has positions.
    """
    place = f"params.yaml: finetune.{task}"
    shape = shape_of(described, params.options(described.task_type))
    layers = start.config().num_hidden_layers
    if params.freeze is not None and params.freeze.layers != "all" and params.freeze.layers > layers:
        problem = f"freeze.layers {params.freeze.layers}, but the encoder has {layers}"
        raise BadParams(Code.CONTRADICTION, place, problem, "give fewer layers, or `all`")
    if params.class_weights is not None and (
        unfit := class_weights.problem(params.class_weights, described.target, shape.classes)
    ):
        raise BadParams(Code.CONTRADICTION, place, unfit, "give `balanced`, or each label its weight")
    if params.r_drop is not None and not TARGETS[described.target].has_confidence:
        problem = f"r_drop and target '{described.target}': it compares probabilities, a number has none"
        raise BadParams(Code.CONTRADICTION, place, problem, "remove r_drop")
    if params.label_counts is not None and params.label_counts[-1] >= labels:
        problem = f"label_counts {params.label_counts}, but there are {labels} labels, which are trained on anyway"
        raise BadParams(Code.CONTRADICTION, f"{place}.label_counts", problem, "give fewer")
    limit = start.config().max_position_embeddings
    if params.max_length > limit:
        problem = f"max_length {params.max_length} is larger than the {limit} positions of {start.name}"
        raise BadData(Code.CONTRADICTION, place, problem, f"lower max_length to {limit}")
