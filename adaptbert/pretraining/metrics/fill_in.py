"""Masked accuracy by class of token, from which token was answered right and which classes it is in."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from adaptbert.pretraining.metrics.fill_in_classes import FILL_IN_CLASSES
from adaptbert.pretraining.metrics.rung_metrics import ClassCurve, FillIn

PREFIX = "fill_in/"
"""Of the measures in a curve: `fill_in/<text>/<class>`."""

Mask = NDArray[np.bool_]
Members = Mapping[str, Mapping[str, Mask]]
"""Text -> class -> whether each masked token is in it, (chosen,)."""


def accuracy(right: Mapping[str, Mask], members: Members) -> dict[str, float]:
    """Share of right answers, by `fill_in/<text>/<class>`; classes without a masked token are left out.

    Args:
        right: text -> whether each masked token was answered right, (chosen,).
    """
    return {
        f"{PREFIX}{text}/{name}": int((right[text] & member).sum()) / int(member.sum())
        for text, classes in members.items()
        for name, member in classes.items()
        if member.any()
    }


def fill_in(
    members: Members,
    curve: list[tuple[int, Mapping[str, float]]],
    untrained: Mapping[str, float],
    unigram: Mapping[str, float],
) -> FillIn:
    """The curves of a rung.

    Args:
        curve: steps, the first of them 0, and what `accuracy` gives for each; other measures are ignored.
        untrained, unigram: what it gives for the two controls.
    """
    return FillIn(
        steps=[step for step, _ in curve],
        texts={
            text: {
                name: ClassCurve(
                    tokens=int(classes[name].sum()),
                    untrained=untrained[key],
                    unigram=unigram[key],
                    accuracy=[measures[key] for _, measures in curve],
                )
                for name in FILL_IN_CLASSES
                if (key := f"{PREFIX}{text}/{name}") in unigram
            }
            for text, classes in members.items()
        },
    )
