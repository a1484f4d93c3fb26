"""metrics/{pretrain,domain_transfer,task_transfer,measure}/*.json: what a step measured, and what it cost.

Written by adaptbert.mlm.step and adaptbert.mlm.heldout_evaluation, read by adaptbert.comparison.
"""

from pydantic import Field

from adaptbert.core.record import CurvePoint, MeasuredRecord, Record


class HeldOutMeasures(Record):
    """Measures of a model on one held-out text."""

    bits_per_char: float
    mlm_loss: float
    """Nats a masked token."""
    masked_accuracy: float


class SentenceCounts(Record):
    """Counts of a sentence objective."""

    objective: str
    pairs: int
    unpaired: int
    """Documents too short to be cut."""


class VocabularyGrowth(Record):
    """The vocabulary extension of a step."""

    init: str = Field(alias="from")
    """Fingerprint of the tokenizer of the weights that it began from."""
    new_tokens: int


class MaskingMetrics(MeasuredRecord):
    """Parameters of the masks, and as `measures` their audit; it is empty where no document was masked."""

    unit: str
    probability: float


class CheckpointMeasures(Record):
    """metrics/measure/*.json: one checkpoint on all held-out text."""

    checkpoint: str
    """Folder of the checkpoint below models/."""
    texts: dict[str, HeldOutMeasures]
    """Measures by held-out text."""


class StepMetrics(Record):
    """One step."""

    checkpoint: str
    """Folder of the checkpoint below models/."""
    init: str = Field(alias="from")
    """The checkpoint, the folder or the model of the hub that it began from."""
    tokens: int
    """Steps of the budget times tokens a step, as in params; the number read differs a little, because documents are
    read whole. Those that the head alone was warmed up with cost operations, and leave the encoder as it was."""
    steps: int
    """Steps of the budget, and of the warm-up of the head."""
    tflop: float
    parameters: int
    sentence: SentenceCounts | None = None
    """Counts of a sentence objective, where there is one."""
    vocabulary: VocabularyGrowth | None = None
    """Growth of the vocabulary, where it was extended."""
    random_head: bool | None = None
    """Whether the head of masked-language modelling is still at chance level; only where it began untrained."""
    documents: str | None = None
    """How documents were computed, `padded` or `packed by masks`; left out where they were packed."""
    before: dict[str, HeldOutMeasures]
    """Measures by held-out text: general text and that of the step; `CheckpointMeasures` has all."""
    after: dict[str, HeldOutMeasures]
    curve: list[CurvePoint]
    masking: MaskingMetrics
