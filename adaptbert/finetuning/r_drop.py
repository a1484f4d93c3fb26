"""R-Drop: two forward passes of a batch with other dropout shall agree (Liang et al. 2021, section 2.1).

Log-probabilities of both in, one number out, which is added to the loss.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from adaptbert.base.config import Config

if TYPE_CHECKING:
    from torch import Tensor


class RDropConfig(Config):
    """How much it matters that both passes agree. Twice the passes, so nearly twice the time."""

    weight: Annotated[float, Field(gt=0)]
    """The paper's alpha: 1 to 5 for classification there."""

    passes: ClassVar[float] = 2
    """Work beside that of a step without."""

    def loss(self, one: "Tensor", other: "Tensor", log_one: "Tensor", log_other: "Tensor") -> "Tensor":
        """Half of the paper's sum, so that it compares with a loss without.

        Args:
            one, other: what is trained otherwise, of each pass.
            log_one, log_other: see `divergence`.
        """
        return (one + other) / 2 + self.weight / 2 * divergence(log_one, log_other)


def divergence(log_one: "Tensor", log_other: "Tensor") -> "Tensor":
    """Half of KL(one, other) + KL(other, one), the mean over all distributions.

    Args:
        log_one, log_other: logarithms of the probabilities of all outcomes of any number of distributions, in any
            layout; as each sums to 1, their number is the sum.
    """
    one, other = log_one.exp(), log_other.exp()
    number = one.detach().sum().clamp(min=1)
    return ((one - other) * (log_one - log_other)).sum() / (2 * number)
