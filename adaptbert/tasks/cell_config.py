"""The fine-tuning parameters of a task, and their contradictions."""

from typing import Annotated

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import contradiction
from adaptbert.base.task_types import TARGETS, TARGETS_OF, TaskType
from adaptbert.model.optimizer import OptimConfig
from adaptbert.model.precision import Precision
from adaptbert.tasks.options.class_weights import ClassWeights
from adaptbert.tasks.options.freezing import FreezeConfig, GradualUnfreezingConfig
from adaptbert.tasks.options.r_drop import RDropConfig
from adaptbert.tasks.options.search import SearchConfig
from adaptbert.tasks.shapes import ShapeConfig
from adaptbert.training.early_stopping import EarlyStoppingConfig

Seed = Annotated[int, Field(ge=0, lt=2**64)]
Count = Annotated[int, Field(gt=0, le=bounds.ROWS)]


def _has_labelled_rows(task_type: TaskType) -> bool:
    """Whether it has a target with labels of whole rows."""
    return any(TARGETS[target].classes == "row" for target in TARGETS_OF[task_type])


class CellConfig(ShapeConfig):
    """The parameters of every cell of a task, whatever its arm."""

    seeds: Annotated[list[Seed], Field(max_length=bounds.RUNS)]
    """One run each: of the head, the order of the examples and dropout (and, from scratch, of all weights)."""
    labels: Annotated[int, Field(ge=0, le=bounds.ROWS)]
    """Rows of the training split that are used; 0 = all."""
    epochs: Annotated[float, Field(gt=0, le=bounds.EPOCHS)]
    optim: OptimConfig
    global_batch_size: Annotated[int, Field(gt=0, le=bounds.BATCH_EXAMPLES)]
    """Examples an optimizer step."""
    micro_batch_size: Annotated[int, Field(gt=0, le=bounds.BATCH_EXAMPLES)]
    """Examples a forward pass."""
    max_length: Annotated[int, Field(ge=8, le=bounds.POSITIONS)]
    """Tokens of the longest example; the options of the shape say what becomes of a longer row."""
    block_size: Annotated[int, Field(ge=8, le=bounds.BLOCK)]
    """Tokens of a packed row."""
    dropout: Annotated[float, Field(ge=0, lt=1)]
    """Of hidden states, attention and the input of the head."""
    precision: Precision
    """Of the matrix products; weights and optimizer are float32 either way. `auto`: the faster one on this device."""
    class_weights: ClassWeights | None = None
    """How much the loss of each label counts: `balanced`, or a weight for every label. For sentences and pairs with
    labels. Left out: all alike."""
    freeze: FreezeConfig | None = None
    """Left out: all of the encoder learns."""
    gradual_unfreezing: GradualUnfreezingConfig | None = None
    """Left out: all of it learns from the first step."""
    r_drop: RDropConfig | None = None
    """Left out: one pass a batch."""
    early_stopping: EarlyStoppingConfig | None = None
    """Left out: all epochs are trained, and the last weights are kept."""
    search: SearchConfig | None = None
    """Left out: the values above are trained with as they stand."""
    label_counts: Annotated[list[Count], Field(max_length=bounds.VALUES)] | None = None
    """The cell is trained on so many of its labels as well, each number a part of the next, with all seeds and as many
    epochs: a learning curve. Left out: on all of them only."""

    @model_validator(mode="after")
    def _agree(self) -> "CellConfig":
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise contradiction(f"seeds {self.seeds}: give at least one, each once", "write e.g. [1, 2, 3]")
        if self.global_batch_size % self.micro_batch_size:
            nearest = max(1, round(self.global_batch_size / self.micro_batch_size)) * self.micro_batch_size
            raise contradiction(
                f"global_batch_size {self.global_batch_size} is not a multiple of"
                f" micro_batch_size {self.micro_batch_size}",
                f"write global_batch_size: {nearest}",
            )
        if self.max_length > self.block_size:
            raise contradiction(
                f"max_length {self.max_length} is larger than block_size {self.block_size}",
                f"write block_size: {self.max_length}",
            )
        if len(self.task_types) == 1:  # other numbers: adaptbert.project.section_rules reports them
            self.options().check_room(self.max_length)
        return self

    @model_validator(mode="after")
    def _options_agree(self) -> "CellConfig":
        self._check_options()
        if self.search and self.search.epochs:  # the trials must not contradict the options either
            self.model_copy(update={"epochs": min(self.search.epochs)})._check_options()
        return self

    def _check_options(self) -> None:
        crf = self.sequence_labelling is not None and self.sequence_labelling.decoder == "crf"
        for wrong, message in (
            (self.freeze and self.gradual_unfreezing, "freeze and gradual_unfreezing: give one of them"),
            (self.r_drop and self.dropout == 0, "r_drop and dropout 0.0: both passes would be the same"),
            (self.r_drop and crf, "r_drop and decoder 'crf': it compares words one by one, a CRF knows rows"),
            (
                self.gradual_unfreezing and self.epochs <= 1,
                f"gradual_unfreezing and epochs {self.epochs}: only the head would learn",
            ),
            (
                self.early_stopping and self.epochs <= 1,
                f"early_stopping and epochs {self.epochs}: nothing to choose from",
            ),
            (
                self.optim.layer_decay is not None and self.freeze is not None and self.freeze.is_everything,
                f"optim.layer_decay {self.optim.layer_decay} and all layers frozen: it would do nothing",
            ),
            (
                self.class_weights is not None and any(not _has_labelled_rows(name) for name in self.task_types),
                f"class_weights and options of {' and '.join(self.task_types)}: only sentences and pairs have them",
            ),
        ):
            if wrong:
                raise contradiction(message)

    @model_validator(mode="after")
    def _extra_runs_agree(self) -> "CellConfig":
        for size in (self.search and self.search.global_batch_size) or []:
            if size % self.micro_batch_size:
                raise contradiction(
                    f"search.global_batch_size {size} is not a multiple of micro_batch_size {self.micro_batch_size}"
                )
        counts = self.label_counts
        if counts is not None and (not counts or counts != sorted(set(counts))):
            raise contradiction(f"label_counts {counts}: give at least one, the fewest first", "write e.g. [100, 300]")
        if counts is not None and 0 < self.labels <= counts[-1]:
            raise contradiction(
                f"label_counts {counts} and labels {self.labels}: all are trained on anyway; give fewer"
            )
        return self
