"""R-Drop: a loss term for the divergence of two forward passes with different dropout (Liang et al. 2021, section
2.1)."""

from typing import TYPE_CHECKING

from adaptbert.config.schema.finetuning import RDrop

if TYPE_CHECKING:
    from torch import Tensor


def r_drop_loss(config: RDrop, one: "Tensor", other: "Tensor", log_one: "Tensor", log_other: "Tensor") -> "Tensor":
    """Half of the paper's sum, so that the loss has the scale of one without R-Drop.

    Args:
        one, other: the loss of each pass.
        log_one, log_other: see `divergence`.
    """
    return (one + other) / 2 + config.weight / 2 * divergence(log_one, log_other)


def divergence(log_one: "Tensor", log_other: "Tensor") -> "Tensor":
    """Half of KL(one, other) + KL(other, one), the mean over all distributions.

    Args:
        log_one, log_other: logarithms of the probabilities of all outcomes of any number of distributions, in any
            layout; as each sums to 1, their number is the sum.
    """
    one, other = log_one.exp(), log_other.exp()
    number = one.detach().sum().clamp(min=1)
    return ((one - other) * (log_one - log_other)).sum() / (2 * number)
