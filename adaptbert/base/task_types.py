"""Which kinds of task there are: what is read (shape) and what is asked (target)."""

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    pass


Shape = Literal["single_sentence", "sentence_pair", "extractive_answer", "sequence_labelling"]


Target = Literal["class", "labels", "number", "answer", "spans", "tags"]


SHAPES: tuple[Shape, ...] = get_args(Shape)


TARGETS: dict[str, tuple[Target, ...]] = {
    "single_sentence": ("class", "labels", "number"),
    "sentence_pair": ("class", "labels", "number"),
    "extractive_answer": ("answer",),
    "sequence_labelling": ("spans", "tags"),
}
"""Shape -> the kinds of target that it can have."""
