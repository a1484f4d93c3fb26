"""metrics/pretrain/*.json, domain_transfer/*.json and task_transfer/*.json: the metrics of a rung and its cost.

Written by adaptbert.mlm.rung, read by adaptbert.comparison.
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
    """The vocabulary extension of a rung."""

    start: str = Field(alias="from")
    """Fingerprint of the tokenizer of those weights."""
    new_tokens: int


class MaskingMetrics(MeasuredRecord):
    """Parameters of the masks, and as `measures` their audit; it is empty where no document was masked."""

    unit: str
    probability: float


class RungMeasures(Record):
    """metrics/measure/<rung>.json: one rung on all held-out text."""

    rung: str
    """Its folder below models/."""
    texts: dict[str, HeldOutMeasures]
    """By held-out text."""


class RungMetrics(Record):
    """One rung."""

    rung: str
    """Its folder below models/."""
    start: str = Field(alias="from")
    """The rung, the folder or the model of the hub that it began from."""
    tokens: int
    """Steps times tokens a step, as in params."""
    steps: int
    tflop: float
    parameters: int
    sentence: SentenceCounts | None = None
    """Where there is a sentence objective."""
    vocabulary: VocabularyGrowth | None = None
    """Where the vocabulary was extended."""
    random_head: bool | None = None
    """Whether the head of masked-language modelling is still at chance level; only where it began untrained."""
    before: dict[str, HeldOutMeasures]
    """By held-out text: general text and that of the rung; `RungMeasures` has all."""
    after: dict[str, HeldOutMeasures]
    curve: list[CurvePoint]
    masking: MaskingMetrics
