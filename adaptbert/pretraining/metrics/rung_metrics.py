"""metrics/pretrain/*.json, domain_transfer/*.json and task_transfer/*.json: the metrics of a rung and its cost.

Written by adaptbert.pretraining.rung_outputs, read by adaptbert.comparison.
"""

from typing import Literal

from pydantic import Field

from adaptbert.base.record import CurvePoint, MeasuredRecord, Record


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


class ClassCurve(Record):
    """Masked accuracy on the masked tokens of one class in one held-out text."""

    tokens: int
    """Masked ones of this class."""
    untrained: float
    """Of a model with random weights."""
    unigram: float
    """Of always answering the most frequent token of the training text."""
    accuracy: list[float]
    """At the steps of `FillIn`."""


class FillIn(Record):
    """The fill-in curve: masked accuracy by class of token while a rung is trained, with the same masks each time."""

    steps: list[int]
    """From 0, before the first step, to the last one that was trained."""
    texts: dict[str, dict[str, ClassCurve]]
    """Held-out text -> class of token (`FILL_IN_CLASSES`); classes without a masked token are left out."""


class StopMetrics(Record):
    """What the stop rule of a rung did."""

    planned_steps: int
    """Of the budget; `RungMetrics.steps` were trained."""
    kept_step: int
    """After which the weights were best by the rule: they are the rung. 0: those that it began with."""
    kept_tokens: int
    """As in `RungMetrics.tokens`, up to that step."""
    reason: Literal["patience", "forgetting"] | None
    """Why training ended before the planned steps; None where it did not."""


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
    """That were trained, also those after the weights that a stop rule keeps."""
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
    fill_in: FillIn | None = None
    """Always written; files of earlier versions lack it."""
    stop: StopMetrics | None = None
    """Where there is a stop rule."""
