"""FGM: a second pass with word embeddings perturbed along the loss gradient.

Miyato, Dai and Goodfellow 2017, "Adversarial Training Methods for Semi-Supervised Text Classification", section 3. The
embeddings are not normalised as there, because they are pre-trained: `epsilon` is in their unit.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from adaptbert.base.config import Config

if TYPE_CHECKING:
    from torch import Tensor


class AdversarialConfig(Config):
    """The size of the perturbation. Costs a second forward and backward pass, and a backward pass to the embeddings."""

    epsilon: Annotated[float, Field(gt=0)]
    """Norm of the perturbation of all embeddings of an example together."""

    passes: ClassVar[float] = 7 / 3
    """Work beside that of a step without: a backward pass is twice a forward pass, and half of one computes the
    perturbation."""

    def loss(self, loss_at: "Callable[[Tensor], Tensor]", documents: "Tensor", shape: tuple[int, int]) -> "Tensor":
        """The mean of the loss and of the loss with perturbed embeddings.

        Args:
            loss_at: the loss with values of `shape` added to the word embeddings.
            documents: tokens of each example, (examples,).
            shape: tokens of all examples, size of an embedding.
        """
        import torch

        zero = torch.zeros(shape, device=documents.device, requires_grad=True)
        clean = loss_at(zero)
        # By the embeddings only: the gradient by the weights is computed later, from both losses.
        (gradient,) = torch.autograd.grad(clean, zero, retain_graph=True)
        return (clean + loss_at(fgm_perturbation(gradient, documents, self.epsilon))) / 2


def fgm_perturbation(gradient: "Tensor", documents: "Tensor", epsilon: float) -> "Tensor":
    """The gradient of each example, scaled to length `epsilon`, (tokens, hidden); 0 where it is 0."""
    import torch

    example = torch.repeat_interleave(documents, output_size=len(gradient))  # else a GPU would wait for the size
    squares = gradient.new_zeros(len(documents)).index_add(0, example, gradient.square().sum(-1))
    scale = epsilon / squares.sqrt().clamp(min=torch.finfo(gradient.dtype).tiny)
    return gradient * scale[example, None]
