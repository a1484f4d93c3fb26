"""The stop rule of a rung: ends training that no longer helps, or that forgets, and keeps the best measured weights.

It looks at held-out bits per character of general text and of the rung's own text, and never at dev or test rows of a
task: task transfer holds back a part of its training text instead.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from adaptbert.base import bounds
from adaptbert.base.config import Config
from adaptbert.base.ladder import GENERAL
from adaptbert.training.early_stopping import KeepBest

SCORE = "stop/bits_per_char"


class StopConfig(Config):
    """Ends a rung early; its weights are those of the best measurement, or those that it began with."""

    patience: Annotated[int, Field(ge=1, le=bounds.POINTS)]
    """The rung ends after so many consecutive measurements (`measurements`) without a better one. A measurement is
    better if the bits per character of general and own held-out text together are lower."""
    most_forgetting: Annotated[float, Field(ge=0)] | None = None
    """Bits per character by which general text may get worse than before the rung. A measurement beyond it ends the
    rung and is not kept. Left out: no limit."""
    general_weight: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Of general text in the sum; the rung's own text has the rest. Without effect where these are the same text."""


class TaskStopConfig(StopConfig):
    """The stop rule of task transfer."""

    heldout_fraction: Annotated[float, Field(gt=0, le=0.5)] = 0.05
    """Share of the task's training documents that the rule holds back and measures instead of training on them,
    because the held-out text of a task is its dev split."""


def score(config: StopConfig, bits: Mapping[str, float]) -> float:
    """The weighted sum of bits per character, lower is better.

    Args:
        bits: of general text, and of the rung's own where that is another.
    """
    own = next((value for text, value in bits.items() if text != GENERAL), bits[GENERAL])
    return config.general_weight * bits[GENERAL] + (1 - config.general_weight) * own


def rule(config: StopConfig, before: Mapping[str, float]) -> KeepBest:
    """The rule as the training loop applies it, to the measures `SCORE` and `general/bits_per_char`.

    Args:
        before: bits per character before the first step, as of `score`.
    """
    limits = {}
    if config.most_forgetting is not None:
        limits = {f"{GENERAL}/bits_per_char": before[GENERAL] + config.most_forgetting}
    return KeepBest(SCORE, config.patience, lower_is_better=True, before=score(config, before), limits=limits)
