"""Shapes by name; a new shape is one new file and one line here."""

from collections.abc import Sequence

from adaptbert.tasks.sequence_labelling import SequenceLabelling
from adaptbert.tasks.single_sentence import SingleSentence

SHAPES: dict[str, type[SingleSentence] | type[SequenceLabelling]] = {
    "single_sentence": SingleSentence,
    "sequence_labelling": SequenceLabelling,
}

Shape = SingleSentence | SequenceLabelling


def shape_of(name: str, labels: Sequence[str]) -> Shape:
    """The shape of a task with these labels."""
    return SHAPES[name](labels)
