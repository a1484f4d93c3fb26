"""FGM: a second pass in which word embeddings are moved to where they hurt most.

Miyato, Dai and Goodfellow 2017, "Adversarial Training Methods for Semi-Supervised Text Classification", section 3. The
embeddings are not normalised as there, for they come from pre-training: `epsilon` is in their own unit.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from adaptbert.base.config import Config

if TYPE_CHECKING:
    from torch import Tensor


class AdversarialConfig(Config):
    """How far the word embeddings of an example are moved. Two passes and a backward pass more than without."""

    epsilon: Annotated[float, Field(gt=0)]
    """Length of the move of all embeddings of an example together."""

    passes: ClassVar[float] = 7 / 3
    """Work beside that of a step without: a backward pass is twice a forward pass, and half of it finds the move."""

    def loss(self, loss_at: "Callable[[Tensor], Tensor]", documents: "Tensor", hidden: int) -> "Tensor":
        """The mean of the loss as it is and of the loss where the embeddings are moved.

        Args:
            loss_at: the loss with (tokens, hidden) added to the word embeddings.
            documents: tokens of each example, (examples,).
            hidden: size of an embedding.
        """
        import torch

        still = torch.zeros(int(documents.sum()), hidden, device=documents.device, requires_grad=True)
        clean = loss_at(still)
        # Of the embeddings alone: the gradient of the weights comes from both losses, later.
        (gradient,) = torch.autograd.grad(clean, still, retain_graph=True)
        return (clean + loss_at(worst(gradient, documents, self.epsilon))) / 2


def worst(gradient: "Tensor", documents: "Tensor", epsilon: float) -> "Tensor":
    """The gradient of each example, scaled to length `epsilon`, (tokens, hidden); 0 where it is 0."""
    import torch

    example = torch.repeat_interleave(documents)
    squares = gradient.new_zeros(len(documents)).index_add(0, example, gradient.square().sum(-1))
    scale = epsilon / squares.sqrt().clamp(min=torch.finfo(gradient.dtype).tiny)
    return gradient * scale[example, None]
