"""Measures of held-out texts by their names: nested in a metrics file, flat on a curve; and bits per character."""

import math
from collections.abc import Iterable, Mapping


def bits_per_char(mlm_loss: float, tokens: int, characters: int) -> float:
    """Masked-LM loss as bits per character, which survives a change of vocabulary.

    The mean loss (nats a token, over the masked tokens) is taken for every token of the text: a pseudo-likelihood
    (Salazar et al. 2020), not a compression rate.

    Args:
        tokens: of the text, special tokens not counted.
        characters: of the text.
    """
    return mlm_loss * tokens / characters / math.log(2)


def named(measured: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """`{"general": {"mlm_loss": 6.1}}` as `{"general/mlm_loss": 6.1}`."""
    return {f"{text}/{metric}": value for text, values in measured.items() for metric, value in values.items()}


def unnamed(values: Mapping[str, float], texts: Iterable[str]) -> dict[str, dict[str, float]]:
    """The inverse of `named` for these texts; other values are left out."""
    return {
        text: {name.removeprefix(f"{text}/"): value for name, value in values.items() if name.startswith(f"{text}/")}
        for text in texts
    }
